"""What a device measures about itself and about its connections, for the calibration (`calibrate.py`)."""

import time

from .clock import now, wait_until
from .plan import Plan

CALLS, ENOUGH = 50, 0.05  # calls of an equation, or seconds after at least three
PROBE = 20_000  # additions, about a millisecond


def equations(device, command):
    """Seconds of each distinct equation on this device, called alone: least and median. With the call."""
    found, seen = [], set()
    for op in device.flat.ops:
        if op.equation is None or op.equation.key in seen:
            continue
        seen.add(op.equation.key)
        function = device.compiled.get(op.equation.key)
        if function is None:
            found.append(None)
            continue
        found.append(_times(device, function, device.backend.example(op.equation)))
    return {"equations": found, "call": _times(device, *device.backend.tiny())}


def _times(device, function, values):
    clock = time.process_time if device.kind == "cpu" else time.perf_counter
    times, begin = [], clock()
    while len(times) < CALLS and (len(times) < 3 or clock() - begin < ENOUGH):
        start = clock()
        device.backend.wait(function(*values))
        times.append(clock() - start)
    times.sort()
    return [times[0], times[len(times) // 2]]


def flow(device, command):
    """Sends and receives tensors of one size, by the threads and connections of a step.

    `sends` and `receives` hold [pair, device] each; every pair moves `count` tensors, one each `gap` nanoseconds from
    the time `at` on. Answers with the processor time per tensor, and when each was handed over or was there.
    """
    count, gap = command["count"], command["gap"]
    output, value = device.backend.sample(command["bytes"])
    arrivals, sequence = {}, {}
    for k in range(count):
        for pair, peer in command["receives"]:
            arrivals[_transfer(pair, k)] = k, peer, output
            sequence.setdefault(peer, []).append(_transfer(pair, k))
    exchange = device.exchange
    # Traced where threads send, to know when the last one was sent.
    exchange.begin(command["number"], Plan([], arrivals, sequence, 0, "replay"), traced=not exchange.is_direct)
    idle = _idle(count, gap) if command["sends"] else 0
    wait_until(command["at"])
    busy, put, arrived = time.process_time_ns(), [], []
    for k in range(count):
        for pair, peer in command["sends"]:
            put.append((_transfer(pair, k), now()))
            exchange.put(peer, _transfer(pair, k), value)
        if command["sends"] and gap:
            time.sleep(gap / 1e9)
    for _ in range(count * len(command["receives"])):
        transfer, _ = exchange.take()
        arrived.append((transfer, now()))
    exchange.finish(count * len(command["sends"]))
    busy = max(0, time.process_time_ns() - busy - idle - exchange.waited)
    return {"busy": busy / count, "put": put, "arrived": arrived, "probe": probe()}


def _idle(count, gap):
    """The processor time of the pauses themselves."""
    busy = time.process_time_ns()
    for _ in range(count if gap else 0):
        time.sleep(gap / 1e9)
    return time.process_time_ns() - busy


def _transfer(pair, k):
    return pair << 32 | k


def probe():
    """Nanoseconds of processor time of a fixed piece of work: how fast this core is now.

    A core of a virtual machine is often half of a real one, and is slower while somebody else uses the other half.
    """
    begin = time.thread_time_ns()
    total = 0
    for number in range(PROBE):
        total += number * number
    return time.thread_time_ns() - begin
