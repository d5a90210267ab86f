# A placer that takes its time: everything to the first device.
sleep 0.25
awk 'NR > 1 { print 0 }' "$1/ops.csv"
