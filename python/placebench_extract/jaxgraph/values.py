"""The values of a model's arguments. A leaf's value depends on its name alone, so a process makes only what it needs."""

import hashlib

import numpy as np


def draw(name, array):
    """The value of an argument: a NumPy array."""
    kind, amount = array.value
    if kind == "constant":
        return np.full(array.shape, amount, array.dtype)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    random = np.random.default_rng(seed)
    if kind == "normal":
        return (random.standard_normal(array.shape, np.float32) * np.float32(amount)).astype(array.dtype)
    if kind == "integers":
        return random.integers(amount, size=array.shape, dtype=array.dtype)
    raise ValueError(f"{name}: no value is called {kind!r}")


def abstract(arguments):
    """The arguments as shapes without values."""
    jax, is_leaf = _tree()
    shape = lambda array: jax.ShapeDtypeStruct(array.shape, array.dtype)  # noqa: E731
    return {name: jax.tree.map(shape, tree, is_leaf=is_leaf) for name, tree in arguments.items()}


def leaves(arguments):
    """The `Array`s of the arguments in the order of their leaves."""
    jax, is_leaf = _tree()
    return [leaf for tree in arguments.values() for leaf in jax.tree.leaves(tree, is_leaf=is_leaf)]


def whole(arguments, argument_names):
    """All arguments with their values."""
    jax, is_leaf = _tree()
    names = iter(argument_names)
    value = lambda array: draw(next(names), array)  # noqa: E731
    return {name: jax.tree.map(value, tree, is_leaf=is_leaf) for name, tree in arguments.items()}


def _tree():
    import jax

    from ..jax_models import Array

    return jax, lambda leaf: isinstance(leaf, Array)
