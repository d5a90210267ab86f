
	
aNoOp

bIdentitya