"""From a problem to the GraphDef that TensorFlow runs: every op on its device, the order in control edges.

A fed placeholder would live where the client is, on the first worker's processor, and be sent from there to all its
consumers. So each placeholder becomes a constant of the same name, with the value that would be fed, on its own device.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import graph as graphs
from .. import models
from ..tf import tf, v1
from .protocol import ExecuteError

SCALE = 0.1  # variables without initial values are drawn from [0, SCALE)
LOOPS = ("Enter", "RefEnter", "NextIteration", "RefNextIteration", "Exit", "RefExit")
SWITCHES = ("Switch", "RefSwitch", "_SwitchN")
VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
# Names of the ops that we add.
AFTER, WAITS, HOLDS = "placebench/after/", "placebench/waits/", "placebench/holds/"
KEEPS, APART = "placebench/keeps/", "placebench/apart/"


@dataclass
class Step:
    """A step without devices."""

    definition: object  # GraphDef: the ops of the problem, and apart from them those that set and read its variables
    ops: list  # the names of the problem's ops
    targets: list  # the ops to run: they need all others
    init: str  # the op that sets the variables, or None
    results: list  # the outputs of the targets
    variables: list  # the tensors with the variables' values


def load(problem):
    """Makes the step of a problem's graph: an embedded model is built anew, a file is read."""
    if problem.graph in models.CATALOGUE:
        step = _model(problem)
    elif problem.graph.removesuffix("_whole") in models.CATALOGUE:
        name = problem.graph.removesuffix("_whole")
        fault = f"{problem.graph} has initialisation and evaluation, which no step runs: execute {name}"
        raise ExecuteError("unsupported", fault)
    else:
        step = _file(Path(problem.graph))
    for number, (found, wanted) in enumerate(zip(step.ops, problem.graph_ops)):
        if found != wanted:
            fault = f"{problem.graph}: op {number} is {found!r}, the problem says {wanted!r}: {_REMEDY}"
            raise ExecuteError("problem", fault)
    if len(step.ops) != len(problem.graph_ops):
        fault = f"{problem.graph} has {len(step.ops)} ops, the problem {len(problem.graph_ops)}: {_REMEDY}"
        raise ExecuteError("problem", fault)
    return step


_REMEDY = "give the graph and the parameters that it was extracted with"


def _model(problem):
    """An embedded model, fed and initialised as it was when its costs were traced."""
    try:
        model = models.build(problem.graph, **{key: _number(key, text) for key, text in problem.parameters.items()})
    except models.ModelError as error:
        raise ExecuteError("problem", str(error)) from None
    everything = graphs.fix_shapes(model.graph.as_graph_def(), model.feeds)
    for node in everything.node:
        if node.name in model.feeds:
            _make_constant(node, model.feeds[node.name])
    kept = graphs.prune(everything, model.train)
    variables = [f"{node.name}:0" for node in kept.node if node.op in VARIABLES]
    return _step(kept, everything, [model.train], model.init, [], variables)


def _step(kept, everything, targets, init, results, variables):
    """Adds to the ops of the step what sets and reads its variables: copies that share nothing but the variables.

    So nothing but a step runs the step's ops, whatever waits for them.
    """
    ops = [node.name for node in kept.node]
    ends = [init] * (init is not None) + [_source(name) for name in variables]
    for node in v1.graph_util.extract_sub_graph(everything, ends).node if ends else ():
        copy = kept.node.add()
        copy.CopyFrom(node)
        copy.name = APART + node.name
        copy.input[:] = [f"^{APART}{text[1:]}" if text.startswith("^") else APART + text for text in node.input]
        if "_class" in node.attr:
            copy.attr["_class"].list.s[:] = [f"loc:@{APART}{name}".encode() for name in graphs.colocated_with(node)]
        if node.op in VARIABLES and not node.attr["shared_name"].s:
            copy.attr["shared_name"].s = node.name.encode()
    return Step(kept, ops, targets, init and APART + init, results, [APART + name for name in variables])


def _number(key, text):
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except (TypeError, ValueError):
        raise ExecuteError("problem", f"parameter {key} = {text!r} is no number") from None


def _file(path):
    """A GraphDef with nothing known but the graph: made-up values for placeholders and variables.

    Floating-point variables are uniform in [0, 0.1), placeholders in [0, 1); all other numbers are 0, a valid index.
    """
    definition = _read(path / "graph.pb" if path.is_dir() else path)
    random = np.random.default_rng(1)
    for node in definition.node:
        if node.op in ("Placeholder", "PlaceholderV2"):
            shape = [d.size for d in node.attr["shape"].shape.dim]
            if node.attr["shape"].shape.unknown_rank or any(size < 0 for size in shape):
                fault = f"{path}: placeholder {node.name!r} has no full shape: write the shape into it"
                raise ExecuteError("unsupported", fault)
            kind = tf.dtypes.as_dtype(node.attr["dtype"].type)
            if kind.is_floating:
                _make_constant(node, random.random(shape).astype(kind.as_numpy_dtype))
            else:
                _make_constant(node, np.full(shape, b"" if kind == tf.string else 0, kind.as_numpy_dtype))
    ops = [node.name for node in definition.node]
    needed = {_source(text) for node in definition.node for text in node.input}
    targets = [name for name in ops if name not in needed]
    try:
        graph = graphs.load(definition)
    except ValueError as error:
        raise ExecuteError("unsupported", f"{path}: {_first_line(error)}") from None
    sets, variables = [], []
    with graph.as_default():
        for number, name in enumerate(ops):
            op = graph.get_operation_by_name(name)
            if op.type in VARIABLES:
                value = _initial(path, op, number)
                with graph.colocate_with(op, ignore_existing=True):
                    if op.type == "VarHandleOp":
                        sets.append(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value))
                        variables.append(tf.raw_ops.ReadVariableOp(resource=op.outputs[0], dtype=value.dtype).name)
                    else:
                        sets.append(tf.raw_ops.Assign(ref=op.outputs[0], value=value).op)
                        variables.append(op.outputs[0].name)
        init = tf.group(*sets).name if sets else None
    ends = [graph.get_operation_by_name(name) for name in targets]
    results = [tensor.name for op in ends for tensor in op.outputs if tensor.dtype not in (tf.resource, tf.variant)]
    return _step(definition, graph.as_graph_def(), targets, init, results, variables)


def _read(path):
    definition = v1.GraphDef()
    try:
        content = path.read_bytes()
        if path.suffix == ".pbtxt":
            from google.protobuf import text_format

            text_format.Parse(content.decode(), definition)
        else:
            definition.ParseFromString(content)
    except OSError as error:
        remedy = "give an embedded TensorFlow model, a GraphDef or the extractor's folder"
        raise ExecuteError("problem", f"{path}: {error.strerror}: {remedy}") from None
    except Exception as error:  # protobuf's own types, which differ between its implementations
        raise ExecuteError("problem", f"{path} is no GraphDef: {_first_line(error)}") from None
    return definition


def _initial(path, op, seed):
    """A value for a variable with only type and shape known."""
    kind = tf.dtypes.as_dtype(op.get_attr("dtype")).base_dtype
    shape = tf.TensorShape(op.get_attr("shape"))
    if not shape.is_fully_defined():
        raise ExecuteError("unsupported", f"{path}: variable {op.name!r} has no full shape")
    if kind.is_floating:
        return SCALE * tf.random.stateless_uniform(shape, seed=[1, seed], dtype=kind)
    return tf.zeros(shape, kind)


def _make_constant(node, value):
    """Turns a placeholder into the constant that would be fed."""
    node.op = "Const"
    for name in set(node.attr) - {"dtype", "_class"}:
        del node.attr[name]
    node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value, dtype=node.attr["dtype"].type))


def check_splits(step, placement):
    """Refuses a placement that TensorFlow cannot follow.

    It keeps together what shares a reference or a resource, and what a `_class` joins: `placement` (name -> device)
    must, too.
    """
    graph = graphs.load(step.definition)
    for name in step.ops:
        op = graph.get_operation_by_name(name)
        bound = [(source, "is colocated with") for source in graphs.colocated_with(op.node_def)]
        by_reference = [argument.is_ref for argument in op.op_def.input_arg]
        if any(argument.is_ref and argument.number_attr for argument in op.op_def.input_arg):
            by_reference = [True] * len(op.inputs)  # RefMerge, RefSelect: a list of references
        for position, tensor in enumerate(op.inputs):
            if tensor.dtype == tf.resource:
                bound.append((tensor.op.name, "uses the resource of"))
            elif tensor.dtype._is_ref_dtype and any(by_reference[position:position + 1]):
                bound.append((tensor.op.name, "changes the variable of"))
        for other, why in bound:
            if other in placement and placement[other] != placement[name]:
                raise ExecuteError(
                    "unsupported",
                    f"op {name!r} {why} {other!r}, and TensorFlow cannot split them: place both on one device",
                )


def placed(step, problem, device_names):
    """The step with every op on its device and, to replay, the order of each device in control edges."""
    definition = v1.GraphDef()
    definition.CopyFrom(step.definition)
    nodes = {node.name: node for node in definition.node}
    for op, name in enumerate(step.ops):
        nodes[name].device = device_names[problem.placement[op]]
        if nodes[name].op in VARIABLES and APART + name in nodes:
            nodes[APART + name].device = nodes[name].device
    if problem.mode == "replay":
        loop = next((name for name in step.ops if nodes[name].op in LOOPS), None)
        if loop:
            fault = f"op {loop!r} is part of a loop, whose ops run more than once: use the dynamic mode"
            raise ExecuteError("unsupported", fault)
        one_after_another(step, problem)
    _hold_switches(step, definition, nodes)
    _await_all_inputs(step, definition, nodes)
    if problem.mode == "replay":
        _chain(step, problem, definition, nodes)
    return replace(step, definition=definition, targets=step.targets + _keep_constants(step, definition, nodes))


def unplaced(step, device_name):
    """The step with all ops on one device, in TensorFlow's own order."""
    definition = v1.GraphDef()
    definition.CopyFrom(step.definition)
    for node in definition.node:
        node.device = device_name
    return replace(step, definition=definition)


def _hold_switches(step, definition, nodes):
    """Keeps a Switch on its device. TensorFlow moves it to that of its data input, so an Identity comes between.

    The Identity receives what the Switch did, so what is sent stays the same.
    """
    for name in step.ops:
        node = nodes[name]
        if node.op != "Switch" or nodes[_source(node.input[0])].device == node.device:
            continue
        copy = definition.node.add(name=f"{HOLDS}{name}", op="Identity", device=node.device, input=[node.input[0]])
        copy.attr["T"].type = node.attr["T"].type
        node.input[0] = copy.name
        nodes[copy.name] = copy


def _await_all_inputs(step, definition, nodes):
    """Has a Merge wait for its inputs from other devices, as any op does. By itself it starts with the first.

    An Identity beside the Merge receives what the Merge does, so nothing more is sent.
    """
    for name in step.ops:
        if nodes[name].op != "Merge":
            continue
        device = nodes[name].device
        data = [text for text in nodes[name].input if not text.startswith("^")]
        away = [text for text in data if nodes[_source(text)].device != device]
        if not away:
            continue
        trigger = definition.node.add(name=f"{WAITS}{name}/all", op="ControlTrigger", device=device)
        for number, text in enumerate(away):
            copy = definition.node.add(name=f"{WAITS}{name}/{number}", op="Identity", device=device, input=[text])
            copy.attr["T"].type = nodes[name].attr["T"].type
            trigger.input.append(f"^{copy.name}")
        nodes[name].input.append(f"^{trigger.name}")


def _chain(step, problem, definition, nodes):
    """Has every op wait for the one before it on its device. Both ends are on one device, so nothing is sent.

    An op in a branch that is not taken does not run, and what waits for it would not run either. A ControlTrigger
    between the two runs in any case.
    """
    skipped = _may_not_run(step, nodes)
    for order in problem.order:
        for before, after in zip(order, order[1:]):
            signal = step.ops[before]
            if signal in skipped:
                trigger = definition.node.add(name=f"{AFTER}{signal}", op="ControlTrigger", device=nodes[signal].device)
                trigger.input.append(f"^{signal}")
                signal = trigger.name
            inputs = nodes[step.ops[after]].input
            if f"^{signal}" not in inputs:
                inputs.append(f"^{signal}")


def _keep_constants(step, definition, nodes):
    """Keeps small constants on their devices. TensorFlow copies those that nothing waits for to their consumers'.

    So something waits for each of them, which has to be run beside the targets: the answer.
    """
    awaited, away = set(), set()
    for node in definition.node:
        for text in node.input:
            if text.startswith("^"):
                awaited.add(text[1:])
            elif nodes.get(_source(text), node).device != node.device:
                away.add(_source(text))
    waiting, added = away - awaited, []
    for name in step.ops:
        if nodes[name].op == "Const" and name in waiting:
            definition.node.add(name=KEEPS + name, op="NoOp", device=nodes[name].device, input=[f"^{name}"])
            added.append(KEEPS + name)
    return added


def _source(text):
    """The op that an input names."""
    return text.lstrip("^").split(":")[0]


def _may_not_run(step, nodes):
    """The ops behind a Switch: a step may leave them out."""
    readers = {}
    for name in step.ops:
        for text in nodes[name].input:
            readers.setdefault(_source(text), []).append(name)
    found, todo = set(), [name for name in step.ops if nodes[name].op in SWITCHES]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += readers.get(name, [])
    return found


def one_after_another(step, problem):
    """The ops, each behind those it waits for: its inputs and, to replay, the one before it on its device."""
    index = {name: op for op, name in enumerate(step.ops)}
    after = [[] for _ in step.ops]
    waits = [0] * len(step.ops)
    own = [node for node in step.definition.node if node.name in index]
    pairs = [(index[_source(text)], index[node.name]) for node in own for text in node.input]
    if problem.mode == "replay":
        pairs += [pair for order in problem.order for pair in zip(order, order[1:])]
    for first, second in pairs:
        after[first].append(second)
        waits[second] += 1
    result = [op for op, count in enumerate(waits) if count == 0]
    for op in result:
        for reader in after[op]:
            waits[reader] -= 1
            if waits[reader] == 0:
                result.append(reader)
    if len(result) < len(step.ops):
        stuck = next(op for op, count in enumerate(waits) if count)
        raise ExecuteError("problem", f"order: op {stuck} ({step.ops[stuck]!r}) waits for an op that waits for it")
    return result


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]
