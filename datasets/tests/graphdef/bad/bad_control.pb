
	
aNoOp

bNoOp^a:0