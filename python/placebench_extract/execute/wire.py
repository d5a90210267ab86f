"""Connections between the processes of a run: a greeting with the run's token, then messages and tensors.

A message is JSON with raw bytes after it. Nothing that arrives is executed or unpickled, and every length is checked.

The greeting proves to both sides that the other knows the token, which itself never travels: each sends a random
challenge, and answers the other's with an HMAC. A connection that cannot is closed.
"""

import hmac
import json
import os
import queue
import socket
import struct
import threading
import time

HEADER = struct.Struct("<IQ")  # bytes of JSON, bytes after it
LARGEST_MESSAGE = 1 << 28
NONCE, PROOF, PURPOSE = 32, 32, 16
GREETING_SECONDS = 10


class Closed(Exception):
    """The other side closed the connection."""


class Refused(Exception):
    """A greeting failed: another token, or no process of this run."""


class Channel:
    """A connection that sends and receives messages. One thread may send while another receives."""

    def __init__(self, connection):
        self.connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message, payload=b""):
        text = json.dumps(message).encode()
        payload = memoryview(payload).cast("B")
        try:
            self.connection.sendall(HEADER.pack(len(text), payload.nbytes) + text)
            self.connection.sendall(payload)
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, largest=0):
        """A message and its bytes, at most `largest`."""
        length, after = HEADER.unpack(receive_exactly(self.connection, bytearray(HEADER.size)))
        if length > LARGEST_MESSAGE or after > largest:
            raise Closed(f"a message of {length} + {after} bytes, which is too long")
        message = json.loads(bytes(receive_exactly(self.connection, bytearray(length))))
        return message, receive_exactly(self.connection, bytearray(after))

    def close(self):
        # `shutdown` wakes a thread that waits in `receive`; `close` alone does not.
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()


def receive_exactly(connection, buffer):
    """Fills the buffer from the connection."""
    view = memoryview(buffer).cast("B")
    while view.nbytes:
        try:
            count = connection.recv_into(view)
        except OSError as error:
            raise Closed(str(error)) from None
        if count == 0:
            raise Closed("the connection was closed")
        view = view[count:]
    return buffer


class Door:
    """A listening socket. It lets in who knows the token."""

    def __init__(self, token, host, port):
        self.token = token.encode()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, port), family=family)
        self.port = self.listener.getsockname()[1]
        self.guests, self.waiting = queue.SimpleQueue(), {}
        threading.Thread(target=self._listen, daemon=True).start()

    def accept(self, purpose, timeout):
        """The connection that was made for this purpose."""
        while purpose not in self.waiting:
            try:
                guest, connection = self.guests.get(timeout=timeout)
            except queue.Empty:
                raise Closed(f"nobody connected as {purpose!r} within {timeout} s") from None
            self.waiting[guest] = connection
        return self.waiting.pop(purpose)

    def _listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            # A guest that says nothing must not keep others waiting.
            threading.Thread(target=self._greet, args=[connection], daemon=True).start()

    def _greet(self, connection):
        try:
            connection.settimeout(GREETING_SECONDS)
            mine = os.urandom(NONCE)
            connection.sendall(mine)
            reply = bytes(receive_exactly(connection, bytearray(NONCE + PROOF + PURPOSE)))
            theirs, proof, purpose = reply[:NONCE], reply[NONCE:-PURPOSE], reply[-PURPOSE:]
            if not hmac.compare_digest(proof, _proof(self.token, b"connect", mine, theirs, purpose)):
                connection.close()
                return
            connection.sendall(_proof(self.token, b"accept", theirs, mine, purpose))
            connection.settimeout(None)
        except (OSError, Closed):
            connection.close()
            return
        self.guests.put((purpose.rstrip(b"\0").decode("ascii", "replace"), connection))


def dial(token, address, purpose, timeout, patience=0):
    """A connection to the door at `host:port`. Where nobody listens yet, it tries again for `patience` seconds."""
    host, _, port = address.rpartition(":")
    connection = None
    until = time.monotonic() + patience
    try:
        while not connection:
            try:
                connection = socket.create_connection((host.strip("[]"), int(port)), timeout)
            except ConnectionRefusedError:
                if not patience:
                    raise
                if time.monotonic() > until:
                    raise Refused(f"nobody listens at {address}: start a worker there, or take the address that it prints") from None
                time.sleep(0.1)
        connection.settimeout(GREETING_SECONDS)
        token, purpose = token.encode(), purpose.encode().ljust(PURPOSE, b"\0")
        theirs = bytes(receive_exactly(connection, bytearray(NONCE)))
        mine = os.urandom(NONCE)
        connection.sendall(mine + _proof(token, b"connect", theirs, mine, purpose) + purpose)
        proof = bytes(receive_exactly(connection, bytearray(PROOF)))
    except Closed:
        connection.close()
        raise Refused(f"{address} closed the connection: it has another token, or belongs to no run") from None
    except (OSError, ValueError) as error:
        if connection:
            connection.close()
        raise Refused(f"cannot connect to {address}: {error}") from None
    if not hmac.compare_digest(proof, _proof(token, b"accept", mine, theirs, purpose)):
        connection.close()
        raise Refused(f"{address} does not know the token of this run")
    connection.settimeout(None)
    return connection


def _proof(token, role, challenge, own, purpose):
    return hmac.digest(token, role + challenge + own + purpose, "sha256")
