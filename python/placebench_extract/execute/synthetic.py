"""Random steps to measure transfers with: leveled DAGs that are the step of no model, and random placements of them.

A node reads some tensors of the levels before, and makes one of a random size. Some nodes multiply matrices in between, so
that devices compute, wait and receive as in a step of a model.
"""

import random
from dataclasses import dataclass

GRAPH = "placebench:synthetic"  # instead of a model's name
# Least and most bytes of a graph's tensors: steps of small ones say what a tensor costs at all, those of large ones what
# a byte costs.
SIZES = ((4, 1 << 12), (1 << 10, 1 << 16), (1 << 14, 1 << 20), (1 << 18, 1 << 24))
STEPS = 5  # between these, in equal ratios: few sizes are few functions to compile
# Levels of each graph. Steps of models take many milliseconds, so these do, too: in short ones all that runs runs cold.
LEVELS, WIDTH = (64, 64, 48, 8), 6
REACH = 8  # levels that a node may read from
MATRICES = (0, 64, 128)
STAY = (0.2, 0.5, 0.8, 0.95)  # how likely an op stays with what it reads


@dataclass(frozen=True)
class Node:
    """A node of a random step: the nodes that it reads, the 32-bit numbers that it makes, the width of its matrices (0: none)."""

    inputs: tuple
    size: int
    width: int


def nodes(seed, sizes):
    """The nodes of a random step in an order in which they can run. `sizes` is a position in `SIZES`."""
    draw = random.Random(f"{seed}/{sizes}")
    least, most = SIZES[sizes]
    found = []
    for level in range(LEVELS[sizes]):
        before = range(max(0, len(found) - REACH * WIDTH), len(found))
        for _ in range(WIDTH):
            inputs = tuple(sorted(draw.sample(before, min(len(before), draw.randint(1, 3))))) if level else ()
            size = int(least * (most / least) ** (draw.randint(0, STEPS) / STEPS)) // 4
            found.append(Node(inputs, size, draw.choice(MATRICES)))
    return found


def placement(flat, devices, sizes, seed):
    """A random device for each op of a flat graph.

    Arguments are with the first op that reads them. An op stays with what it reads if that is larger than the tensors of the
    graph, as matrices can be, or if all of it is smaller, as the numbers within a node are.
    """
    draw = random.Random(f"placement/{seed}")
    stay = draw.choice(STAY)
    least, most = SIZES[sizes]
    found = [None] * len(flat.ops)
    for number, op in enumerate(flat.ops):
        if op.equation is None:
            continue
        read = [(flat.ops[ref.op].outputs[ref.port].bytes, found[ref.op]) for ref in op.inputs if flat.ops[ref.op].equation is not None]
        matrices = [device for size, device in read if size > most]
        is_free = not read or any(size >= least for size, _ in read)
        if matrices:
            found[number] = matrices[0]
        elif read and (not is_free or draw.random() < stay):
            found[number] = read[0][1]
        else:
            found[number] = draw.choice(devices)
        for ref in op.inputs:
            if found[ref.op] is None:
                found[ref.op] = found[number]
    return [devices[0] if device is None else device for device in found]


def transfers(flat, placement):
    """The tensors that a placement moves, as problems have them."""
    needed = dict.fromkeys(
        (ref.op, ref.port, placement[reader])
        for reader, op in enumerate(flat.ops)
        for ref in op.inputs
        if placement[ref.op] != placement[reader]
    )
    return [
        {"source": op, "output": port, "from": placement[op], "to": to, "bytes": flat.ops[op].outputs[port].bytes}
        for op, port, to in sorted(needed)
    ]
