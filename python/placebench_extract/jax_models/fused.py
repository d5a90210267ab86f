"""Functions that are one operation each, as hand-written kernels are: in the graph they are named `fused_…`.

Backward, such a function is one operation, too. It keeps its inputs alone and computes again what it needs, as
FlashAttention does (Dao et al. 2022). Inside, it computes in 32 bits; what it returns has the type of its first input.
"""

import types

import jax
import jax.numpy as jnp

from . import parts


def fused(function, **options):
    """The function of arrays as one operation. Integer arrays get no gradient; `options` are part of the function."""

    def plain(*arrays):
        wide = [array.astype(jnp.float32) if _is_float(array) else array for array in arrays]
        return jax.tree.map(lambda value: _like(value, arrays[0]), function(*wide, **options))

    def backward(arrays, gradient):
        floats = [k for k, array in enumerate(arrays) if _is_float(array)]

        def of_floats(*given):
            filled = list(arrays)
            for k, array in zip(floats, given):
                filled[k] = array
            return plain(*filled)

        return jax.vjp(of_floats, *[arrays[k] for k in floats])[1](gradient)

    name = f"fused_{function.__name__}"
    forward_kernel, backward_kernel = _named(plain, name), _named(backward, f"{name}_backward")
    made = jax.custom_vjp(lambda *arrays: forward_kernel(*arrays))

    def backward_rule(arrays, gradient):
        found = iter(backward_kernel(arrays, gradient))
        return tuple(next(found) if _is_float(array) else None for array in arrays)

    made.defvjp(lambda *arrays: (forward_kernel(*arrays), arrays), backward_rule)
    return made


def kernel(function, name):
    """The function as one operation that nobody differentiates."""
    return _named(function, f"fused_{name}")


def kit(is_fused):
    """What models are made of: fused or not."""
    names = ("layer_norm", "rms_norm", "gelu", "swiglu", "cross_entropy", "attend")
    if not is_fused:
        return types.SimpleNamespace(**{name: getattr(parts, name) for name in names})
    made = {name: fused(getattr(parts, name)) for name in names if name != "attend"}
    kinds = {causal: fused(parts.attend, causal=causal) for causal in (False, True)}
    return types.SimpleNamespace(**made, attend=lambda q, k, v, causal: kinds[causal](q, k, v))


def grouped_attention(base):
    """Attention of `parts.grouped_attention`, with positions and scores in one operation."""
    attend = fused(parts.attend_grouped, base=base)

    def attention(x, w, heads, groups):
        batch, length, width = x.shape
        split = lambda name, count: (x @ w[name]).reshape(batch, length, count, width // heads)  # noqa: E731
        mixed = attend(split("query", heads), split("key", groups), split("value", groups))
        return mixed.reshape(batch, length, width) @ w["output"]

    return attention


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    return jax.jit(function)


def _is_float(array):
    return jnp.issubdtype(array.dtype, jnp.floating)


def _like(value, first):
    return value.astype(first.dtype) if _is_float(value) and _is_float(first) else value
