

aMatMul"worker 3