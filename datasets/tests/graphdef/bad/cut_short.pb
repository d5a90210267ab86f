
,
w
VariableV2"/job:ps/task:0/device:GPU:1
3
w/readIdentityw"/cpu:0*
_class

