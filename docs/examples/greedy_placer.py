"""Places each op where it finishes first: a placer for placebench in plain Python 3.

    placebench place lstm_lm --placer-command 'python3 greedy_placer.py'

The program takes the ops by upward rank: the longest path to an end, with mean times. That order is topological. It puts
each op on the device where the op would end first, given where its inputs are. It respects kinds, colocation and memory:
it places an assignment unit as a whole, when the first op of the unit comes.
"""

import csv
import json
import sys
from pathlib import Path

INFEASIBLE = 3  # the exit code for "I found no feasible placement"


def table(folder, name):
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Instance:
    def __init__(self, folder):
        self.facts = json.loads((folder / "instance.json").read_text(encoding="utf-8"))
        self.ops = table(folder, "ops")
        self.units = table(folder, "units")
        self.devices = table(folder, "devices")
        self.unit_of = [int(op["unit"]) for op in self.ops]
        self.links = {
            (int(link["from"]), int(link["to"])): (float(link["latency"]), float(link["rate"]))
            for link in table(folder, "links")
        }
        self.inputs = [[] for _ in self.ops]  # (source, bytes) of each op
        self.outputs = [[] for _ in self.ops]  # (target, bytes)
        for edge in table(folder, "edges"):
            source, target, size = int(edge["source"]), int(edge["target"]), int(edge["bytes"])
            self.inputs[target].append((source, size))
            self.outputs[source].append((target, size))

    def allowed(self, unit):
        """The devices on which every op of a unit may run."""
        kinds = self.units[unit]["kinds"].split("|")
        return [number for number, device in enumerate(self.devices) if device["kind"] in kinds]

    def seconds(self, op, device):
        """The time measured on devices of this kind, if there is one; otherwise operations / speed."""
        op, device = self.ops[op], self.devices[device]
        measured = op[device["kind"].lower() + "_time"]
        return float(measured) if measured else float(op["ops"]) / float(device["speed"])

    def transfer(self, size, source, target):
        if source == target:
            return 0.0
        latency, rate = self.links[source, target]
        return latency + size / rate


def by_rank(instance):
    """All ops, the longest path to an end first; ops of equal rank in topological order."""
    waiting = [len(outputs) for outputs in instance.outputs]
    done = [op for op, count in enumerate(waiting) if count == 0]
    rank = [0.0] * len(instance.ops)
    links = instance.links.values()
    latency = sum(latency for latency, _ in links) / max(len(links), 1)
    per_byte = sum(1 / rate for _, rate in links) / max(len(links), 1)
    for op in done:  # the loop below appends to it; ops without consumers come first
        devices = instance.allowed(instance.unit_of[op])
        mean = sum(instance.seconds(op, device) for device in devices) / len(devices)
        after = (latency + size * per_byte + rank[target] for target, size in instance.outputs[op])
        rank[op] = mean + max(after, default=0.0)
        for source, _ in instance.inputs[op]:
            waiting[source] -= 1
            if waiting[source] == 0:
                done.append(source)
    # The sort is stable: ops of equal rank stay in topological order.
    return sorted(reversed(done), key=lambda op: -rank[op])


def place(instance):
    free = [int(d["memory_bytes"]) if d["memory_bytes"] else float("inf") for d in instance.devices]
    device_of_unit = [None] * len(instance.units)
    idle_from = [0.0] * len(instance.devices)
    placed, finish = [None] * len(instance.ops), [0.0] * len(instance.ops)
    for op in by_rank(instance):
        unit = instance.unit_of[op]
        demand = int(instance.units[unit]["demand_bytes"])
        if device_of_unit[unit] is None:
            # The demands on a device must stay below its memory.
            candidates = [d for d in instance.allowed(unit) if demand == 0 or demand < free[d]]
        else:
            candidates = [device_of_unit[unit]]
        if not candidates:
            print(f"no device has {demand} bytes left for op {op}, {instance.ops[op]['name']}", file=sys.stderr)
            sys.exit(INFEASIBLE)

        def end_on(device):
            inputs = (finish[s] + instance.transfer(size, placed[s], device) for s, size in instance.inputs[op])
            return max(idle_from[device], max(inputs, default=0.0)) + instance.seconds(op, device)

        end, device = min((end_on(device), device) for device in candidates)
        if device_of_unit[unit] is None:
            device_of_unit[unit] = device
            free[device] -= demand
        placed[op], finish[op], idle_from[device] = device, end, end
    return placed


def main():
    instance = Instance(Path(sys.argv[1]))
    for device in place(instance):
        print(instance.devices[device]["name"])


if __name__ == "__main__":
    main()
