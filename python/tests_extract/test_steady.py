"""Steps on a slow core are run again: a probe says what a slow core is, and never the step's own time."""

import unittest
from unittest import mock

from placebench_extract.execute import driver

CPU, GPU = {"name": "cpu:0", "kind": "cpu"}, {"name": "gpu:0", "kind": "gpu"}


def run(devices, hosts=()):
    return driver.Run("torch", devices, "memory", list(hosts), "token")


class Steady(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(driver, "FASTEST", {})
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_core_has_to_be_fast_before_and_after(self):
        probes, expected = [100, 114, 116, 100, 100, 80, 80], [True, True, False, False, True, False, True]
        one = run([CPU])
        self.assertEqual([one.is_steady([{"probe": probe}]) for probe in probes], expected)

    def test_the_fastest_core_of_a_host_is_the_measure_of_all(self):
        two = run([CPU, CPU])
        self.assertFalse(two.is_steady([{"probe": 165}, {"probe": 100}]))
        self.assertTrue(run([CPU]).is_steady([{"probe": 110}]))
        self.assertFalse(run([CPU]).is_steady([{"probe": 165}]))  # a later run of the process knows it, too
        apart = run([CPU, CPU], ["a:1", "b:1"])
        self.assertTrue(apart.is_steady([{"probe": 165}, {"probe": 100}]))

    def test_gpus_and_those_that_took_no_part_are_not_asked(self):
        some = run([CPU, GPU, CPU])
        self.assertTrue(some.is_steady([{"probe": 100}, {"probe": 900}, None]))

    def test_what_is_not_steady_is_measured_again_while_repeats_are_left(self):
        one, found = run([CPU]), iter([("slow", False), ("slow", False), ("fast", True)])
        self.assertEqual(one.repeat(lambda: next(found)), ("fast", 2))
        self.assertEqual(one.repeat(lambda: ("fast", True)), ("fast", 0))
        # As many for each of three that count, two of which are gone.
        self.assertEqual(one.repeat(lambda: ("slow", False)), ("slow", 3 * driver.REPEATS - 2))
        self.assertEqual(one.repeat(lambda: ("slow", False)), ("slow", driver.REPEATS))


if __name__ == "__main__":
    unittest.main()
