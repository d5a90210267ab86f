import json, sys
assert sys.argv[1:] == ["-m", "placebench_extract", "calibrate", "jax", "--devices=2", "--gpus=0", "--transport=memory", "--graph=llama_inference"], sys.argv
names = ["cpu:0", "cpu:1"]
def both(a, b):
    return dict(zip(names, [a, b]))
equation = lambda size: {"type": "dot_general", "operations": size * 1e6, "bytes": 1, "alone_seconds": both([1, 1], [1, 1]),
    "step_seconds": both(size * 1e-3, size * 3e-3)}
transfer = lambda a, b, size: {"from": a, "to": b, "bytes": size, "count": 1, "sender_seconds": 1e-5, "receiver_seconds": 2e-5,
    "one_way_seconds": [4e-5 + 1e-9 * size, 1.0]}
ops = OPS
print(json.dumps({"event": "ready", "hardware": {"model": "M", "cores": 2, "gpus": []}}))
print(json.dumps({"event": "calibration", "devices": [{"name": n, "kind": "cpu", "memory_bytes": 1 << 30} for n in names],
    "equations": [equation(1), equation(2)], "graphs": [{"graph": "llama_inference", "parameters": {}, "ops": [0] * ops,
    "step_seconds": {}, "op_overhead_seconds": both(1e-6, 1e-6)}],
    "transfers": [transfer(a, 1 - a, size) for a in (0, 1) for size in (1024, 1 << 20)],
    "flows": [{"pairs": [[0, 1]], "bytes": 1 << 22, "seconds": 0.004},
        {"pairs": [[0, 1], [1, 0]], "bytes": 1 << 22, "seconds": 0.006}]}))
