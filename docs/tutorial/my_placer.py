"""A small placer to start from: it puts each op, in topological order, on the device where the op would end first."""

import csv
import sys
from pathlib import Path

COUNT_TRANSFERS = False  # the tutorial turns this on


def table(folder, name):
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main():
    folder = Path(sys.argv[1])
    ops, devices = table(folder, "ops"), table(folder, "devices")
    links = {(int(l["from"]), int(l["to"])): (float(l["latency"]), float(l["rate"])) for l in table(folder, "links")}
    inputs = [[] for _ in ops]
    waiting, followers = [0] * len(ops), [[] for _ in ops]
    for edge in table(folder, "edges"):
        source, target = int(edge["source"]), int(edge["target"])
        inputs[target].append((source, int(edge["bytes"])))
        followers[source].append(target)
        waiting[target] += 1

    ready = [op for op, count in enumerate(waiting) if count == 0]
    device_of, end_of, free_from = [None] * len(ops), [0.0] * len(ops), [0.0] * len(devices)
    for op in ready:  # the loop below appends to it
        def end_on(device):
            start = free_from[device]
            for source, size in inputs[op]:
                arrival = end_of[source]
                if COUNT_TRANSFERS and device_of[source] != device:
                    latency, rate = links[device_of[source], device]
                    arrival += latency + size / rate
                start = max(start, arrival)
            return start + float(ops[op]["ops"]) / float(devices[device]["speed"])

        end, device = min((end_on(device), device) for device in range(len(devices)))
        device_of[op], end_of[op], free_from[device] = device, end, end
        for follower in followers[op]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    # One device a line, in the order of ops. The graphs of this study have no kinds, colocation or tight memory;
    # docs/examples/greedy_placer.py shows how to respect these.
    for device in device_of:
        print(devices[device]["name"])


if __name__ == "__main__":
    main()
