"""Problems for the driver, made without the code that is tested: placement, order, transfers from the graph alone."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from placebench_extract import graph, models

PACKAGE = Path(__file__).resolve().parent.parent


def nodes_of(name, parameters):
    """The ops of an embedded model."""
    model = models.build(name, **parameters)
    return list(graph.prune(graph.fix_shapes(model.graph.as_graph_def(), model.feeds), model.train).node)


def groups(nodes):
    """The ops that TensorFlow keeps together: same class, or a variable and what changes it."""
    kind = {node.name: node.op for node in nodes}
    group = {node.name: node.name for node in nodes}

    def find(name):
        while group[name] != name:
            name = group[name]
        return name

    for node in nodes:
        changes = node.op.startswith(("Assign", "Apply", "Scatter", "SparseApply"))
        for other in graph.colocated_with(node):
            group[find(node.name)] = find(other)
        for source, _ in graph.data_inputs(node):
            if changes and kind[source] == "VariableV2":
                group[find(node.name)] = find(source)
    return {name: find(name) for name in group}


def problem(name, parameters, nodes, count, seed=1, blocks=False, **changes):
    """A problem: groups at random, or in blocks of the graph's order, ops ordered at random among those that can run."""
    chance = random.Random(seed)
    together, chosen = groups(nodes), {}
    for number, node in enumerate(nodes):
        device = number * count // len(nodes) if blocks else chance.randrange(count)
        chosen.setdefault(together[node.name], device)
    index = {node.name: op for op, node in enumerate(nodes)}
    placement = [chosen[together[node.name]] for node in nodes]
    waits = [set() for _ in nodes]
    transfers = {}
    for op, node in enumerate(nodes):
        for text in node.input:
            source, _, port = text.lstrip("^").partition(":")
            source = index[source]
            waits[op].add(source)
            if placement[source] != placement[op]:
                transfers[source, None if text.startswith("^") else int(port or 0), placement[op]] = None
    readers = [[] for _ in nodes]
    for op, sources in enumerate(waits):
        for source in sources:
            readers[source].append(op)
    left = [len(sources) for sources in waits]
    ready, order = [op for op, count in enumerate(left) if count == 0], [[] for _ in range(count)]
    while ready:
        op = ready.pop(chance.randrange(len(ready)))
        order[placement[op]].append(op)
        for reader in readers[op]:
            left[reader] -= 1
            if left[reader] == 0:
                ready.append(reader)
    return {
        "version": 1,
        "graph": name,
        "graph_ops": [node.name for node in nodes],
        "parameters": {key: str(value) for key, value in parameters.items()},
        "devices": [{"name": f"cpu:{i}", "kind": "cpu", "host": "127.0.0.1"} for i in range(count)],
        "placement": placement,
        "order": order,
        "mode": "replay",
        "transfers": [
            {"source": source, "output": output, "from": placement[source], "to": to, "bytes": 0}
            for source, output, to in transfers
        ],
        "warm_up": 1,
        "repetitions": 3,
        "traced": 1,
        "hosts": [],
        "token": "00",
        **changes,
    }


def start(content, folder):
    """Starts the driver on a problem."""
    file = Path(folder) / "problem.json"
    file.write_text(json.dumps(content))
    return subprocess.Popen(
        [sys.executable, "-m", "placebench_extract", "execute", "tensorflow", "--problem", str(file)],
        cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )


def run(content, folder):
    """Runs the driver on a problem: its exit status and its events."""
    driver = start(content, folder)
    out, err = driver.communicate()
    events = [json.loads(line) for line in out.splitlines()]
    if not events or events[-1]["event"] not in ("result", "error"):
        raise AssertionError(f"the driver did not say how it ended: {err}")
    return driver.returncode, events
