"""From a model's name to the folder with its graph and its costs."""

import platform

from . import models
from .machine import cpu_name
from .write import check_writable, ops_csv, provenance_toml, tensor_rows, tensors_csv, write_folder

LICENCE = "MIT OR Apache-2.0"


def extract(name, out, whole=False, traces=3, overrides=None, progress=lambda message: None):
    """Builds, traces and writes a model. Returns the folder."""
    model_name = f"{name}_whole" if whole else name
    models.parameters(name)  # an unknown name fails before TensorFlow has started
    check_writable(out)
    progress("building")
    model = models.build(name, **(overrides or {}))
    return write_folder(out, model_name, contents(model, whole, traces, overrides, progress))


def contents(model, whole, traces, overrides=None, progress=lambda message: None):
    """The files of a model's folder: name -> bytes."""
    from . import analytic, graph, layers, trace
    from .tf import tf

    everything = graph.fix_shapes(model.graph.as_graph_def(), model.feeds)
    kept = everything if whole else graph.prune(everything, model.train)
    loaded = graph.load(everything)
    measured = trace.trace(loaded, model.init, model.train, model.feeds, traces, progress)
    progress("estimating")
    targets = _ends(kept) if whole else [model.train]
    sizes = {**graph.static_sizes(loaded), **measured.outputs}
    gpu, raised = analytic.gpu_seconds(kept, targets, sizes)
    layer_of = layers.spread(everything, model.layers)
    tensors, unknown = tensor_rows(kept, sizes, measured.outputs)
    memory = graph.variable_bytes(kept)

    untraced = [node.name for node in kept.node if node.name not in measured.seconds]
    gpu.update(dict.fromkeys(untraced, 0.0))  # what never runs takes no time on any device
    labelled = [node.name for node in kept.node if node.name in layer_of]
    total = sum(measured.seconds.get(node.name, 0.0) for node in kept.node)
    labelled_time = sum(measured.seconds.get(name, 0.0) for name in labelled)
    stripped = graph.strip_constants(kept)
    provenance = {
        "name": f"{model.name}_whole" if whole else model.name,
        "title": f"{model.title}, {'whole graph with initialisation and evaluation' if whole else 'training step'}",
        "licence": LICENCE,
        "command": _command(model.name, whole, traces, overrides),
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "threads": 1,
        "traces": traces,
        "cpu_time": "shortest of the traced steps",
        "gpu_time": "analytic, GTX 1080",
        "units": "seconds, bytes",
        "pruned": not whole,
        **graph.counts(kept),
        "untraced_ops": len(untraced),
        "unknown_sizes": unknown,
        "gpu_unknown": sum(node.name not in gpu for node in kept.node),
        "gpu_raised": raised,
        "stripped_constants": stripped,
        "layer_coverage": round(len(labelled) / len(kept.node), 4),
        "layer_time_coverage": round(labelled_time / total, 4) if total else 0.0,
        "cpu_seconds_total": round(total, 6),
        "cpu_seconds_steps": [round(step, 6) for step in measured.steps],
        "gpu_seconds_total": round(sum(gpu.get(node.name, 0.0) for node in kept.node), 6),
        "tensor_bytes_total": sum(size for _, _, size in tensors),
        "memory_bytes_total": sum(memory.values()),
        "parameters": model.parameters,
    }
    return {
        "graph.pb": graph.serialise(kept),
        "ops.csv": ops_csv(kept, layer_of, measured.seconds, gpu, memory),
        "tensors.csv": tensors_csv(tensors),
        "provenance.toml": provenance_toml(provenance),
    }


def _ends(graph_def):
    """The operations that no other needs: asking for them all asks for the whole graph."""
    needed = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    return [node.name for node in graph_def.node if node.name not in needed]


def _command(name, whole, traces, overrides):
    words = ["python -m placebench_extract", name, "--out DIR", f"--traces {traces}"]
    words += ["--whole"] if whole else []
    words += [f"--set {key}={value}" for key, value in (overrides or {}).items()]
    return " ".join(words)
