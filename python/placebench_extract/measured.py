"""Measures the distinct calls of a graph, each alone, or estimates them."""

from .contents import GPU_NAME, Times, gpu_seconds
from .write import seconds

ENOUGH = 0.1  # seconds for a call, after at least three
LEAST, MOST = 3, 200  # calls


def estimated(costs, calls):
    """Nothing is measured: a GPU's times follow from operations and bytes."""
    origin = {"cpu_time": "not measured", "gpu_time": f"analytic, {GPU_NAME}"}
    return Times({}, {key: gpu_seconds(costs, call) for key, call in calls.items()}, origin)


def measured(costs, calls, cpu, gpu, progress):
    """Times on a processor, and on a GPU if there is one. `cpu` and `gpu` are clocks: see `Clock`."""
    times = estimated(costs, calls)
    for kind, clock in (("cpu", cpu), ("gpu", gpu)):
        if clock is None:
            continue
        overhead, found = clock.overhead(), {}
        for count, (key, call) in enumerate(calls.items()):
            if count % 50 == 0:
                progress(f"timing {count} of {len(calls)} distinct calls on {clock.name}")
            found[key] = max(0.0, clock.seconds(call) - overhead)
        setattr(times, kind, found)
        unit = "processor time of the shortest" if kind == "cpu" else "shortest"
        what = f"{unit} of up to {MOST} {clock.what}, less that of a call"
        times.origin[f"{kind}_time"] = what if kind == "cpu" else f"{what}, {clock.name}"
        times.origin[f"{kind}_call_seconds"] = float(seconds(overhead))
    return times


class Clock:
    """How long a call takes on one device. A framework says how to make, run and wait for it.

    `name` is the device's, `what` says what is called, `now` is the clock: processor time on a processor, so that what
    others do on the same core does not count.
    """

    def prepared(self, call):
        """The function of a call and its arguments on the device."""
        raise NotImplementedError

    def tiny(self):
        """A function that computes next to nothing, and its arguments."""
        raise NotImplementedError

    def wait(self, outputs):
        """Returns when the outputs are there."""

    def seconds(self, call):
        """The shortest time of the call, with what it takes to start it."""
        return self._shortest(*self.prepared(call), MOST, ENOUGH)

    def overhead(self):
        """What it takes to start a call: the shortest of many that compute next to nothing."""
        return self._shortest(*self.tiny(), 2000, 0.2)

    def _shortest(self, function, arguments, most, enough):
        self.wait(function(*arguments))
        shortest, begin = float("inf"), self.now()
        for call in range(most):
            start = self.now()
            self.wait(function(*arguments))
            end = self.now()
            shortest = min(shortest, end - start)
            if call + 1 >= LEAST and end - begin > enough:
                break
        return shortest
