"""How tensors move between devices: a TCP connection for each pair, and before each tensor a header that says what comes.

A framework may have another transport with the same methods. What breaks a connection is `Closed` or an `OSError`.
"""

import struct

from .wire import Channel, dial, receive_exactly

FRAME = struct.Struct("<QQQ")  # step, transfer, bytes
CONNECT_SECONDS = 60


class Sockets:
    """The connections of one device. For each of its peers one thread sends and another receives."""

    def __init__(self, rank, addresses, door, token):
        """Connects the device `rank` with all others. Of two devices the later one dials."""
        self.connections = {}
        for peer, address in enumerate(addresses):
            if peer < rank:
                connection = dial(token, address, f"device {rank}", CONNECT_SECONDS)
            elif peer > rank:
                connection = door.accept(f"device {peer}", CONNECT_SECONDS)
            else:
                continue
            self.connections[peer] = Channel(connection).connection

    def expect(self, number, plan):
        """Called before step `number`. Sockets need not know what comes: the headers say it."""

    def send(self, peer, number, transfer, content):
        """Sends bytes to another device, and returns when `content` may change."""
        connection = self.connections[peer]
        header = FRAME.pack(number, transfer, len(content))
        done = connection.sendmsg([header, content])
        if done < len(header):
            connection.sendall(header[done:])
        connection.sendall(content[max(0, done - len(header)):])

    def header(self, peer):
        """Waits for the next tensor of another device: its step, its transfer and how many bytes follow."""
        return FRAME.unpack(receive_exactly(self.connections[peer], bytearray(FRAME.size)))

    def content(self, peer, memory):
        """Receives the bytes of the tensor after its header."""
        receive_exactly(self.connections[peer], memory)
