"""The machine's own noise, of times that were drawn."""

import math
import random
import unittest

from placebench_extract.execute.machine_noise import MachineNoise


def _lognormal(draw, variation):
    deviation = math.sqrt(math.log(1 + variation**2))
    return draw.lognormvariate(-(deviation**2) / 2, deviation)


class MachineNoiseTest(unittest.TestCase):
    def test_ops_devices_and_transfers_vary_as_they_were_drawn(self):
        draw = random.Random(5)
        noise = MachineNoise()
        # Many steps, so that the answer is near what was asked for.
        costs = [draw.uniform(1e-5, 1e-3) for _ in range(200)]
        slowness = [_lognormal(draw, 0.05) for _ in range(400)]
        noise.add_ops([[cost * slow * _lognormal(draw, 0.2) for slow in slowness] for cost in costs])
        for size in range(10):
            noise.add_transfers([(1 + size) * 1e-4 * _lognormal(draw, 0.3) for _ in range(2000)])
        found = noise.answer()
        self.assertAlmostEqual(found["op"], 0.2, delta=0.01)
        self.assertAlmostEqual(found["device"], 0.05, delta=0.005)
        self.assertAlmostEqual(found["transfer"], 0.3, delta=0.02)

    def test_one_transfer_that_was_interrupted_says_nothing(self):
        noise = MachineNoise()
        noise.add_transfers([1e-4 * (1 + k / 1000) for k in range(29)] + [1.0])
        self.assertLess(noise.answer()["transfer"], 0.02)

    def test_what_was_not_measured_does_not_vary(self):
        noise = MachineNoise()
        noise.add_ops([[], [0.0, 0.0], [1e-3]])
        noise.add_transfers([])
        noise.add_ops([[1e-3, 1e-3], [2e-3, 2e-3]])
        self.assertEqual(noise.answer(), {"op": 0.0, "device": 0.0, "transfer": 0.0})


if __name__ == "__main__":
    unittest.main()
