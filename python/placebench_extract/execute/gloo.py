"""How tensors move between devices of PyTorch: `torch.distributed` with gloo, one group of all devices.

In the mode replay both sides know in which order tensors come, so nothing but tensors is sent. In the mode dynamic a header
goes before each tensor. The processes of one host meet in a private folder and talk by loopback; those of several meet at
the first one, and drop packets of strangers.
"""

import os
import queue
from datetime import timedelta

from . import network
from .wire import Channel, Closed, dial

CONNECT_SECONDS = 60
FOREVER = timedelta(days=365)  # a device may wait as long as another computes; one that ends breaks its connections


class Gloo:
    """The connections of one device, as an `Exchange` uses them, and `Direct`, which begins to send and to receive."""

    def __init__(self, rank, addresses, door, token, folder):
        """Connects the device `rank` with all others. A `folder` is where those of one host meet."""
        self.peers = [peer for peer in range(len(addresses)) if peer != rank]
        self.steps = {peer: queue.SimpleQueue() for peer in self.peers}  # what `expect` says
        self.coming = {peer: iter(()) for peer in self.peers}
        self.received = {}
        self.is_dynamic = False  # the step that runs
        if not self.peers:
            return
        import torch.distributed as distributed

        self.distributed = distributed
        store = self._meet(rank, addresses, door, token, folder)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=len(addresses), timeout=FOREVER)
        distributed.barrier()

    def _meet(self, rank, addresses, door, token, folder):
        """Where the processes find each other."""
        if folder:
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
            return self.distributed.FileStore(os.path.join(folder, "store"), len(addresses))
        hosts = [address.rpartition(":")[0].strip("[]") for address in addresses]
        if rank > 0:
            port = self._hear(rank, addresses, token)["port"]
            return self.distributed.TCPStore(hosts[0], port, len(addresses), False, FOREVER, wait_for_workers=False)
        store = self.distributed.TCPStore(hosts[0], 0, len(addresses), True, FOREVER, wait_for_workers=False)
        network.accept_only(network.addresses(hosts))
        for peer in self.peers:
            channel = Channel(door.accept(f"device {peer}", CONNECT_SECONDS))
            channel.send({"port": store.port})
            channel.close()
        return store

    def _hear(self, rank, addresses, token):
        channel = Channel(dial(token, addresses[0], f"device {rank}", CONNECT_SECONDS))
        where = channel.receive()[0]
        channel.close()
        return where

    def expect(self, number, plan):
        """Called before step `number`: says what comes in it, and in mode replay in which order."""
        self.is_dynamic = plan.mode == "dynamic"
        for peer in self.peers:
            sizes = {transfer: output.bytes for transfer, (_, source, output) in plan.arrivals.items() if source == peer}
            if sizes:
                self.steps[peer].put((number, sizes, None if self.is_dynamic else plan.sequence[peer]))

    def send(self, peer, number, transfer, content):
        """Sends bytes to another device, and returns when `content` may change."""
        if self.is_dynamic:
            self.wait(self.distributed.isend(_torch().tensor([transfer, len(content)]), peer))
        self.wait(self.begin_send(peer, content))

    def begin_send(self, peer, content):
        """Begins to send bytes. `wait` returns when they may change."""
        return self.distributed.isend(content if len(content) else _torch().zeros(1, dtype=_torch().uint8), peer)

    def post(self, peer, size):
        """Begins to receive `size` bytes. They are in the first answer when `wait` has returned for the second."""
        memory = _torch().empty(max(1, size), dtype=_torch().uint8)
        return memory[:size], self.distributed.irecv(memory, peer)

    def wait(self, work):
        """Returns when a send or a receive is over."""
        try:
            work.wait()
        except RuntimeError as error:
            raise Closed(str(error).splitlines()[0]) from None

    def header(self, peer):
        """Waits for the next tensor of another device: its step, its transfer and its bytes, which are there by then."""
        while True:
            found = next(self.coming[peer], None)
            if found is not None:
                number, transfer, self.received[peer] = found
                return number, transfer, len(self.received[peer])
            number, sizes, order = self.steps[peer].get()
            self.coming[peer] = self._ordered(peer, number, sizes, order) if order else self._announced(peer, number, len(sizes))

    def content(self, peer, memory):
        """Hands over the bytes of the tensor after its header."""
        memory.append(self.received.pop(peer))

    def _ordered(self, peer, number, sizes, order):
        """The tensors of a step, in the order in which they are sent."""
        for transfer in order:
            memory, work = self.post(peer, sizes[transfer])
            self.wait(work)
            yield number, transfer, memory

    def _announced(self, peer, number, count):
        """The tensors of a step, each after a header that says which it is."""
        for _ in range(count):
            header = _torch().zeros(2, dtype=_torch().int64)
            self.wait(self.distributed.irecv(header, peer))
            transfer, size = header.tolist()
            memory, work = self.post(peer, size)
            self.wait(work)
            yield number, transfer, memory


def _torch():
    import torch

    return torch
