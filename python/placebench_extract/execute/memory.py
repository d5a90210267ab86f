"""How tensors move between devices of one host: memory that two processes share, which the receiver watches.

A process that waits keeps its core, as processes of MPI do. One that sleeps takes 30 to 180 µs to wake up, and more the
longer it slept: no constant describes that. So nothing here waits for the operating system, and no thread of Python for
another.
"""

import mmap
import os
import threading
import time

from .clock import now
from .exchange import expected_output
from .protocol import ExecuteError

ENTRIES = 1 << 16  # tensors that a device can send to another in one step
WORDS = 3  # of an entry: step, transfer, bytes
HEAD = 64 + ENTRIES * WORDS * 8  # bytes before the tensors
ALIGNMENT = 64  # of a tensor; frameworks then use its memory as it is
WAIT_SECONDS = 60  # until the others have made their memory


class SharedMemory:
    """Sends and receives of one device, as `exchange.Exchange` has them.

    Each two devices have a memory for each direction: how many tensors were ever sent, a ring of entries that say what they
    are, and the tensors of this step one behind the other. A step begins when all devices have ended the one before, so that
    nobody reads what is overwritten.
    """

    is_direct = True

    def __init__(self, backend, rank, peers, folder):
        """Meets the `peers` in a folder."""
        self.backend = backend
        self.outboxes = {peer: Outbox(folder, rank, peer) for peer in peers}
        self.inboxes = {peer: Inbox(folder, peer, rank) for peer in peers}
        self.expected, self.number, self.traced = {}, 0, False
        self.there = {}
        self.sent, self.received, self.bytes_received, self.waited = {}, {}, 0, 0

    def begin(self, number, plan, traced):
        """From here on, the tensors of this step are taken. With `traced`, `sent` and `received` say when they moved."""
        self.expected, self.number, self.traced = plan.arrivals, number, traced
        self.there = {}
        self.sent, self.received, self.bytes_received, self.waited = {}, {}, 0, 0
        for box in (*self.outboxes.values(), *self.inboxes.values()):
            box.begin()

    def put(self, peer, transfer, value):
        """Sends a value: when it returns, the value may change."""
        import numpy as np

        begin = now()
        self.outboxes[peer].put(self.number, transfer, memoryview(np.asarray(self.backend.to_bytes(value))))
        if self.traced:
            self.sent[transfer] = begin, now()

    def take(self, transfer=None):
        """Waits for a tensor: the transfer and its value. It is the one that is asked for, or any."""
        if not self._is_there(transfer):
            begin = time.thread_time_ns()
            while not self._look() or not self._is_there(transfer):
                os.sched_yield()  # to a thread of the framework, or to a device on the same core
            self.waited += time.thread_time_ns() - begin
        if transfer is None:
            transfer = next(iter(self.there))
        begin = now()
        peer, offset, output = self.there.pop(transfer)
        value = self.backend.from_shared(self.inboxes[peer].tensor(offset, output.bytes), output)
        self.bytes_received += output.bytes
        if self.traced:
            self.received[transfer] = begin, now()
        return transfer, value

    def has_arrived(self):
        """Whether `take` would not wait."""
        return self._look() or bool(self.there)

    def finish(self, sends):
        """Returns when that many tensors of a traced step have been sent: they have."""

    def _is_there(self, transfer):
        return bool(self.there) if transfer is None else transfer in self.there

    def _look(self):
        """Notes what has arrived. Returns whether anything has."""
        found = False
        for peer, box in self.inboxes.items():
            for number, transfer, offset, size in box.look():
                if number != self.number:
                    raise ExecuteError("kernel", f"transfer {transfer} of step {number} arrived in step {self.number}")
                self.there[transfer] = peer, offset, expected_output(self.expected, number, transfer, peer, size)
                found = True
        return found


def is_possible(folder):
    """Whether devices that meet in this folder, if there is one, can share memory: on one host, with Linux."""
    return folder is not None and hasattr(os, "memfd_create")


def largest():
    """The bytes that are reserved for each direction of two devices: all memory, of which none is taken before it is used."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Outbox:
    """The memory of one direction, at the sender, who makes it."""

    def __init__(self, folder, sender, receiver):
        self.file = os.memfd_create(f"placebench-{sender}-{receiver}")
        os.ftruncate(self.file, largest())
        self.taken = 0
        self._take(HEAD)
        memory = mmap.mmap(self.file, largest())
        self.bytes, self.words = memoryview(memory), memoryview(memory)[:HEAD].cast("Q")
        self.count, self.end, self.of_step = 0, HEAD, 0
        self.fence = threading.Lock()
        path = os.path.join(folder, f"{sender}-{receiver}")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(f"/proc/{os.getpid()}/fd/{self.file}")
        os.rename(f"{path}.new", path)

    def begin(self):
        """The tensors of the step before are no longer needed."""
        self.end, self.of_step = HEAD, 0

    def put(self, number, transfer, content):
        """Sends bytes."""
        if self.of_step == ENTRIES:
            raise ExecuteError("unsupported", f"a step sends more than {ENTRIES} tensors from one device to another")
        self.of_step += 1
        start, size = self.end, len(content)
        self.end = start + size + -size % ALIGNMENT
        self._take(self.end)
        self.bytes[start:start + size] = content
        entry = 8 + self.count % ENTRIES * WORDS
        self.words[entry], self.words[entry + 1], self.words[entry + 2] = number, transfer, size
        # Taking and giving back a lock is a barrier: on any processor the tensor is there before it is counted.
        with self.fence:
            self.count += 1
        with self.fence:
            self.words[0] = self.count

    def _take(self, end):
        """Takes memory up to `end`. Without this, a machine without memory would kill the process when it writes there."""
        if end <= self.taken:
            return
        try:
            os.posix_fallocate(self.file, self.taken, end - self.taken)
        except OSError as error:
            raise MemoryError(f"no memory for the tensors of a step ({error.strerror}): use the transport tcp, which keeps none") from None
        self.taken = end


class Inbox:
    """The same memory at the receiver."""

    def __init__(self, folder, sender, receiver):
        path = os.path.join(folder, f"{sender}-{receiver}")
        end = time.monotonic() + WAIT_SECONDS
        while not os.path.exists(path):
            if time.monotonic() > end:
                raise ExecuteError("worker_died", f"device {sender} has made no memory within {WAIT_SECONDS} seconds")
            time.sleep(0.001)
        try:
            with open(path, encoding="utf-8") as file, open(file.read(), "r+b", buffering=0) as opened:
                memory = mmap.mmap(opened.fileno(), largest())
        except OSError as error:
            message = f"devices cannot share memory here ({error.strerror}): use the transport tcp"
            raise ExecuteError("unsupported", message) from None
        self.bytes, self.words = memoryview(memory), memoryview(memory)[:HEAD].cast("Q")
        self.count, self.end = 0, HEAD

    def begin(self):
        """The tensors of the step lie from the beginning."""
        self.end = HEAD

    def look(self):
        """What has arrived since: step, transfer, where, bytes."""
        if self.words[0] == self.count:
            return ()
        return self._new(self.words[0])

    def _new(self, count):
        found = []
        while self.count < count:
            entry = 8 + self.count % ENTRIES * WORDS
            number, transfer, size = self.words[entry:entry + WORDS]
            found.append((number, transfer, self.end, size))
            self.end += size + -size % ALIGNMENT
            self.count += 1
        return found

    def tensor(self, start, size):
        """The memory of a tensor, until the next step begins."""
        return self.bytes[start:start + size]
