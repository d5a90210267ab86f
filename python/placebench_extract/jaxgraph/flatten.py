"""A function becomes a flat list of operations: one for each argument, each constant and each equation.

`jax.make_jaxpr` traces the function with abstract arguments, so a model of any size takes no memory. Calls (jit,
checkpoint, custom derivatives) are replaced by what they call; but a jitted function whose name begins with `fused_`
stays one operation of that name, as a hand-written kernel is. Loops and conditionals (`scan`, `while`, `cond`) stay
one operation: how often they run is known only when they run. Equations whose results nobody reads are dropped.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from ..flat import Flat, Literal, Op, Ref, TraceError, finish

CALLS = {
    "jit", "pjit", "closed_call", "core_call", "call", "named_call", "remat", "remat2", "checkpoint",
    "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin",
}  # fmt: skip
FUSED = "fused_"  # how names of functions begin that stay one operation


@dataclass(frozen=True)
class Output:
    """Shape and type of an output."""

    shape: tuple
    dtype: np.dtype

    @property
    def bytes(self):
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def elements(self):
        return int(np.prod(self.shape, dtype=np.int64))


class Equation:
    """A primitive with its parameters, and its inputs as shapes or as literal values.

    Equations of equal `key` compute the same function of their inputs.
    """

    def __init__(self, primitive, params, inputs, outputs):
        self.primitive = primitive
        self.params = params
        self.inputs = inputs  # an Output for each input, or a literal's value
        self.outputs = outputs
        self.key = _key(self)

    def function(self):
        """The function of the inputs that are no literals. It returns a tuple."""
        literals = [None if isinstance(value, Output) else value for value in self.inputs]
        primitive, params = self.primitive, self.params

        def call(*given):
            given = iter(given)
            inputs = [next(given) if literal is None else literal for literal in literals]
            found = primitive.bind(*inputs, **params)
            return tuple(found) if primitive.multiple_results else (found,)

        return call

    @property
    def arrays(self):
        """The inputs that are no literals."""
        return [value for value in self.inputs if isinstance(value, Output)]


def flatten(function, arguments, resident=()):
    """The graph of `function(*arguments.values())`.

    `arguments` maps names to trees of arrays or `jax.ShapeDtypeStruct`. Arguments named in `resident` stay in memory
    between steps. If the function returns a dict, a result with the name of a resident argument replaces it: the
    operation that makes it is colocated with the argument. So is every other resident argument whose path ends with
    the path of an argument of the first name in `resident`: an optimizer's state stands beside its weight.
    """
    import jax

    leaves, names = [], []
    for name, tree in arguments.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            leaves.append((name, leaf))
            names.append("/".join([name, *map(_step_name, path)]))
    try:
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments.values())
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        raise TraceError(f"the function does not take these arguments: {str(error).splitlines()[0]}") from error
    result_names = ["/".join(map(_step_name, path)) or "result" for path, _ in jax.tree_util.tree_leaves_with_path(shape)]
    builder = _Builder()
    sources = []
    for position, (variable, (name, _)) in enumerate(zip(closed.jaxpr.invars, leaves)):
        output = _output(variable.aval, names[position])
        stays = name in resident
        kind = "input" if not stays else "parameter" if name == resident[0] else "state"
        op = Op(kind, [], [output], argument=position, memory_bytes=output.bytes if stays else 0, name=names[position])
        sources.append(builder.add(op))
    results = builder.inline(closed.jaxpr, closed.consts, [Ref(op, 0) for op in sources], [])
    return finish(Flat(builder.ops, results, result_names, names), sources, resident)


class _Builder:
    def __init__(self):
        self.ops = []

    def add(self, op):
        self.ops.append(op)
        return len(self.ops) - 1

    def inline(self, jaxpr, constants, inputs, scopes):
        """Adds the equations of a jaxpr. Returns what its results are: a Ref or a literal's value each."""
        from jax.extend import core

        values = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, constants, strict=True):
            values[variable] = value if isinstance(value, (Ref, Literal)) else self._constant(variable, value)
        read = lambda v: Literal(v.val) if isinstance(v, core.Literal) else values[v]  # noqa: E731
        for equation in jaxpr.eqns:
            inputs = [read(variable) for variable in equation.invars]
            inner = _called(equation)
            where = scopes + _scopes(equation.source_info.name_stack)
            if inner is not None:
                outputs = self.inline(inner.jaxpr, inner.consts, inputs, where)
            else:
                outputs = self._equation(equation, inputs, where)
            values.update(zip(equation.outvars, outputs, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def _equation(self, equation, inputs, scopes):
        name = equation.params["name"] if _is_fused(equation) else equation.primitive.name
        if equation.effects:
            raise TraceError(f"the function has an effect ({name}), which a graph cannot hold: take it out")
        outputs = [_output(variable.aval, name) for variable in equation.outvars]
        described = [
            value.value if isinstance(value, Literal) else self.ops[value.op].outputs[value.port] for value in inputs
        ]
        refs = [value for value in inputs if isinstance(value, Ref)]
        op = Op(name, refs, outputs, Equation(equation.primitive, equation.params, described, outputs))
        op.layer = scopes[0] if scopes else None
        position = self.add(op)
        return [Ref(position, port) for port in range(len(outputs))]

    def _constant(self, variable, value):
        output = _output(variable.aval, "a constant")
        op = Op("constant", [], [output], constant=value, constant_key=_value_text(value), memory_bytes=output.bytes)
        return Ref(self.add(op), 0)


def _is_fused(equation):
    return equation.primitive.name in ("jit", "pjit") and str(equation.params.get("name")).startswith(FUSED)


def _called(equation):
    """The closed jaxpr that a call runs, or None for what stays one operation."""
    from jax.extend import core

    if equation.primitive.name not in CALLS or _is_fused(equation):
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = equation.params.get(key)
        if inner is not None:
            return inner if isinstance(inner, core.ClosedJaxpr) else core.ClosedJaxpr(inner, ())
    return None


def _scopes(stack):
    """The names given by `jax.named_scope`, outermost first. Transformations such as `jvp` are left out."""
    return [entry.name for entry in stack.stack if type(entry).__name__ == "Scope"]


def _step_name(entry):
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _output(aval, what):
    try:
        return Output(tuple(int(size) for size in aval.shape), np.dtype(aval.dtype))
    except (AttributeError, TypeError):
        raise TraceError(f"{what} has the type {aval}, which is no array of numbers: use plain arrays") from None


def _key(equation):
    inputs = []
    for value in equation.inputs:
        if isinstance(value, Output):
            inputs.append(f"{value.dtype}{list(value.shape)}")
        else:
            inputs.append(f"={_value_text(value)}")
    params = [f"{key}={_param_text(equation.params[key])}" for key in sorted(equation.params)]
    return f"{equation.primitive.name}({', '.join(inputs)}; {'; '.join(params)})"


def _value_text(value):
    array = np.asarray(value)
    return f"{array.dtype}{list(array.shape)}{hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def _param_text(value):
    """A text for a parameter of an equation. That of a function names its arrays alone: their values follow."""
    values = [f" {_value_text(array)}" for array in _arrays(value)]
    return f"{value}{''.join(values)}"


def _arrays(value):
    """The arrays within a parameter, those of functions within functions, too."""
    import jax
    from jax.extend import core

    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, core.ClosedJaxpr):
        yield from value.consts
        yield from _arrays(value.jaxpr)
    elif isinstance(value, core.Jaxpr):
        for equation in value.eqns:
            yield from (v.val for v in equation.invars if isinstance(v, core.Literal) and np.ndim(v.val))
            for name in sorted(equation.params):
                yield from _arrays(equation.params[name])
        yield from (v.val for v in value.outvars if isinstance(v, core.Literal) and np.ndim(v.val))
    elif isinstance(value, (np.ndarray, jax.Array)):
        yield value
