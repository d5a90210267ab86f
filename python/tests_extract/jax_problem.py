"""Problems for the driver, made without its code."""

import os
from pathlib import Path

OWN_MODELS = str(Path(__file__).parent / "own_models")
os.environ["PLACEBENCH_JAX_MODELS"] = OWN_MODELS


def flat_graph(name, **settings):
    from placebench_extract import jax_models
    from placebench_extract.jaxgraph import flatten, values

    program = jax_models.build(name, **settings)
    return program, flatten.flatten(program.function, values.abstract(program.arguments), program.resident)


def problem(name, place, devices=2, mode="replay", repetitions=2, **settings):
    """A problem in which op k of n is on device `place(k)`, in the order of ids."""
    program, flat = flat_graph(name, **settings)
    placement = [place(k) for k in range(len(flat.ops))]
    moved = {}
    for op, device in zip(flat.ops, placement):
        for ref in op.inputs:
            if placement[ref.op] != device:
                moved[ref.op, ref.port, device] = flat.ops[ref.op].outputs[ref.port].bytes
    return {
        "version": 1,
        "graph": name,
        "graph_ops": [op.name for op in flat.ops],
        "parameters": {key: str(value) for key, value in program.parameters.items()},
        "devices": [{"name": f"cpu:{d}", "kind": ["cpu", "CPU"][d % 2], "host": "127.0.0.1"} for d in range(devices)],
        "placement": placement,
        "order": [[k for k, device in enumerate(placement) if device == d] for d in range(devices)],
        "mode": mode,
        "transfers": [
            {"source": op, "output": port, "from": placement[op], "to": to, "bytes": size}
            for (op, port, to), size in moved.items()
        ],
        "warm_up": 1,
        "repetitions": repetitions,
        "traced": 1,
        "hosts": [],
        "token": "0123456789abcdef",
    }
