"""What the suite and a driver say to each other: one problem in a JSON file, events as JSON lines on standard output.

Times are microseconds. An op, a device, a transfer is its index in the problem's lists.
"""

import json
import os
import sys
import threading
import time
from dataclasses import dataclass, fields

VERSION = 1
TRANSPORTS = ["memory", "tcp"]  # of processes of one host; those of several have tcp
_one_at_a_time = threading.Lock()


class ExecuteError(Exception):
    """Why a problem cannot run. `kind` is one of memory, worker_died, kernel, unsupported, problem."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


@dataclass
class Problem:
    """A graph, a placement and an order of its ops, and how often to run it."""

    version: int
    graph: str  # an embedded name, a GraphDef file, or a folder of the extractor
    graph_ops: list  # names; an op is its index here
    parameters: dict  # of the model, as text
    devices: list  # {"name", "kind": "cpu" | "gpu", "host"}
    placement: list  # the device of each op
    order: list  # the ops of each device, in their order
    mode: str  # "replay" keeps that order, "dynamic" runs what is ready
    transfers: list  # {"source", "output": port or None for a control signal, "from", "to", "bytes"}
    warm_up: int
    repetitions: int
    traced: int
    hosts: list  # "address:port" of each worker; none: processes of this host
    token: str
    transport: str = TRANSPORTS[0]  # "memory" that processes of one host share, or "tcp"; the driver of TensorFlow has its own


def read_problem(path):
    """Reads and checks a problem. What does not fit together is an `ExecuteError` of kind problem."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise ExecuteError("problem", f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ExecuteError("problem", f"{path}: expected one JSON object")
    if content.get("version") != VERSION:
        raise ExecuteError("problem", f"{path}: version {content.get('version')!r}; this driver reads version {VERSION}")
    content.setdefault("transport", TRANSPORTS[0])  # a problem of 0.1 has none
    types = {field.name: field.type for field in fields(Problem)}
    for name, kind in types.items():
        if name not in content:
            raise ExecuteError("problem", f"{path}: {name} is missing")
        if not isinstance(content[name], kind):
            raise ExecuteError("problem", f"{path}: {name} is no {kind.__name__}")
    problem = Problem(**{name: content[name] for name in types})
    fault = _fault(problem)
    if fault:
        raise ExecuteError("problem", f"{path}: {fault}")
    return problem


def _fault(problem):
    """The first thing that does not fit together, or None."""
    ops, devices = len(problem.graph_ops), len(problem.devices)

    def index(value, end):
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end

    if problem.mode not in ("replay", "dynamic"):
        return f"mode {problem.mode!r}: expected replay or dynamic"
    if problem.transport not in TRANSPORTS:
        return f"transport {problem.transport!r}: expected {' or '.join(TRANSPORTS)}"
    if problem.warm_up < 0 or problem.repetitions < 1 or problem.traced < 1:
        return "warm_up must be 0 or more, repetitions and traced 1 or more"
    for number, device in enumerate(problem.devices):
        if not isinstance(device, dict) or not {"name", "kind", "host"} <= device.keys():
            return f"device {number}: expected name, kind and host"
    if len(problem.placement) != ops:
        return f"placement has {len(problem.placement)} entries for {ops} ops"
    for op, device in enumerate(problem.placement):
        if not index(device, devices):
            return f"placement of op {op}: {device!r} is no device; there are {devices}"
    if len(problem.order) != devices:
        return f"order has {len(problem.order)} lists for {devices} devices"
    seen = set()
    for device, order in enumerate(problem.order):
        for op in order:
            if not index(op, ops) or problem.placement[op] != device or op in seen:
                return f"order of device {device}: {op!r} is no op of this device, or stands there twice"
            seen.add(op)
    if len(seen) != ops:
        missing = next(op for op in range(ops) if op not in seen)
        return f"order lacks op {missing} ({problem.graph_ops[missing]})"
    for number, transfer in enumerate(problem.transfers):
        if not isinstance(transfer, dict) or not {"source", "output", "from", "to", "bytes"} <= transfer.keys():
            return f"transfer {number}: expected source, output, from, to and bytes"
        if not (index(transfer["source"], ops) and index(transfer["from"], devices) and index(transfer["to"], devices)):
            return f"transfer {number}: no such op or device"
        if problem.placement[transfer["source"]] != transfer["from"]:
            return f"transfer {number}: its source is not on device {transfer['from']}"
    return None


def event(name, /, **values):
    """Says what happened: one line of JSON on standard output."""
    with _one_at_a_time:
        sys.stdout.write(json.dumps({"event": name, **values}) + "\n")
        sys.stdout.flush()


def processor_model():
    """The processor's name, as the system says it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()


class OtherLoad:
    """The share of this host's processor time that processes other than ours use.

    The system counts in ticks of 10 ms, so a reading covers at least a quarter of a second: `read` within it
    repeats the reading before. None where there is no /proc.
    """

    WINDOW = 0.25  # seconds

    def __init__(self, pids):
        self.pids = [os.getpid(), *pids]
        self.last = self._counts()
        self.since = time.monotonic()
        self.share = 0.0 if self.last else None

    def read(self):
        if self.last is None or time.monotonic() - self.since < self.WINDOW:
            return self.share
        now = self._counts()
        total, busy, own = (b - a for a, b in zip(self.last, now))
        self.share = round(min(1.0, max(0.0, (busy - own) / total)), 4) if total > 0 else self.share
        self.last, self.since = now, time.monotonic()
        return self.share

    def _counts(self):
        try:
            with open("/proc/stat", encoding="ascii") as stat:
                ticks = [int(word) for word in stat.readline().split()[1:9]]
        except OSError:
            return None
        own = 0
        for pid in self.pids:
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                    after = stat.read().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            own += int(after[11]) + int(after[12])
        return sum(ticks), sum(ticks) - ticks[3] - ticks[4], own
