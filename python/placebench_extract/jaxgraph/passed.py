"""Executes the graph that passes make of a step, op by op: does it compute the numbers of the step?

Passes (`docs/PASSES.md`) change a graph without knowing what its ops compute. Here each op of the new graph is run by
the equation of the op that it comes from, on what the edges of the *new* graph bring it.

- A copy that is done again, and an op that stands for several equal ones, is run by the equation of the (first) old op.
- An op of a micro-batch computes with smaller arrays, which its equation does not say. So the model is traced a second
  time with an m-th of the batch; op i of both traces is the same op. Shapes are those of the smaller trace. Numbers are
  those of the whole step: where the traces differ in a literal of floating point, as in the divisor of a mean, the
  micro-batch is a part of the whole step's batch and not a step of its own. So no sum has to be scaled: the sum of the
  parts of a mean is the mean. Integers, which count or index, belong to the shapes.
- The inputs of micro-batch k are the k-th slices of the step's. What the pass adds to sum gradients adds, and what it
  adds to join rows puts them one behind the other, along the axis that is as long as the batch.
- What is done once takes whole arrays. Some such ops depend on the batch by nothing but the length of what they make,
  as a mask or the gradient of a mean does. To an op of a micro-batch they are what they are in the smaller trace.
  `Execution.resized` lists them: their size in the passed graph is that of the whole batch.
- A result that each micro-batch makes a part of is the sum of the parts, or, if it is as long as the batch, the parts
  one behind the other.
"""

import heapq
import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .flatten import Equation, Output, Ref, flatten
from .values import abstract, draw, leaves

MICRO = re.compile(r"/micro_(\d+)")
AGAIN = "/again"
JOINS = ("concatenate", "ConcatV2")


class PassedError(Exception):
    """A passed graph that cannot be executed."""


@dataclass
class Node:
    """An op of a passed graph."""

    name: str
    type: str
    inputs: list  # of Ref, in order
    waits: list  # ops that come first though they bring nothing
    origins: list  # the old ops that it stands for; none for what a pass added


def read(graph, origins):
    """The ops of a `placebench.Graph` that came of passes, with their inputs in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "passed.nx.json"
        graph.save(path)
        described = json.loads(path.read_text())
    pairs = zip(described["nodes"], origins, strict=True)
    nodes = [Node(node["name"], node["type"], [], [], list(old)) for node, old in pairs]
    for edge in described["edges"]:  # those into an op are in the order of its inputs
        node = nodes[edge["target"]]
        if edge.get("port") is None:
            node.waits.append(edge["source"])
        else:
            node.inputs.append(Ref(edge["source"], edge["port"]))
    return nodes


def topological_order(nodes):
    """Each op after all that it waits for, of several that may come next the first."""
    sources = [{ref.op for ref in node.inputs} | set(node.waits) for node in nodes]
    takers = [[] for _ in nodes]
    for number, before in enumerate(sources):
        for source in before:
            takers[source].append(number)
    missing = [len(before) for before in sources]
    ready = [number for number, count in enumerate(missing) if count == 0]
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for taker in takers[order[-1]]:
            missing[taker] -= 1
            if missing[taker] == 0:
                heapq.heappush(ready, taker)
    if len(order) < len(nodes):
        raise PassedError("the passed graph has a cycle")
    return order


class Step:
    """A step that was traced, and the values of its arguments."""

    def __init__(self, program):
        self.flat = flatten(program.function, abstract(program.arguments), program.resident)
        self.arrays = leaves(program.arguments)

    def nodes(self):
        """The step's own graph, without a pass."""
        return [Node(op.name, op.type, list(op.inputs), [], [k]) for k, op in enumerate(self.flat.ops)]

    def argument(self, op):
        return draw(self.flat.argument_names[op.argument], self.arrays[op.argument])


@dataclass
class Execution:
    """What happened."""

    results: dict  # by name, what the step returns and the passed graph still makes
    order: list  # the ops that were run
    resized: list  # names of ops that were run in the size of a micro-batch, too
    moved: set = field(default_factory=set)  # (op, port, device) of tensors that another device took


def execute(nodes, whole, part=None, order=None, device_of=None):
    """Runs a passed graph.

    `whole` is the step, `part` the same with the batch of a micro-batch. `order` is another than the topological one;
    with `device_of`, the device of each op, tensors that change devices are noted.
    """
    return _Executor(nodes, whole, part).run(order, device_of)


class _Executor:
    def __init__(self, nodes, whole, part):
        self.nodes, self.whole = nodes, whole
        self.pair = _Pair(whole.flat, part.flat) if part else None
        self.behind = [self._behind(node) for node in nodes]
        self.micro = [self._micro(number) for number in range(len(nodes))]
        self.parts = 1 + max((k for k in self.micro if k is not None), default=0)
        self._check_copies()
        self._check_sums()
        self.values, self.resized = {}, {}

    def run(self, order, device_of):
        order = topological_order(self.nodes) if order is None else order
        moved = set()
        for number in order:
            node = self.nodes[number]
            before = [source for source in (*node.waits, *(ref.op for ref in node.inputs)) if source not in self.values]
            if before or number in self.values:
                what = f"before {self.nodes[before[0]].name}" if before else "a second time"
                raise PassedError(f"{node.name} is run {what}")
            micro = self.micro[number]
            given = [self._given(ref, micro is not None) for ref in node.inputs]
            self.values[number] = self._outputs(node, given, micro)
            if device_of is not None:
                away = (ref for ref in node.inputs if device_of[ref.op] != device_of[number])
                moved |= {(ref.op, ref.port, int(device_of[number])) for ref in away}
        if len(self.values) < len(self.nodes):
            raise PassedError(f"{len(self.nodes) - len(self.values)} ops were not run")
        resized = [self.nodes[number].name for number in self.resized]
        return Execution(self._results(), list(order), resized, moved)

    def _behind(self, node):
        """What passes wrote behind the name of the old op."""
        names = (self.whole.flat.ops[old].name for old in node.origins)
        return min((node.name[len(name):] for name in names if node.name.startswith(name)), key=len, default="")

    def _micro(self, number):
        """The number of the micro-batch that an op is of, if it is of one."""
        found, name = MICRO.findall(self.behind[number]), self.nodes[number].name
        if len(found) > 1:
            raise PassedError(f"{name} is of a batch that was divided twice")
        if found and self.pair is None:
            raise PassedError(f"{name} is of a micro-batch: trace the step with a smaller batch, too")
        return int(found[0]) if found else None

    def _check_copies(self):
        """Each old op is there once, or once in each micro-batch. What is done again does not count."""
        self.standing = {}
        for number, node in enumerate(self.nodes):
            if AGAIN not in self.behind[number]:
                for old in node.origins:
                    self.standing.setdefault(old, {}).setdefault(self.micro[number], number)
        for old, copies in self.standing.items():
            if set(copies) not in ({None}, set(range(self.parts))):
                found = ", ".join(map(str, copies))
                raise PassedError(f"{self.whole.flat.ops[old].name} has copies {found} of {self.parts} micro-batches")

    def _check_sums(self):
        """What micro-batches have their own rows of is no sum over them: these stand one behind the other."""
        for node in self.nodes:
            for ref in node.inputs if not node.origins else ():
                taken = self.nodes[ref.op]
                if self.micro[ref.op] is None:
                    continue
                has_rows = self.pair.axis(Ref(taken.origins[0], ref.port)) is not None
                if has_rows and node.type not in JOINS:
                    raise PassedError(f"{node.name} adds {taken.name} to the rows of other micro-batches")
                if not has_rows and node.type in JOINS:
                    raise PassedError(f"{node.name} joins {taken.name}, which has no rows")
            if not node.origins and node.type in JOINS:
                found = [self.micro[ref.op] for ref in node.inputs]
                if found != list(range(self.parts)):
                    raise PassedError(f"{node.name} joins micro-batches {found} of {self.parts}")

    def _given(self, ref, in_part):
        if in_part and self.micro[ref.op] is None:
            return self._part(ref.op)[ref.port]
        return self.values[ref.op][ref.port]

    def _part(self, number):
        """The outputs of an op that is done once as an op of a micro-batch takes them."""
        node = self.nodes[number]
        if not node.origins or not self.pair.differs[node.origins[0]]:
            return self.values[number]
        if number not in self.resized:
            given = [self._part(ref.op)[ref.port] for ref in node.inputs]
            self.resized[number] = self._call(node, self.pair.equation(node.origins[0]), given)
        return self.resized[number]

    def _outputs(self, node, given, micro):
        if not node.origins:
            return (self._joined(node, given) if node.type in JOINS else _sum(node, given),)
        old = node.origins[0]
        op = self.whole.flat.ops[old]
        self._check_equal(node)
        if op.argument is not None:
            value = self.whole.argument(op)
            return (value if micro is None else self.pair.slice(old, value, micro),)
        if op.equation is None:
            return (op.constant if micro is None else self.pair.part.ops[old].constant,)
        return self._call(node, op.equation if micro is None else self.pair.equation(old), given)

    def _joined(self, node, given):
        """What the pass adds to put rows one behind the other."""
        first = node.inputs[0]
        return np.concatenate(given, self.pair.axis(Ref(self.nodes[first.op].origins[0], first.port)))

    def _check_equal(self, node):
        """The old ops that an op stands for have to compute the same."""
        first, *others = (self.whole.flat.ops[old] for old in node.origins)
        for other in others:
            if not _equal(first, other):
                both = f"{first.name} and {other.name}"
                raise PassedError(f"{node.name} stands for {both}, which compute different things")

    def _call(self, node, equation, given):
        described = [(tuple(np.shape(value)), np.dtype(value.dtype)) for value in given]
        expected = [(output.shape, output.dtype) for output in equation.arrays]
        if described != expected:
            show = lambda pairs: ", ".join(f"{dtype}{list(shape)}" for shape, dtype in pairs)  # noqa: E731
            raise PassedError(f"{node.name} takes {show(described)}, and its equation {show(expected)}")
        return equation.function()(*given)

    def _results(self):
        found = {}
        for name, ref in zip(self.whole.flat.result_names, self.whole.flat.results):
            if not isinstance(ref, Ref):
                found[name] = np.asarray(ref)
                continue
            copies = self.standing.get(ref.op, {})
            if not copies:
                continue  # a pass left it out
            parts = [np.asarray(self.values[copies[k]][ref.port]) for k in sorted(copies, key=lambda k: k or 0)]
            axis = self.pair.axis(ref) if len(parts) > 1 else None
            found[name] = sum(parts[1:], parts[0]) if axis is None else np.concatenate(parts, axis)
        return found


class _Pair:
    """A step and the same with a smaller batch."""

    def __init__(self, whole, part):
        self.whole, self.part = whole, part
        for k, (mine, theirs) in enumerate(zip(whole.ops, part.ops)):
            for what in ("name", "type", "inputs"):
                if getattr(mine, what) != getattr(theirs, what):
                    raise PassedError(f"op {k}, {mine.name}, has another {what} in the step with the smaller batch")
        if len(whole.ops) != len(part.ops):
            raise PassedError("the step has another number of ops with the smaller batch")
        self.equations = {}
        self.differs = []
        for k, (mine, theirs) in enumerate(zip(whole.ops, part.ops)):
            differs = mine.outputs != theirs.outputs or any(self.differs[ref.op] for ref in mine.inputs)
            if mine.equation is not None:
                differs |= self.equation(k).key != mine.equation.key
            self.differs.append(differs)

    def equation(self, op):
        """The equation of an op in a micro-batch: shapes of the smaller step, numbers of the whole."""
        if op not in self.equations:
            self.equations[op] = _with_numbers(self.part.ops[op].equation, self.whole.ops[op].equation)
        return self.equations[op]

    def axis(self, ref):
        """The axis of an output that is as long as the batch, if there is one."""
        mine, theirs = (flat.ops[ref.op].outputs[ref.port].shape for flat in (self.whole, self.part))
        axes = [axis for axis, (large, small) in enumerate(zip(mine, theirs)) if large != small]
        if len(axes) > 1:
            name = self.whole.ops[ref.op].name
            raise PassedError(f"{name} is {list(mine)}, and {list(theirs)} with the smaller batch")
        return axes[0] if axes else None

    def slice(self, op, value, micro):
        """The part of an input that a micro-batch takes."""
        axis = self.axis(Ref(op, 0))
        if axis is None:
            return value
        length = self.part.ops[op].outputs[0].shape[axis]
        return np.take(value, range(micro * length, (micro + 1) * length), axis)


def _equal(op, other):
    """Whether two ops compute the same of the same inputs."""
    if op.equation is not None and other.equation is not None:
        return op.equation.key == other.equation.key
    constants = op.type == other.type == "constant" and op.outputs == other.outputs
    return constants and np.asarray(op.constant).tobytes() == np.asarray(other.constant).tobytes()


def _sum(node, given):
    """What the pass adds to sum gradients."""
    if node.type != "AddN":
        raise PassedError(f"{node.name} was added by a pass: what does a {node.type} compute?")
    shapes = {(tuple(value.shape), np.dtype(value.dtype)) for value in given}
    if len(shapes) != 1:
        raise PassedError(f"{node.name} adds arrays of different shapes")
    total = given[0]
    for value in given[1:]:
        total = total + value
    return total


def _with_numbers(small, large):
    """The equation `small` with those literals of floating point that `large` has, also within what it calls."""
    if small.key == large.key:
        return small
    pairs = zip(large.inputs, small.inputs)
    inputs = [theirs if isinstance(theirs, Output) else _number(mine, theirs) for mine, theirs in pairs]
    params = {name: _inner(value, large.params[name]) for name, value in small.params.items()}
    return Equation(small.primitive, params, inputs, small.outputs)


def _number(large, small):
    is_float = not np.shape(large) and not np.shape(small) and np.issubdtype(np.asarray(large).dtype, np.inexact)
    return large if is_float else small


def _inner(small, large):
    """A parameter of an equation: functions with the numbers of another, all else as it is."""
    from jax.extend import core

    if isinstance(small, core.ClosedJaxpr):
        return small.replace(jaxpr=_inner(small.jaxpr, large.jaxpr))
    if isinstance(small, core.Jaxpr):
        _check_alike([e.primitive for e in small.eqns], [e.primitive for e in large.eqns])
        return small.replace(eqns=[_inner_equation(*pair) for pair in zip(small.eqns, large.eqns)])
    if type(small) is tuple and any(isinstance(item, (core.ClosedJaxpr, core.Jaxpr)) for item in small):
        _check_alike(list(map(type, small)), list(map(type, large)))
        return tuple(map(_inner, small, large))
    return small


def _inner_equation(small, large):
    from jax.extend import core

    def variable(mine, theirs):
        literals = isinstance(mine, core.Literal) and isinstance(theirs, core.Literal)
        return core.Literal(_number(theirs.val, mine.val), mine.aval) if literals else mine

    params = {name: _inner(value, large.params[name]) for name, value in small.params.items()}
    return small.replace(invars=list(map(variable, small.invars, large.invars)), params=params)


def _check_alike(small, large):
    if small != large:
        raise PassedError("what an equation calls has other equations with the smaller batch")
