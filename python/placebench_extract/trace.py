"""Runs training steps and takes down how long every operation ran and what it put out.

The session must execute exactly the graph that was built. Three optimizers would change it: Grappler's
meta optimizer, the common-runtime optimizer, and oneDNN's rewrites (off since `tf.py`). One thread runs
one operation at a time, so that a time is the time of the operation alone on one core.
"""

import re
from dataclasses import dataclass, field

from . import graph as graphs
from .machine import keep_memory
from .tf import v1


@dataclass
class Trace:
    """Measured over several steps: the shortest time and the largest outputs of every operation."""

    seconds: dict = field(default_factory=dict)  # operation -> seconds
    outputs: dict = field(default_factory=dict)  # (operation, port) -> bytes
    steps: list = field(default_factory=list)  # sum of the operations' seconds, a step


def session_config():
    """A session that keeps every operation and its name and runs one at a time."""
    config = v1.ConfigProto(
        device_count={"CPU": 1},
        inter_op_parallelism_threads=1,
        intra_op_parallelism_threads=1,
        allow_soft_placement=False,
    )
    options = config.graph_options
    options.rewrite_options.disable_meta_optimizer = True
    options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    options.optimizer_options.do_constant_folding = False
    options.optimizer_options.do_common_subexpression_elimination = False
    options.optimizer_options.do_function_inlining = False
    options.place_pruned_graph = False
    return config


def trace(graph, init, train, feeds, steps, progress=lambda message: None):
    """Initialises the variables, warms up with one step, then traces `steps` of them."""
    keep_memory()
    feeds = {f"{name}:0": array for name, array in feeds.items()}
    result = Trace()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session(graph=graph, config=session_config()) as session:
        progress("initialising")
        session.run(init)
        progress("warming up")
        session.run(train, feeds)
        for step in range(steps):
            progress(f"traced step {step + 1} of {steps}")
            metadata = v1.RunMetadata()
            session.run(train, feeds, options=options, run_metadata=metadata)
            add_step(result, metadata.step_stats)
    return result


def add_step(result, step_stats):
    """Adds one step's measurements. The nanosecond fields are read: the others round short times to 0."""
    step = {}
    for device in step_stats.dev_stats:
        for node in device.node_stats:
            name = original_name(node.node_name)
            step[name] = step.get(name, 0) + (node.op_end_rel_nanos - node.op_start_rel_nanos) * 1e-9
            for output in node.output:
                tensor = output.tensor_description
                size = graphs.bytes_of(tensor.dtype, [d.size for d in tensor.shape.dim])
                key = name, output.slot
                result.outputs[key] = max(size, result.outputs.get(key, 0))
    for name, seconds in step.items():
        result.seconds[name] = min(seconds, result.seconds.get(name, seconds))
    result.steps.append(sum(step.values()))


def original_name(name):
    """The name of a node in the graph: a fed placeholder `x` runs as `_arg_x_0_3`."""
    fed = re.fullmatch(r"_arg_(.+)_\d+_\d+", name)
    return fed.group(1) if fed else name
