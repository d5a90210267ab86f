
"
aNoOp*
_class
	loc:@gone