"""Training steps: the loss, its gradient and the optimizer's update of every weight."""

import jax
import jax.numpy as jnp

from . import Array, constant

RATE = 1e-3
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # Adam (Kingma & Ba 2015)


def training_step(network, optimizer):
    """The step as (function, arguments, resident arguments). Steps of SGD have no state."""
    is_array = lambda leaf: isinstance(leaf, Array)  # noqa: E731
    like = lambda value: jax.tree.map(lambda array: constant(*array.shape, value=value), network.params, is_leaf=is_array)  # noqa: E731
    # As after some steps. The first one divides a gradient by its own size, so that rounding decides its sign.
    state = {"count": constant(value=100.0), "mean": like(0.0), "variance": like(1e-4)} if optimizer == "adam" else {}
    update = OPTIMIZERS[optimizer]

    def train(params, state, inputs):
        loss, gradients = jax.value_and_grad(network.loss)(params, inputs)
        params, state = update(params, gradients, state)
        return {"loss": loss, "params": params, "state": state}

    return train, {"params": network.params, "state": state, "inputs": network.inputs}, ("params", "state")


def _sgd(params, gradients, state):
    return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), state


def _adam(params, gradients, state):
    count = state["count"] + 1.0
    mean = jax.tree.map(lambda m, g: FIRST * m + (1.0 - FIRST) * g, state["mean"], gradients)
    variance = jax.tree.map(lambda v, g: SECOND * v + (1.0 - SECOND) * (g * g), state["variance"], gradients)
    rate = RATE * jnp.sqrt(1.0 - SECOND**count) / (1.0 - FIRST**count)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + TINY), params, mean, variance)
    return params, {"count": count, "mean": mean, "variance": variance}


OPTIMIZERS = {"adam": _adam, "sgd": _sgd}
