"""Operations and bytes of an equation, from its shapes alone.

| primitive | operations |
|---|---|
| `dot_general` | 2 · batch · rows · columns · contracted: exact |
| `conv_general_dilated` | 2 · outputs · kernel elements that an output reads: exact but for the padded edge, which counts |
| `scan` | its length × its body |
| a fused function | its body |
| `while`, `cond` | one round of the body and the test; the longest branch |
| reductions, `cumsum`, `argmax`, `sort`, … | one for each input element |
| what only moves or makes data | 0 |
| everything else | one for each output element |

A multiplication and an addition are two operations. A power, an exponential or a division counts as one, though it
takes longer.
"""

import math

from .flatten import Output

MOVES = {
    "reshape", "broadcast_in_dim", "transpose", "slice", "dynamic_slice", "dynamic_update_slice", "concatenate", "pad",
    "squeeze", "expand_dims", "rev", "gather", "scatter", "copy", "copy_p", "convert_element_type", "bitcast_convert_type",
    "iota", "stop_gradient", "select_n", "optimization_barrier", "device_put", "split", "tile", "empty",
}  # fmt: skip
REUSES = {"reshape", "squeeze", "expand_dims", "stop_gradient", "optimization_barrier"}  # no byte is moved
FOLDS = {"argmax", "argmin", "sort", "top_k", "scatter-add", "scatter_add", "select_and_scatter_add"}
FOLD_PREFIXES = ("reduce", "cum", "select_and_gather")


def operations(equation):
    """Arithmetic operations."""
    return _operations(equation.primitive.name, equation.params, equation.inputs, equation.outputs)


def bytes_moved(equation):
    """Bytes read and written, if every array passes memory once.

    A gather reads only what it returns, and its indices. A scatter reads what it adds, and reads and writes as much of the
    array, in place. A fused function keeps to itself what it makes on the way.
    """
    name = equation.primitive.name
    if name in REUSES:
        return 0
    written = sum(output.bytes for output in equation.outputs)
    if name in ("gather", "dynamic_slice", "slice"):
        return 2 * written + sum(array.bytes for array in equation.arrays[1:])
    if name.startswith("scatter"):
        indices, updates = equation.arrays[-2:]
        return indices.bytes + 3 * updates.bytes
    return sum(array.bytes for array in equation.arrays) + written


def _operations(name, params, inputs, outputs):
    made = sum(output.elements for output in outputs)
    taken = sum(value.elements for value in inputs if isinstance(value, Output))
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        return 2 * made * math.prod(inputs[0].shape[d] for d in contracted)
    if name == "conv_general_dilated":
        kernel, layout = inputs[1], params["dimension_numbers"].rhs_spec
        return 2 * made * kernel.elements // max(1, kernel.shape[layout[0]])
    if name == "scan":
        return params["length"] * _body(params["jaxpr"])
    if name in ("jit", "pjit"):
        return _body(params["jaxpr"])
    if name == "while":
        return _body(params["body_jaxpr"]) + _body(params["cond_jaxpr"])
    if name == "cond":
        return max(_body(branch) for branch in params["branches"])
    if name in MOVES:
        return 0
    if name in FOLDS or name.startswith(FOLD_PREFIXES):
        return taken
    return made


def _body(jaxpr):
    """The operations of a nested jaxpr."""
    from jax.extend import core

    from .flatten import _called, _output

    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    total = 0
    for equation in jaxpr.eqns:
        inner = _called(equation)
        if inner is not None:
            total += _body(inner)
            continue
        inputs = [v.val if isinstance(v, core.Literal) else _output(v.aval, "an input") for v in equation.invars]
        outputs = [_output(v.aval, "an output") for v in equation.outvars]
        total += _operations(equation.primitive.name, equation.params, inputs, outputs)
    return total
