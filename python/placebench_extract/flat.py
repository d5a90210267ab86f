"""A step as a flat list of operations: what the tracers of JAX and PyTorch make, and what is written and executed."""

import hashlib
import re
from dataclasses import dataclass, field, replace

from .neighbours import follow_neighbours

ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")  # an object without a text of its own, which another process has elsewhere


class TraceError(Exception):
    """A function that cannot become a graph."""


@dataclass(frozen=True)
class Ref:
    """The output `port` of operation `op`."""

    op: int
    port: int


@dataclass(frozen=True)
class Literal:
    """A value that no operation makes."""

    value: object


@dataclass
class Op:
    """An operation: an argument, a constant or a call.

    A call (`equation`) has `key`, `arrays` (the described inputs), `outputs` and `function()`. Calls of equal key compute
    the same function of their inputs. A described array has `bytes`, `elements` and `shape`.
    """

    type: str
    inputs: list  # of Ref, in order; literals are part of the call
    outputs: list  # of described arrays
    equation: object = None
    argument: int = None  # position among the leaves of the arguments
    constant: object = None  # the value
    constant_key: str = None  # equal for equal values
    memory_bytes: int = 0
    layer: str = None
    colocated: int = None  # the operation whose device this one has to share
    name: str = ""

    @property
    def attributes(self):
        """16 digits that are equal for operations that compute the same function, or None where that is not known."""
        text = self.equation.key if self.equation is not None else self.constant_key
        return None if text is None or ADDRESS.search(text) else hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Flat:
    """A flat graph. `results` are the leaves of what the function returns: a Ref or a literal's value."""

    ops: list
    results: list
    result_names: list
    argument_names: list = field(default_factory=list)


def finish(flat, sources, resident):
    """The graph as it is written: without what nobody reads, with colocation, layers and names.

    `sources` are the operations of the arguments, and `resident` names the arguments that stay in memory between steps.
    Results are still a Ref or a `Literal`.
    """
    _colocate(flat, sources, resident)
    flat = _needed(flat)
    _spread_layers(flat)
    _name(flat)
    return flat


def _colocate(flat, sources, resident):
    """Colocates weights with their optimizer state and both with the operations that make their next values."""
    if not resident:
        return
    position = {flat.ops[op].name: op for op in sources}
    first = f"{resident[0]}/"
    weights = {name[len(first):]: op for name, op in position.items() if name.startswith(first)}
    for name, op in position.items():
        parts = name.split("/")
        if parts[0] in resident[1:]:
            ends = ("/".join(parts[k:]) for k in range(1, len(parts)))
            flat.ops[op].colocated = next((weights[end] for end in ends if end in weights), None)
    for name, result in zip(flat.result_names, flat.results):
        if name.split("/")[0] in resident and name in position and isinstance(result, Ref):
            target = position[name]
            target = flat.ops[target].colocated if flat.ops[target].colocated is not None else target
            op = flat.ops[result.op]
            if result.op != target and op.equation is not None:
                op.colocated = target


def _needed(flat):
    """The graph without operations whose results nobody reads."""
    needed = set()
    todo = [result.op for result in flat.results if isinstance(result, Ref)]
    while todo:
        op = todo.pop()
        if op not in needed:
            needed.add(op)
            todo.extend(ref.op for ref in flat.ops[op].inputs)
    kept = sorted(needed)
    position = {op: k for k, op in enumerate(kept)}
    ops = [flat.ops[op] for op in kept]
    for op in ops:
        op.inputs = [Ref(position[ref.op], ref.port) for ref in op.inputs]
        op.colocated = position.get(op.colocated)
    results = [
        replace(result, op=position[result.op]) if isinstance(result, Ref) else result.value for result in flat.results
    ]
    return Flat(ops, results, flat.result_names, flat.argument_names)


def _spread_layers(flat):
    """Gives a layer to what has none: weights, updates, and what stands between operations of one layer."""
    layers = {k: op.layer for k, op in enumerate(flat.ops) if op.layer is not None}
    producers = {k: [ref.op for ref in op.inputs] for k, op in enumerate(flat.ops)}
    # A weight belongs to the layer that first reads it, though the optimizer reads it too.
    for op, sources in producers.items():
        for source in sources:
            if flat.ops[source].type == "parameter" and op in layers:
                layers.setdefault(source, layers[op])
    for k, op in enumerate(flat.ops):
        if op.colocated in layers:
            layers.setdefault(k, layers[op.colocated])
    follow_neighbours(producers, layers)
    for k, op in enumerate(flat.ops):
        op.layer = layers.get(k)


def _name(flat):
    """Names equations `layer/primitive_index`, counted in each layer, so that other layers do not change a name."""
    counts = {}
    for op in flat.ops:
        if op.argument is None:
            stem = f"{op.layer or 'step'}/{op.type}"
            op.name = f"{stem}_{counts.setdefault(stem, 0)}"
            counts[stem] += 1
