"""A machine's own noise: by how much the times of ops, of whole steps and of transfers vary from run to run.

All are coefficients of variation, as `placebench list noise` has them.
"""

import math
import statistics


class MachineNoise:
    """Collects what was measured of ops and transfers."""

    def __init__(self):
        self._ops, self._devices, self._transfers = [], [], []

    def add_ops(self, times):
        """Adds a device's steps: for each op its seconds in each step."""
        times = [seconds for seconds in times if len(seconds) > 1 and sum(seconds) > 0]
        if not times:
            return
        steps = [sum(step) for step in zip(*times)]
        mean = statistics.fmean(steps)
        # What is left when the whole step was slow or fast, each op by the time that it takes.
        ops = sum(
            statistics.variance([at * mean / step for at, step in zip(seconds, steps)]) / statistics.fmean(seconds)
            for seconds in times
        )
        op = ops / sum(statistics.fmean(seconds) for seconds in times)
        # Ops that vary alone make the sum vary, too, but little.
        alone = op * sum(statistics.fmean(seconds) ** 2 for seconds in times) / mean**2
        self._ops.append(op)
        self._devices.append(max(0.0, statistics.variance(steps) / mean**2 - alone))

    def add_transfers(self, seconds):
        """Adds transfers of one size from one device to another."""
        logs = sorted(math.log(at) for at in seconds if at > 0)
        if len(logs) > 3:
            # By quartiles: one that the system interrupts says nothing about the others.
            low, _, high = statistics.quantiles(logs, n=4)
            deviation = (high - low) / (2 * statistics.NormalDist().inv_cdf(0.75))
            self._transfers.append(math.exp(min(deviation, 2.0) ** 2) - 1)

    def answer(self):
        """The variation of each op, of all that a device does in a step, and of each transfer."""
        found = {"op": self._ops, "device": self._devices, "transfer": self._transfers}
        return {name: math.sqrt(statistics.fmean(squares)) if squares else 0.0 for name, squares in found.items()}

