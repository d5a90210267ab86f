"""Who may connect to the workers.

TensorFlow's server listens on every interface, whatever address it is given, and runs the graph of whoever connects.
So the processes of a run on one host get a network of their own, and a worker drops packets from strangers.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct

NEW_USERS, NEW_NETWORK = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
ATTACH_FILTER = 26  # SO_ATTACH_FILTER
NETWORK_HEADER = 0xFFF00000  # SKF_NET_OFF: offsets from here count from the IP header
LOOPBACK = ("127.0.0.1", "::1")


def leave():
    """Moves this process and its future children to a network with nothing but a loopback of its own.

    Nobody outside can reach a socket there. Returns whether the system permits it: Linux does to root, and mostly
    to others by way of a user namespace, which only a process of one thread can make.
    """
    unshare = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    if unshare is None:
        return False
    user, group = os.getuid(), os.getgid()
    if unshare(NEW_NETWORK) != 0:
        if unshare(NEW_USERS | NEW_NETWORK) != 0:
            return False
        for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as map_:
                map_.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = b"lo".ljust(16, b"\0")
        flags = struct.unpack_from("16xH", fcntl.ioctl(any_socket, GET_FLAGS, name + bytes(24)))[0]
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH22x", name, flags | UP))
    return True


def addresses(hosts):
    """The addresses of some hosts ("name" or "name:port"), in order, each once."""
    found = dict.fromkeys(LOOPBACK)
    for host in hosts:
        name = host.rpartition(":")[0] if ":" in host else host
        try:
            found.update(dict.fromkeys(entry[4][0] for entry in socket.getaddrinfo(name.strip("[]"), None)))
        except OSError as error:
            raise OSError(f"host {name!r} has no address: {error}") from None
    return list(found)


def accept_only(sources, listeners=None):
    """Has the system drop what reaches this process's listening sockets from other than these addresses.

    The filter is the kernel's (a packet filter on the socket), so a stranger's connection is never accepted.
    """
    program = _program(sources)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    for number in _listening() if listeners is None else listeners:
        with socket.socket(fileno=os.dup(number)) as listener:
            attached = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
            listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, attached)


def _program(sources):
    """The filter's instructions: (code, jump if true, jump if false, operand). 0 drops a packet, all ones keeps it."""
    load_byte, load_word, high_half, equal, answer = 0x30, 0x20, 0x54, 0x15, 0x06
    four = [socket.inet_pton(socket.AF_INET, source) for source in sources if ":" not in source]
    six = [socket.inet_pton(socket.AF_INET6, source.partition("%")[0]) for source in sources if ":" in source]
    keep, drop = [(answer, 0, 0, 0xFFFFFFFF)], [(answer, 0, 0, 0)]
    body = []
    for address in four:
        body += [(load_word, 0, 0, NETWORK_HEADER + 12), (equal, 0, 1, *struct.unpack("!I", address)), *keep]
    version_4 = body + drop
    body = []
    for address in six:
        words = struct.unpack("!4I", address)
        for position, word in enumerate(words):
            after = 2 * (3 - position) + 1  # past the rest of this address and its answer
            body += [(load_word, 0, 0, NETWORK_HEADER + 8 + 4 * position), (equal, 0, after, word)]
        body += keep
    version_6 = body + drop
    if len(version_4) > 255:
        raise OSError(errno.E2BIG, "more than 84 addresses of workers: name fewer hosts")
    start = [(load_byte, 0, 0, NETWORK_HEADER), (high_half, 0, 0, 0xF0), (equal, 0, len(version_4), 0x40)]
    return start + version_4 + version_6


def _listening():
    """The numbers of this process's listening sockets."""
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as candidate:
                if candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield int(name)
        except OSError:  # no socket, or closed by now
            continue
