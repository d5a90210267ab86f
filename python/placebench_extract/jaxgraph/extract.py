"""From a step in JAX to the folder with its graph and its costs."""

import os
import platform

from ..machine import cpu_name, keep_memory
from ..write import check_writable, csv_bytes, provenance_toml, seconds, write_folder
from . import costs, runtime

LICENCE = "MIT OR Apache-2.0"


def extract(name, out, analytic=False, overrides=None, progress=lambda message: None):
    """Builds, times and writes a model. Returns the folder. `analytic` measures nothing, so the size does not matter."""
    from .. import jax_models

    overrides = overrides or {}
    jax_models.parameters(name)  # an unknown name fails before JAX has started
    check_writable(out)
    if not analytic:
        cores = sorted(os.sched_getaffinity(0))[:1] if hasattr(os, "sched_getaffinity") else None
        runtime.prepare("any", cores)
        keep_memory()
    runtime.load()
    progress("tracing")
    program = jax_models.build(name, **overrides)
    files = contents(program, analytic, _command(name, analytic, overrides), progress)
    return write_folder(out, jax_models.folder_name(program), files)


def contents(program, analytic=False, command="", progress=lambda message: None):
    """The files of a step's folder: name -> bytes."""
    import jax

    from ..jax_models import folder_name
    from .flatten import flatten
    from .graphdef import graph_def
    from .values import abstract

    flat = flatten(program.function, abstract(program.arguments), program.resident)
    equations = {op.equation.key: op.equation for op in flat.ops if op.equation}
    # What is published is for machines of today: its times follow from operations and bytes.
    cpu, gpu, origin = ({}, {}, {"times": "none"}) if program.is_published else _times(equations, analytic, progress)
    cost = lambda table, op, none: table.get(op.equation.key) if op.equation else none  # noqa: E731
    rows = [("name", "layer", "cpu_seconds", "gpu_seconds", "memory_bytes", "operations", "bytes_moved")]
    cpu_total = gpu_total = labelled_time = 0.0
    for op in flat.ops:
        on_cpu, on_gpu = cost(cpu, op, None if analytic else 0.0), cost(gpu, op, None if program.is_published else 0.0)
        # Totals add what the file says: six digits.
        text = ["" if time is None else seconds(time) for time in (on_cpu, on_gpu)]
        cpu_total += float(text[0] or 0)
        gpu_total += float(text[1] or 0)
        labelled_time += float(text[0] or text[1] or 0) if op.layer else 0.0
        operations = costs.operations(op.equation) if op.equation else 0
        moved = costs.bytes_moved(op.equation) if op.equation else 0
        rows.append((op.name, op.layer or "", *text, op.memory_bytes, operations, moved))
    tensors = [(op.name, port, output.bytes) for op in flat.ops for port, output in enumerate(op.outputs)]
    total = gpu_total if analytic else cpu_total
    provenance = {
        "name": folder_name(program),
        "model": program.name,
        "title": program.title,
        "licence": LICENCE,
        "command": command,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "threads": 1,
        **origin,
        "units": "seconds, bytes",
        "nodes": len(flat.ops),
        "data_edges": sum(len(op.inputs) for op in flat.ops),
        "control_edges": 0,
        "class_colocated": sum(op.colocated is not None for op in flat.ops),
        "equations": sum(op.equation is not None for op in flat.ops),
        "distinct_equations": len(equations),
        "layer_coverage": round(sum(op.layer is not None for op in flat.ops) / len(flat.ops), 4),
        "layer_time_coverage": round(labelled_time / total, 4) if total else 0.0,
        "cpu_seconds_total": round(cpu_total, 6),
        "gpu_seconds_total": round(gpu_total, 6),
        "operations_total": sum(row[5] for row in rows[1:]),
        "bytes_moved_total": sum(row[6] for row in rows[1:]),
        "tensor_bytes_total": sum(size for _, _, size in tensors),
        "memory_bytes_total": sum(op.memory_bytes for op in flat.ops),
        "parameters": program.parameters,
    }
    return {
        "graph.pb": graph_def(flat.ops),
        "ops.csv": csv_bytes(rows),
        "tensors.csv": csv_bytes([("op", "port", "bytes"), *tensors]),
        "provenance.toml": provenance_toml(provenance),
    }


def _times(equations, analytic, progress):
    """Seconds of every distinct equation on the CPU and on a GPU, and how they were found."""
    estimate = {key: costs.gpu_seconds(equation) for key, equation in equations.items()}
    estimated = f"analytic, {costs.GPU_NAME}"
    if analytic:
        return {}, estimate, {"cpu_time": "not measured", "gpu_time": estimated}
    import jax

    devices = {"cpu": jax.local_devices(backend="cpu")[0], "gpu": _gpu()}
    found, overhead = {"cpu": {}, "gpu": estimate}, {}
    for kind, device in devices.items():
        if device is None:
            continue
        overhead[kind] = _time_all(equations, device, progress, found.setdefault(kind, {}))
    origin = {
        "cpu_time": "processor time of the shortest of up to 200 calls of the compiled equation, less that of a call",
        "cpu_call_seconds": float(seconds(overhead["cpu"])),
        "gpu_time": estimated if devices["gpu"] is None else f"shortest of up to 200 calls of the compiled equation, less a call, {devices['gpu'].device_kind}",
    }
    if "gpu" in overhead:
        origin["gpu_call_seconds"] = float(seconds(overhead["gpu"]))
    return found["cpu"], found["gpu"], origin


def _time_all(equations, device, progress, found):
    from .timing import call_overhead, equation_seconds

    overhead = call_overhead(device)
    for count, (key, equation) in enumerate(equations.items()):
        if count % 50 == 0:
            progress(f"timing {count} of {len(equations)} distinct equations on {device.device_kind}")
        found[key] = max(0.0, equation_seconds(equation, device) - overhead)
    return overhead


def _gpu():
    import jax

    try:
        return jax.local_devices(backend="gpu")[0]
    except RuntimeError:
        return None


def _command(name, analytic, overrides):
    words = ["python -m placebench_extract", name, "--out DIR"]
    words += ["--analytic"] if analytic else []
    words += [f"--set {key}={value}" for key, value in overrides.items()]
    return " ".join(words)
