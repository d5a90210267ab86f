"""Measures equations: each distinct one alone, compiled, on one device.

On a processor the time is that of the process, so what others do on the same core does not count.
"""

import time

import numpy as np

ENOUGH = 0.1  # seconds for an equation, after at least three calls
LEAST, MOST = 3, 200  # calls


def call_overhead(device):
    """Seconds that a call takes which computes next to nothing: the shortest of many."""
    import jax

    function = jax.jit(lambda x: (x + 1.0,))
    return _shortest(function, [jax.device_put(np.float32(1.0), device)], device, 2000, 0.2)


def equation_seconds(equation, device):
    """The shortest time of the compiled equation, with the call that starts it."""
    import jax

    arrays = [jax.device_put(_example(array, k), device) for k, array in enumerate(equation.arrays)]
    with jax.default_device(device):
        return _shortest(jax.jit(equation.function()), arrays, device, MOST, ENOUGH)


def _shortest(function, arrays, device, most, enough):
    import jax

    jax.block_until_ready(function(*arrays))
    clock = time.process_time if device.platform == "cpu" else time.perf_counter
    shortest, begin = float("inf"), clock()
    for call in range(most):
        start = clock()
        jax.block_until_ready(function(*arrays))
        end = clock()
        shortest = min(shortest, end - start)
        if call + 1 >= LEAST and end - begin > enough:
            break
    return shortest


def _example(array, seed):
    """Ordinary numbers: zeros or denormals could be faster or slower than what a step has."""
    random = np.random.default_rng(seed)
    if array.dtype.kind in "fcV":
        return random.uniform(0.5, 1.5, array.shape).astype(array.dtype)
    if array.dtype.kind == "b":
        return random.integers(2, size=array.shape).astype(bool)
    return np.zeros(array.shape, array.dtype)  # integers are mostly indices
