"""The files of a flat graph's folder: `graph.pb`, `ops.csv`, `tensors.csv` and `provenance.toml`."""

import platform
from dataclasses import dataclass, field

from .graphdef import graph_def
from .machine import cpu_name
from .write import csv_bytes, provenance_toml, seconds

LICENCE = "MIT OR Apache-2.0"
COLUMNS = ("name", "layer", "cpu_seconds", "gpu_seconds", "memory_bytes", "operations", "bytes_moved")

# GTX 1080, the card of the TensorFlow graphs: 20 multiprocessors of 128 cores at 1733 MHz, 320 GB/s.
GPU_NAME = "GTX 1080"
GPU_OPERATIONS, GPU_BYTES = 8.87e12, 320e9


@dataclass
class Times:
    """Seconds of each distinct call on a processor and on a GPU, by its key, and how they were found.

    What is in no table has no time. Arguments and constants take none.
    """

    cpu: dict = field(default_factory=dict)
    gpu: dict = field(default_factory=dict)
    origin: dict = field(default_factory=dict)


def gpu_seconds(costs, call):
    """Seconds on a GTX 1080: the arithmetic at its peak, then the bytes at its bandwidth. Not a measurement."""
    return costs.operations(call) / GPU_OPERATIONS + costs.bytes_moved(call) / GPU_BYTES


def distinct(flat):
    """The calls of a graph, each once: key -> call."""
    return {op.equation.key: op.equation for op in flat.ops if op.equation}


def command(name, analytic, overrides):
    """The command that makes a folder."""
    words = ["python -m placebench_extract", name, "--out DIR"]
    words += ["--analytic"] if analytic else []
    words += [f"--set {key}={value}" for key, value in overrides.items()]
    return " ".join(words)


def contents(flat, costs, times, provenance, parameters):
    """The files: name -> bytes. `costs` has the functions `operations` and `bytes_moved` of a call."""
    rows = []
    totals = {"cpu": 0.0, "gpu": 0.0}
    labelled = {"cpu": 0.0, "gpu": 0.0}
    for op in flat.ops:
        texts = []
        for kind, table in (("cpu", times.cpu), ("gpu", times.gpu)):
            time = (table.get(op.equation.key) if op.equation else 0.0) if table else None
            texts.append("" if time is None else seconds(time))
            totals[kind] += float(texts[-1] or 0)  # totals add what the file says: six digits
            labelled[kind] += float(texts[-1] or 0) if op.layer else 0.0
        amounts = (costs.operations(op.equation), costs.bytes_moved(op.equation)) if op.equation else (0, 0)
        rows.append((op.name, op.layer or "", *texts, op.memory_bytes, *amounts))
    tensors = [(op.name, port, output.bytes) for op in flat.ops for port, output in enumerate(op.outputs)]
    kind = "cpu" if times.cpu else "gpu"
    entries = {
        **provenance,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "threads": 1,
        **times.origin,
        "units": "seconds, bytes",
        "nodes": len(flat.ops),
        "data_edges": sum(len(op.inputs) for op in flat.ops),
        "control_edges": 0,
        "class_colocated": sum(op.colocated is not None for op in flat.ops),
        "equations": sum(op.equation is not None for op in flat.ops),
        "distinct_equations": len(distinct(flat)),
        "layer_coverage": round(sum(op.layer is not None for op in flat.ops) / len(flat.ops), 4),
        "layer_time_coverage": round(labelled[kind] / totals[kind], 4) if totals[kind] else 0.0,
        "cpu_seconds_total": round(totals["cpu"], 6),
        "gpu_seconds_total": round(totals["gpu"], 6),
        "operations_total": sum(row[5] for row in rows),
        "bytes_moved_total": sum(row[6] for row in rows),
        "tensor_bytes_total": sum(size for _, _, size in tensors),
        "memory_bytes_total": sum(op.memory_bytes for op in flat.ops),
        "parameters": parameters,
    }
    return {
        "graph.pb": graph_def(flat.ops),
        "ops.csv": csv_bytes([COLUMNS, *rows]),
        "tensors.csv": csv_bytes([("op", "port", "bytes"), *tensors]),
        "provenance.toml": provenance_toml(entries),
    }
