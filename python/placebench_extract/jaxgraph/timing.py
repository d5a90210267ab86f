"""Measures equations: each distinct one alone, compiled, on one device."""

import time

import numpy as np

from ..measured import Clock


class EquationClock(Clock):
    """How long a compiled equation takes on a device of JAX."""

    what = "calls of the compiled equation"

    def __init__(self, device):
        self.device, self.name = device, device.device_kind
        self.now = time.process_time if device.platform == "cpu" else time.perf_counter

    def prepared(self, call):
        import jax

        arrays = [jax.device_put(_example(array, k), self.device) for k, array in enumerate(call.arrays)]
        return jax.jit(call.function()), arrays

    def seconds(self, call):
        import jax

        with jax.default_device(self.device):  # for equations without inputs
            return super().seconds(call)

    def tiny(self):
        import jax

        return jax.jit(lambda x: (x + 1.0,)), [jax.device_put(np.float32(1.0), self.device)]

    def wait(self, outputs):
        import jax

        jax.block_until_ready(outputs)


def _example(array, seed):
    """Ordinary numbers: zeros or denormals could be faster or slower than what a step has."""
    random = np.random.default_rng(seed)
    if array.dtype.kind in "fcV":
        return random.uniform(0.5, 1.5, array.shape).astype(array.dtype)
    if array.dtype.kind == "b":
        return random.integers(2, size=array.shape).astype(bool)
    return np.zeros(array.shape, array.dtype)  # integers are mostly indices
