"""The tensors that a device sends to others and receives from them in a step."""

import queue
import threading
import time
from collections import deque

from .clock import now
from .protocol import ExecuteError
from .wire import Closed

STEP_SECONDS = 60  # how much later than another device this one may hear of a step


class Exchange:
    """Moves tensors by threads: for each other device one that sends to it and one that receives from it.

    `link` moves bytes between two processes: see `sockets.py`. `backend` makes bytes of values, and values of bytes.
    """

    is_direct = False
    waited = 0  # nanoseconds of processor time that went into waiting: threads wait without

    def __init__(self, backend, link, peers):
        self.backend, self.link = backend, link
        self.arrivals = queue.SimpleQueue()
        self.expected = {}  # transfer -> (slot, from, output), of the plan that runs
        self.number = 0  # of the step that runs
        self.traced = False
        self.sent, self.received, self.bytes_received = {}, {}, 0
        self.outboxes = {peer: queue.SimpleQueue() for peer in peers}
        for peer in peers:
            threading.Thread(target=self._send, args=[peer], daemon=True).start()
            threading.Thread(target=self._receive, args=[peer], daemon=True).start()

    def begin(self, number, plan, traced):
        """From here on, the tensors of this step are taken. With `traced`, `sent` and `received` say when they moved."""
        self.expected, self.traced = plan.arrivals, traced
        self.sent, self.received, self.bytes_received = {}, {}, 0
        self.link.expect(number, plan)
        self.number = number

    def put(self, peer, transfer, value):
        """Has a value sent, and returns at once."""
        self.outboxes[peer].put((self.number, transfer, value))

    def take(self, transfer=None):
        """Waits for a tensor: the transfer and its value. It is the next that arrives, or the one that is asked for."""
        item = self.arrivals.get()
        if isinstance(item, Exception):
            raise item
        step, transfer, value = item
        if step != self.number:
            raise ExecuteError("kernel", f"transfer {transfer} of step {step} arrived in step {self.number}")
        return transfer, value

    def has_arrived(self):
        """Whether `take` would not wait."""
        return not self.arrivals.empty()

    def finish(self, sends):
        """Returns when that many tensors of a traced step have been sent."""
        while self.traced and len(self.sent) < sends:
            time.sleep(0.0005)

    def _send(self, peer):
        outbox = self.outboxes[peer]
        try:
            while True:
                number, transfer, value = outbox.get()
                begin = now()
                self.link.send(peer, number, transfer, self.backend.to_bytes(value))
                if self.traced:
                    self.sent[transfer] = (begin, now())
                del value  # this thread may wait long for the next
        except Exception as error:
            self.arrivals.put(_lost(error))

    def _receive(self, peer):
        try:
            while True:
                number, transfer, size = self.link.header(peer)
                begin = now()
                self._await_step(number)
                output = expected_output(self.expected, number, transfer, peer, size)
                memory = self.backend.buffer(output)
                self.link.content(peer, memory)
                value = self.backend.from_bytes(memory, output)
                self.bytes_received += size
                if self.traced:
                    self.received[transfer] = (begin, now())
                self.arrivals.put((number, transfer, value))
        except Exception as error:
            self.arrivals.put(_lost(error))

    def _await_step(self, number):
        """Another device may begin a step a moment before this one knows of it."""
        end = time.monotonic() + STEP_SECONDS
        while self.number < number:
            if time.monotonic() > end:
                raise ExecuteError("kernel", f"a tensor of step {number} came, but step {self.number} runs")
            time.sleep(0.0001)


class Direct(Exchange):
    """Moves tensors without threads where it is known in which order they come: steps of mode replay that are not traced.

    Receives are posted ahead, sends are begun and go on beside the operations, and what is sent is kept until the step ends.
    Threads of Python would wait for each other, many times for each tensor.
    """

    is_direct = True
    AHEAD = 32  # receives from a device that are posted at once

    def __init__(self, backend, link, peers):
        super().__init__(backend, link, peers)
        self.is_running = False
        self.order, self.posted, self.there, self.sending = {}, {}, {}, []

    def begin(self, number, plan, traced):
        self.is_running = plan.mode == "replay" and not traced
        if not self.is_running:
            super().begin(number, plan, traced)
            return
        self.expected, self.number, self.traced = plan.arrivals, number, False
        self.sent, self.received, self.bytes_received = {}, {}, 0
        self.there, self.sending = {}, []
        self.order = {peer: iter(sequence) for peer, sequence in plan.sequence.items()}
        self.posted = {peer: deque() for peer in plan.sequence}
        for peer in self.posted:
            self._post(peer)

    def put(self, peer, transfer, value):
        if not self.is_running:
            super().put(peer, transfer, value)
            return
        content = self.backend.to_bytes(value)
        self.sending.append((self.link.begin_send(peer, content), content))

    def take(self, transfer=None):
        if not self.is_running:
            return super().take(transfer)
        if transfer is None:
            transfer = min((posted[0][0] for posted in self.posted.values() if posted), key=lambda t: t & 0xFFFFFFFF)
        peer = self.expected[transfer][1]
        posted = self.posted[peer]
        while transfer not in self.there:
            number, memory, work = posted.popleft()
            self._done(work)
            output = self.expected[number][2]
            self.there[number] = self.backend.from_bytes([memory], output)
            self.bytes_received += output.bytes
            self._post(peer)
        return transfer, self.there.pop(transfer)

    def finish(self, sends):
        if not self.is_running:
            super().finish(sends)
            return
        for work, _ in self.sending:
            self._done(work)
        self.sending = []

    def _post(self, peer):
        posted = self.posted[peer]
        while len(posted) < self.AHEAD and (transfer := next(self.order[peer], None)) is not None:
            posted.append((transfer, *self.link.post(peer, self.expected[transfer][2].bytes)))

    def _done(self, work):
        try:
            self.link.wait(work)
        except (Closed, OSError) as error:
            raise _lost(error) from None


def expected_output(expected, number, transfer, peer, size):
    """What arrives, described. It has to be expected in this step, from this device and with as many bytes."""
    if transfer not in expected:
        raise ExecuteError("kernel", f"transfer {transfer} of step {number} is not expected here")
    _, source, output = expected[transfer]
    if source != peer or size != output.bytes:
        message = f"transfer {transfer} came from device {peer} with {size} bytes; expected {output.bytes} from {source}"
        raise ExecuteError("kernel", message)
    return output


def _lost(error):
    if isinstance(error, (ExecuteError, MemoryError)):
        return error
    if isinstance(error, (Closed, OSError)):
        return ExecuteError("worker_died", f"the connection to another device ended: {error}")
    return error
