"""What each device does in a step: the placement and the order of a problem, checked against the graph."""

from dataclasses import dataclass, field

from ..flat import Ref
from .protocol import ExecuteError


@dataclass
class Task:
    """An operation on its device. Tensors are slots: `first` is that of the operation's output 0."""

    op: int
    first: int
    inputs: list
    waits: list  # (slot, transfer) of inputs that come from other devices
    sends: list  # (port, transfer, device), by transfer
    frees: list = field(default_factory=list)  # slots that nothing on this device reads later


@dataclass
class Plan:
    """The tasks of one device in their order, and the transfers that come to it: transfer -> (slot, source, output)."""

    tasks: list
    arrivals: dict
    sequence: dict  # device -> the transfers that it sends here, as they follow each other in mode replay
    slots: int
    mode: str


def check_names(flat, names, title):
    """The graph has to be the one that was placed, op by op. `title` is the framework's."""
    remedy = f"extract the model again, with this version of {title} and the same parameters; what passes have changed cannot run"
    for op, (mine, theirs) in enumerate(zip([op.name for op in flat.ops], names)):
        if mine != theirs:
            raise ExecuteError("problem", f"op {op} is {theirs!r} in the placed graph and {mine!r} in the model: {remedy}")
    if len(flat.ops) != len(names):
        raise ExecuteError("problem", f"the placed graph has {len(names)} ops and the model {len(flat.ops)}: {remedy}")


def make_plan(flat, placement, order, transfers, mode, device):
    """What `device` does."""
    first, slots = [], 0
    for op in flat.ops:
        first.append(slots)
        slots += len(op.outputs)
    slot = lambda ref: first[ref.op] + ref.port  # noqa: E731
    sends, numbers = [[] for _ in flat.ops], check_transfers(flat, placement, transfers)
    for (op, port, target), number in numbers.items():
        sends[op].append((port, number, target))
    check_order(flat, placement, order)

    last, kept = {}, {slot(ref) for ref in flat.results if isinstance(ref, Ref)}
    tasks = []
    for op in order[device]:
        refs = flat.ops[op].inputs
        waits = list(dict.fromkeys((slot(ref), numbers[ref.op, ref.port, device]) for ref in refs if placement[ref.op] != device))
        tasks.append(Task(op, first[op], [slot(ref) for ref in refs], waits, sends[op]))
        for port in range(len(flat.ops[op].outputs)):
            last[first[op] + port] = len(tasks) - 1  # freed at once, unless somebody reads it
        for ref in refs:
            last[slot(ref)] = len(tasks) - 1
    for position, index in last.items():
        if position not in kept:
            tasks[index].frees.append(position)
    arrivals, sequence = {}, {}
    for peer, ops in enumerate(order):
        for op in ops:
            for port, number, target in sends[op]:
                if target == device:
                    arrivals[number] = first[op] + port, peer, flat.ops[op].outputs[port]
                    sequence.setdefault(peer, []).append(number)
    return Plan(tasks, arrivals, sequence, slots, mode)


def check_transfers(flat, placement, transfers):
    """One transfer for each tensor and device that reads it, no more and no less: (op, port, device) -> transfer, in their order."""
    needed = {}
    for op, device in zip(flat.ops, placement):
        for ref in op.inputs:
            if placement[ref.op] != device:
                needed[ref.op, ref.port, device] = flat.ops[ref.op].outputs[ref.port].bytes
    numbers = {}
    for number, transfer in enumerate(transfers):
        key = transfer["source"], transfer["output"], transfer["to"]
        if key not in needed or key in numbers:
            again = "a second time" if key in numbers else "though nobody there reads it"
            raise ExecuteError("problem", f"transfer {number} sends {_tensor(flat, key)} {again}")
        if transfer["bytes"] != needed[key]:
            size = f"has {needed[key]} bytes, not {transfer['bytes']}"
            raise ExecuteError("problem", f"transfer {number} sends {_tensor(flat, key)}, which {size}")
        numbers[key] = number
    lacking = next((key for key in needed if key not in numbers), None)
    if lacking is not None:
        raise ExecuteError("problem", f"no transfer sends {_tensor(flat, lacking)}, which is read there")
    return numbers


def check_order(flat, placement, order):
    """An order that waits for itself would never end."""
    missing = [len(set(ref.op for ref in op.inputs)) for op in flat.ops]
    readers = [[] for _ in flat.ops]
    for number, op in enumerate(flat.ops):
        for source in {ref.op for ref in op.inputs}:
            readers[source].append(number)
    position = [0] * len(order)
    todo = list(range(len(order)))
    while todo:
        device = todo.pop()
        while position[device] < len(order[device]) and missing[order[device][position[device]]] == 0:
            op = order[device][position[device]]
            position[device] += 1
            for reader in readers[op]:
                missing[reader] -= 1
                if missing[reader] == 0 and placement[reader] != device:
                    todo.append(placement[reader])
    for device, done in enumerate(position):
        if done < len(order[device]):
            name = flat.ops[order[device][done]].name
            raise ExecuteError("problem", f"the order of device {device} can never run {name!r}: it waits for an op that comes later")


def _tensor(flat, key):
    op, port, device = key
    return f"output {port} of {flat.ops[op].name!r} to device {device}"
