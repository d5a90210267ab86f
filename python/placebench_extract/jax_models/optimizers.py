"""Training steps: the loss, its gradient and the optimizer's update of every weight."""

import jax
import jax.numpy as jnp

from . import Array, constant, of_element
from .fused import kernel

RATE = 1e-3
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # Adam (Kingma & Ba 2015)


def training_step(network, optimizer, element):
    """The step as (function, arguments, resident arguments). Steps of SGD in 32 bits have no state."""
    is_array = lambda leaf: isinstance(leaf, Array)  # noqa: E731
    like = lambda value: jax.tree.map(lambda array: constant(*array.shape, value=value), network.params, is_leaf=is_array)  # noqa: E731
    # As after some steps. The first one divides a gradient by its own size, so that rounding decides its sign.
    state = {} if optimizer == "sgd" else {"count": constant(value=100.0), "mean": like(0.0), "variance": like(1e-4)}
    update = OPTIMIZERS[optimizer]
    if element != "float32":
        # Weights that compute are copies of those that small steps add up in.
        state["weights"] = network.params
        update = _in_32_bits(update, element)
    params, inputs = of_element(network.params, element), of_element(network.inputs, element)
    if network.tables is not None:
        return _with_tables(network.tables, update, params, state, inputs)

    def train(params, state, inputs):
        loss, gradients = jax.value_and_grad(network.loss)(params, inputs)
        params, state = update(params, gradients, state)
        return {"loss": loss, "params": params, "state": state}

    return train, {"params": params, "state": state, "inputs": inputs}, ("params", "state")


def _with_tables(tables, update, params, state, inputs):
    """The step of a model that changes rows of its tables, and all of its other weights."""

    def train(params, tables_, state, inputs):
        embedded = tables.embed(tables_, inputs)
        loss, (gradients, of_rows) = jax.value_and_grad(tables.loss, (0, 1))(params, embedded, inputs)
        params, state = update(params, gradients, state)
        return {"loss": loss, "params": params, "tables": tables.change(tables_, of_rows, inputs), "state": state}

    arguments = {"params": params, "tables": tables.tables, "state": state, "inputs": inputs}
    return train, arguments, ("params", "tables", "state")


def _in_32_bits(update, element):
    def updated(params, gradients, state):
        weights, state = state["weights"], {name: part for name, part in state.items() if name != "weights"}
        weights, state = update(weights, gradients, state)
        params = jax.tree.map(lambda weight: weight.astype(element), weights)
        return params, {**state, "weights": weights}

    return updated


def _sgd(params, gradients, state):
    return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), state


def _adam(params, gradients, state):
    count = state["count"] + 1.0
    mean = jax.tree.map(lambda m, g: FIRST * m + (1.0 - FIRST) * g, state["mean"], gradients)
    variance = jax.tree.map(lambda v, g: SECOND * v + (1.0 - SECOND) * (g * g), state["variance"], gradients)
    rate = RATE * jnp.sqrt(1.0 - SECOND**count) / (1.0 - FIRST**count)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + TINY), params, mean, variance)
    return params, {"count": count, "mean": mean, "variance": variance}


def _fused_adam(params, gradients, state):
    """As `_adam`, one operation a weight."""
    count = state["count"] + 1.0
    rate = RATE * jnp.sqrt(1.0 - SECOND**count) / (1.0 - FIRST**count)
    found = jax.tree.map(lambda *arrays: _step(rate, *arrays), params, gradients, state["mean"], state["variance"])
    part = lambda k: jax.tree.map(lambda leaf: leaf[k], found, is_leaf=lambda leaf: isinstance(leaf, tuple))  # noqa: E731
    return part(0), {"count": count, "mean": part(1), "variance": part(2)}


def _adam_of_one(rate, p, g, m, v):
    g = g.astype(m.dtype)
    m = FIRST * m + (1.0 - FIRST) * g
    v = SECOND * v + (1.0 - SECOND) * (g * g)
    return p - rate * m / (jnp.sqrt(v) + TINY), m, v


_step = kernel(_adam_of_one, "adam")

OPTIMIZERS = {"adam": _adam, "sgd": _sgd, "fused_adam": _fused_adam}
