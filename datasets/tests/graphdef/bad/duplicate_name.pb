
	
aNoOp
	
bNoOp
	
aNoOp