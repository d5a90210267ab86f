
$
aMatMul*
_placebench_ops-5