"""Memory that two devices share: what is sent is what is taken, whatever the order, the sizes and the steps."""

import random
import tempfile
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

from placebench_extract.execute import memory
from placebench_extract.execute.plan import Plan
from placebench_extract.execute.protocol import ExecuteError

try:
    import numpy  # noqa: F401
except ImportError:
    raise unittest.SkipTest("needs NumPy") from None


class Bytes:
    """A backend whose values are bytes."""

    def to_bytes(self, value):
        return numpy.frombuffer(value, numpy.uint8)

    def from_shared(self, shared, output):
        assert len(shared) == output.bytes
        return bytes(shared)


def plan(sizes, source=0):
    """The plan of a device that receives tensors of these sizes: transfer -> bytes."""
    arrivals = {transfer: (k, source, SimpleNamespace(bytes=size)) for k, (transfer, size) in enumerate(sizes.items())}
    return Plan([], arrivals, {}, len(sizes), "replay")


@unittest.skipUnless(memory.is_possible("somewhere"), "needs memfd_create")
class Two(unittest.TestCase):
    """Two devices in threads of this process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        found = {}

        def meet(rank):
            found[rank] = memory.SharedMemory(Bytes(), rank, [1 - rank], folder.name)

        other = threading.Thread(target=meet, args=[1])
        other.start()
        meet(0)
        other.join()
        self.first, self.second = found[0], found[1]

    def begin(self, number, sizes, back={}):
        self.first.begin(number, plan(back, 1), False)
        self.second.begin(number, plan(sizes), False)

    def test_tensors_of_any_size_are_taken_in_any_order_step_after_step(self):
        for number in range(40):
            draw = random.Random(number)
            values = {transfer: draw.randbytes(draw.choice([0, 1, 63, 64, 65, 4096, 100_001])) for transfer in range(draw.randrange(60))}
            back = {transfer: draw.randbytes(5) for transfer in range(3)}
            sizes = {transfer: len(value) for transfer, value in values.items()}
            self.begin(number, sizes, {transfer: 5 for transfer in back})
            for transfer in draw.sample(sorted(values), len(values)):
                self.first.put(1, transfer, values[transfer])
                if transfer in back:
                    self.second.put(0, transfer, back[transfer])
            for transfer in draw.sample(sorted(values), len(values)):
                self.assertEqual(self.second.take(transfer), (transfer, values[transfer]))
            self.assertFalse(self.second.has_arrived())
            self.assertEqual(self.second.bytes_received, sum(sizes.values()))
            for transfer in sorted(set(back) & set(values)):
                self.assertEqual(self.first.take(transfer), (transfer, back[transfer]))

    def test_who_waits_gets_what_comes_and_its_waiting_is_no_work(self):
        self.begin(1, {7: 3, 8: 3})
        taken = []
        waiting = threading.Thread(target=lambda: taken.extend([self.second.take(), self.second.take(8)]))
        waiting.start()
        waiting.join(0.05)
        self.assertTrue(waiting.is_alive())
        self.first.put(1, 7, b"abc")
        self.first.put(1, 8, b"def")
        waiting.join(10)
        self.assertEqual(taken, [(7, b"abc"), (8, b"def")])
        self.assertGreater(self.second.waited, 0)

    def test_more_tensors_than_entries_come_over_several_steps_but_not_in_one(self):
        with mock.patch.object(memory, "ENTRIES", 8):
            for number in range(5):
                self.begin(number, {transfer: 1 for transfer in range(7)})
                for transfer in range(7):
                    self.first.put(1, transfer, bytes([transfer]))
                for transfer in range(7):
                    self.assertEqual(self.second.take(transfer), (transfer, bytes([transfer])))
            self.begin(9, {transfer: 1 for transfer in range(9)})
            for transfer in range(8):
                self.first.put(1, transfer, b"x")
            with self.assertRaisesRegex(ExecuteError, "more than 8 tensors"):
                self.first.put(1, 8, b"x")

    def test_what_nobody_expects_is_told(self):
        for value, transfer, text in ((b"abc", 3, "is not expected here"), (b"abcd", 2, "with 4 bytes; expected 3 from 0")):
            self.begin(transfer, {2: 3})
            self.first.put(1, transfer, value)
            with self.assertRaisesRegex(ExecuteError, text):
                self.second.take(2)
        self.begin(5, {2: 3})
        self.first.begin(6, plan({}, 1), False)
        self.first.put(1, 2, b"abc")
        with self.assertRaisesRegex(ExecuteError, "transfer 2 of step 6 arrived in step 5"):
            self.second.take(2)

    def test_a_machine_without_memory_is_told(self):
        self.begin(1, {2: 3})
        with mock.patch.object(memory.os, "posix_fallocate", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(MemoryError, "no memory for the tensors of a step .No space left on device.: use the transport tcp"):
                self.first.outboxes[1].put(1, 2, bytes(1 << 20))


if __name__ == "__main__":
    unittest.main()
