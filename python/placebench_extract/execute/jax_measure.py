"""What a device measures about itself and about its connections, for the calibration (`jax_calibrate.py`)."""

import time

from .clock import now, wait_until

CALLS, ENOUGH = 50, 0.05  # calls of an equation, or seconds after at least three
WAIT_SECONDS = 60


def equations(device, command):
    """Seconds of each distinct equation on this device, called alone: least and median. With the call."""
    import numpy as np

    found, seen = [], set()
    for op in device.flat.ops:
        if op.equation is None or op.equation.key in seen:
            continue
        seen.add(op.equation.key)
        function = device.compiled.get(op.equation.key)
        if function is None:
            found.append(None)
            continue
        arrays = [device.jax.device_put(np.ones(array.shape, array.dtype), device.device) for array in op.equation.arrays]
        found.append(_times(device, function, arrays))
    tiny = device.jax.jit(lambda x: (x + 1.0,))
    value = device.jax.device_put(np.float32(1.0), device.device)
    tiny(value)
    return {"equations": found, "call": _times(device, tiny, [value])}


def _times(device, function, arrays):
    times, begin = [], time.perf_counter()
    while len(times) < CALLS and (len(times) < 3 or time.perf_counter() - begin < ENOUGH):
        start = time.perf_counter()
        device.jax.block_until_ready(function(*arrays))
        times.append(time.perf_counter() - start)
    times.sort()
    return [times[0], times[len(times) // 2]]


def flow(device, command):
    """Sends and receives tensors of one size, by the threads and connections of a step.

    `sends` and `receives` hold [pair, device] each; every pair moves `count` tensors, one each `gap` nanoseconds from
    the time `at` on. Answers with the processor time per tensor, and when each was handed over or was there.
    """
    import numpy as np

    from ..jaxgraph.flatten import Output

    count, size, gap = command["count"], command["bytes"], command["gap"]
    output = Output((size,), np.dtype(np.uint8))
    device.expected = {
        _transfer(pair, k): (k, peer, output) for pair, peer in command["receives"] for k in range(count)
    }
    device.sent, device.received, device.traced = {}, {}, True  # to know when the last one was sent
    device.number = command["number"]
    value = device.jax.device_put(np.ones(size, np.uint8), device.device)
    value.block_until_ready()
    idle = _idle(count, gap) if command["sends"] else 0
    wait_until(command["at"])
    busy, put, arrived = time.process_time_ns(), [], []
    for k in range(count):
        for pair, peer in command["sends"]:
            put.append((_transfer(pair, k), now()))
            device.outboxes[peer].put((command["number"], _transfer(pair, k), value))
        if command["sends"] and gap:
            time.sleep(gap / 1e9)
    for _ in range(count * len(command["receives"])):
        item = device.arrivals.get(timeout=WAIT_SECONDS)
        if isinstance(item, Exception):
            raise item
        arrived.append((item[1], now()))
    while len(device.sent) < count * len(command["sends"]):
        time.sleep(0.005)
    busy = max(0, time.process_time_ns() - busy - idle)
    return {"busy": busy / count, "put": put, "arrived": arrived}


def _idle(count, gap):
    """The processor time of the pauses themselves."""
    busy = time.process_time_ns()
    for _ in range(count if gap else 0):
        time.sleep(gap / 1e9)
    return time.process_time_ns() - busy


def _transfer(pair, k):
    return pair << 32 | k
