

aMatMul"/device:NPU:0