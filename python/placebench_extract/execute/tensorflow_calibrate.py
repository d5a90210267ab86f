"""Measures what a simulation needs to predict steps of TensorFlow's workers on this host, by workers as steps have them.

The event `calibration` is that of `calibrate.py`, without graphs: the extractor measures those on the machine that
it runs on. Instead `devices` have `op_overhead_seconds`, what an op costs beside its kernel. `equations` are products of
matrices, which compute, and sums of vectors, which read and write memory.

Everything is a difference of two steps; one lacks what is measured: what a step costs by itself drops out.
"""

import os
import statistics
import sys
import time

from . import network
from .calibration import FLOW_BYTES, FLOW_COUNT, SIZES, devices, flow_sets, parser
from .protocol import ExecuteError, event, processor_model

WARM_UP, STEPS = 2, 15
SIDES = [32, 128, 512]  # of matrices
LENGTHS = [1 << 12, 1 << 16, 1 << 20]  # of vectors
CHAIN_OPERATIONS, CHAIN = 1e8, (4, 200)  # about how much a chain of ops computes, and its least and greatest length
LAUNCHES = 500
HOPS, LARGE, LARGE_HOPS = 16, 1 << 20, 6


def main(name, arguments):
    found = devices(parser(name).parse_args(arguments))
    if not network.leave():
        print("no network of their own for the workers: other users of this host can reach them", file=sys.stderr)
    from . import tensorflow_cluster
    from .tensorflow_driver import End, end_with_parent, explain
    from ..tf import tf

    end_with_parent()
    layout = tensorflow_cluster.layout([{**device, "host": ""} for device in found], [])
    end = End()
    try:
        end.workers = workers = tensorflow_cluster.Workers(layout, False, 2, end.worker_died)
        event("ready", hardware={"model": processor_model(), "cores": os.cpu_count(), "gpus": [], "pinned": workers.pinned})
        measured = _measure(Bench(layout, workers), found)
        workers.stop()
    except tf.errors.OpError as error:
        end.failed(explain(error))
    except ExecuteError as error:
        end.failed(error)
    event("calibration", **measured)


class Bench:
    """Runs small graphs on the workers."""

    def __init__(self, layout, workers):
        self.names, self.tasks, self.host = layout.device_names, layout.tasks, layout.hosts[0]
        self.pids = workers.pids

    def steps(self, *builds):
        """For each way to build targets: seconds of its steps, the least first, and the processor time that a step takes
        of each worker. The ways take turns, since machines drift."""
        from ..tf import v1
        from ..trace import session_config

        graph = v1.Graph()
        with graph.as_default():
            targets = [[target.op for target in build()] for build in builds]
        config = session_config()
        config.isolate_session_state = True
        seconds, busy = [[] for _ in builds], [[0.0] * len(self.pids) for _ in builds]
        with v1.Session(f"grpc://{self.host}", graph=graph, config=config) as session:
            runs = [session.make_callable(ops) for ops in targets]
            for step in range(WARM_UP + STEPS):
                for way, run in enumerate(runs):
                    before = [_processor_seconds(pid) for pid in self.pids]
                    begin = time.perf_counter()
                    run()
                    took = time.perf_counter() - begin
                    if step >= WARM_UP:
                        seconds[way].append(took)
                        for worker, pid in enumerate(self.pids):
                            busy[way][worker] += (_processor_seconds(pid) - before[worker]) / STEPS
        return [(sorted(times), of_workers) for times, of_workers in zip(seconds, busy)]

    def on(self, device):
        from ..tf import tf

        return tf.device(self.names[device])


def _processor_seconds(pid):
    """What the threads of a process have used so far; those that have ended are missing."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / 1e9


def _measure(bench, found):
    cpus = sum(device["kind"] == "cpu" for device in found)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    equations = {}
    for number, device in enumerate(found):
        overhead = _launch(bench, number)
        device["memory_bytes"] = memory // cpus if device["kind"] == "cpu" else None
        device["op_overhead_seconds"] = overhead
        for kind, operations, size, seconds in _equations(bench, number):
            entry = equations.setdefault((kind, size), {"type": kind, "operations": operations, "step_seconds": {}})
            entry["step_seconds"][device["name"]] = _beyond(seconds, overhead)
    pairs = [(a, b) for a in range(len(found)) for b in range(len(found)) if a != b]
    transfers = [_transfer(bench, a, b, size) for a, b in pairs for size in SIZES]
    flows = [{"pairs": pairs, "bytes": FLOW_BYTES, "seconds": _flow(bench, pairs)} for pairs in flow_sets(len(found))]
    return {"devices": found, "equations": list(equations.values()), "graphs": [], "transfers": transfers, "flows": flows}


def _chain(bench, device, start, step, length):
    """Seconds of a step with a chain of ops, less those of one with a single op of it."""

    def build(count):
        with bench.on(device):
            value = start()
            for _ in range(count):
                value = step(value)
            return [value]

    (longer, _), (shorter, _) = bench.steps(lambda: build(length + 1), lambda: build(1))
    return _beyond(longer[0], shorter[0]) / length


def _beyond(longer, shorter):
    """A difference of two times; 0 where noise hides it, which is no time for those who draw lines through times."""
    return max(longer - shorter, 0.0)


def _launch(bench, device):
    from ..tf import tf

    return _chain(bench, device, lambda: tf.constant(1.0), tf.negative, LAUNCHES)


def _equations(bench, device):
    from ..tf import tf

    for side in SIDES:
        operations = 2.0 * side**3
        one = lambda side=side: tf.fill([side, side], 1.0 / side)  # its powers neither grow nor vanish
        yield "MatMul", operations, side, _chain(bench, device, one, lambda x: tf.matmul(x, x), _length(operations))
    for length in LENGTHS:
        vector = lambda length=length: tf.fill([length], 0.0)
        yield "Add", float(length), length, _chain(bench, device, vector, lambda x: tf.add(x, x), _length(length))


def _length(operations):
    least, most = CHAIN
    return int(min(max(CHAIN_OPERATIONS / operations, least), most))


def _transfer(bench, sender, receiver, size):
    """A tensor that goes to and fro, for its time, and several that go one way, for what they take of both ends."""
    from ..tf import tf

    hops = HOPS if size < LARGE else LARGE_HOPS

    def to_and_fro(there):
        with bench.on(sender):
            value = tf.fill([size // 4], 1.0)
        for hop in range(hops):
            with bench.on(there if hop % 2 == 0 else sender):
                value = tf.identity(value)
        return [value]

    def one_way(there):
        targets = []
        for _ in range(hops):
            with bench.on(sender):
                value = tf.fill([size // 4], 1.0)
            with bench.on(there):
                targets.append(tf.identity(value))
            with bench.on(receiver):
                targets.append(tf.constant(1.0))  # so that both workers have a part in the step
        return targets

    (far, _), (near, _) = bench.steps(lambda: to_and_fro(receiver), lambda: to_and_fro(sender))
    (_, moved), (_, kept) = bench.steps(lambda: one_way(receiver), lambda: one_way(sender))
    per_hop = [_beyond(a, b) / hops for a, b in ((far[0], near[0]), (statistics.median(far), statistics.median(near)))]
    busy = [_beyond(moved[bench.tasks[end]], kept[bench.tasks[end]]) / hops for end in (sender, receiver)]
    return {
        "from": sender, "to": receiver, "bytes": size, "count": hops,
        "sender_seconds": busy[0], "receiver_seconds": busy[1], "one_way_seconds": sorted(per_hop),
    }  # fmt: skip


def _flow(bench, pairs):
    """Seconds of a tensor while all pairs send without pause."""
    from ..tf import tf

    def build(moves):
        made = []
        for sender, receiver in pairs:
            with bench.on(sender):
                values = [tf.fill([FLOW_BYTES // 4], 1.0) for _ in range(FLOW_COUNT)]
                with tf.control_dependencies(values):  # making them is no part of the flow
                    made.append((sender, receiver, [tf.identity(value) for value in values]))
        targets = []
        for sender, receiver, values in made:
            with bench.on(receiver if moves else sender):
                targets += [tf.identity(value) for value in values]
        return targets

    (moved, _), (kept, _) = bench.steps(lambda: build(True), lambda: build(False))
    return _beyond(moved[0], kept[0]) / FLOW_COUNT
