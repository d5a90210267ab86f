"""Problems of flat graphs for the driver, made without its code, and how a run of the extractor is started."""

import os
import subprocess
import sys
from pathlib import Path


def problem_of(graph, flat, parameters, place, devices, mode, repetitions):
    """A problem in which op k of n is on device `place(k)`, in the order of ids."""
    placement = [place(k) for k in range(len(flat.ops))]
    moved = {}
    for op, device in zip(flat.ops, placement):
        for ref in op.inputs:
            if placement[ref.op] != device:
                moved[ref.op, ref.port, device] = flat.ops[ref.op].outputs[ref.port].bytes
    return {
        "version": 1,
        "graph": graph,
        "graph_ops": [op.name for op in flat.ops],
        "parameters": {key: str(value) for key, value in parameters.items()},
        "devices": [{"name": f"cpu:{d}", "kind": ["cpu", "CPU"][d % 2], "host": "127.0.0.1"} for d in range(devices)],
        "placement": placement,
        "order": [[k for k, device in enumerate(placement) if device == d] for d in range(devices)],
        "mode": mode,
        "transfers": [
            {"source": op, "output": port, "from": placement[op], "to": to, "bytes": size}
            for (op, port, to), size in moved.items()
        ],
        "warm_up": 1,
        "repetitions": repetitions,
        "traced": 1,
        "hosts": [],
        "token": "0123456789abcdef",
    }


def check_timeline(test, content, flat, result):
    """The laws of a measured timeline."""
    ops = result["ops"]
    test.assertEqual(len(ops), len(flat.ops))
    readers = {(t["source"], t["output"], t["to"]): k for k, t in enumerate(content["transfers"])}
    for k, op in enumerate(flat.ops):
        test.assertLessEqual(ops[k][0], ops[k][1])
        for ref in op.inputs:
            test.assertLessEqual(ops[ref.op][1], ops[k][0])
            if content["placement"][ref.op] != content["placement"][k]:
                begin, end = result["transfers"][readers[ref.op, ref.port, content["placement"][k]]]
                test.assertTrue(ops[ref.op][1] <= begin <= end <= ops[k][0])
    for device in range(len(content["devices"])):
        times = sorted(ops[k] for k, d in enumerate(content["placement"]) if d == device)
        test.assertTrue(all(a[1] <= b[0] for a, b in zip(times, times[1:])))
    test.assertEqual(result["bytes"], sum(transfer["bytes"] for transfer in content["transfers"]))


def start(*arguments, by=(), **variables):
    """Starts the extractor's command; `by` a module with options that starts it."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), **variables}
    command = [sys.executable, "-m", *by, "placebench_extract", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def stop(process):
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def children(pid):
    """The processes that a process started and that still run."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == pid and state != "Z":
                found.append(int(entry))
    return found


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
