"""Runs a placement in TensorFlow: a worker for each device, every op pinned, steps for time, others for the timeline.

The step that runs is the one whose costs were traced: no optimizer changes the graph, and a device runs one op at a
time.
"""

import os
import subprocess
import sys
import threading
import time

from . import network
from .protocol import ExecuteError, OtherLoad, event, processor_model

CLOSE = 1e-3  # largest difference from the unplaced step, as a share of a tensor's largest value
CLOCK_TRIES = 20
PATIENCE = 5.0  # seconds from a lost connection to the end of the process behind it
EMPTY_STEPS = 20
SPARE_TRACES = 20  # traced steps beyond those asked for, where TensorFlow loses transfers


def run(_name, problem):
    """Runs a problem and says what happened. The workers end before this returns."""
    one_host = not problem.hosts
    if one_host and not network.leave():
        print("no network of their own for the workers: other users of this host can reach them", file=sys.stderr)
    end_with_parent()
    from . import tensorflow_cluster, tensorflow_graph
    from ..tf import tf

    layout = tensorflow_cluster.layout(problem.devices, problem.hosts)
    step = tensorflow_graph.load(problem)
    tensorflow_graph.check_splits(step, {name: problem.placement[op] for op, name in enumerate(step.ops)})
    sequence = tensorflow_graph.one_after_another(step, problem)
    placed = tensorflow_graph.placed(step, problem, layout.device_names)
    end = End()
    try:
        threads = 2 if problem.mode == "replay" else 1
        end.workers = workers = tensorflow_cluster.Workers(layout, not one_host, threads, end.worker_died)
        expected, why_not = _unplaced(step, layout)
        result = _measure(problem, step, placed, layout, workers, sequence, expected, why_not)
        workers.stop()
    except tf.errors.OpError as error:
        end.failed(explain(error))
    except ExecuteError as error:
        end.failed(error)
    except MemoryError:
        end.failed(ExecuteError("memory", "the driver is out of memory: take a smaller model"))
    event("result", **result)


class End:
    """How a run fails: the first fault is the one that is told, and the workers end with it."""

    def __init__(self):
        self.workers = None
        self.first = threading.Lock()

    def worker_died(self, message):
        """A worker's process has ended, as the thread that watches it says."""
        self._tell(ExecuteError("worker_died", message))

    def failed(self, error):
        """A step failed. If a process has ended, that is why, and the thread that watches it says so better."""
        end = time.monotonic() + (PATIENCE if error.kind == "worker_died" else 0.5)
        processes = self.workers.processes if self.workers is not None else []
        while processes and time.monotonic() < end:
            if any(process.poll() is not None for process in processes):
                threading.Event().wait()
            time.sleep(0.05)
        self._tell(error)

    def _tell(self, error):
        if self.first.acquire(blocking=False):
            event("error", kind=error.kind, message=str(error))
            if self.workers is not None:
                self.workers.stop()
            os._exit(1)
        threading.Event().wait()


def explain(error):
    """A fault of a step as one line."""
    from ..tf import tf

    noise = ("=", "Graph execution error", "Detected at", "Node: ", "From /job", "[[{{node")
    said = [line.strip() for line in (error.message or "").splitlines()]
    line = next((line for line in said if line and not line.startswith(noise)), type(error).__name__)
    name = f"op {error.op.name!r}: " if error.op is not None else ""
    if isinstance(error, tf.errors.ResourceExhaustedError):
        return ExecuteError("memory", f"{name}{line}: take a smaller model or more devices")
    if isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError)):
        return ExecuteError("worker_died", f"a worker does not answer any more ({line}): see its messages, and start it again")
    return ExecuteError("kernel", f"{name}{line}")


def end_with_parent():
    """Ends this process when its parent has: the workers then end as well."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _session(definition, host):
    """A session, to be closed when all went well: closing it waits for workers that may be dead."""
    from .. import graph as graphs
    from ..tf import v1
    from ..trace import session_config

    config = session_config()
    config.isolate_session_state = True  # the variables go when the session does
    return v1.Session(f"grpc://{host}", graph=graphs.load(definition), config=config)


def _unplaced(step, layout):
    """What one step leaves behind when the first worker runs it all: arrays, or None and why there are none."""
    from . import tensorflow_graph

    draws = (node for node in step.definition.node if "seed2" in node.attr)
    seedless = next((node.name for node in draws if not node.attr["seed"].i and not node.attr["seed2"].i), None)
    if seedless:
        return None, f"op {seedless!r} draws numbers without a seed"
    alone = tensorflow_graph.unplaced(step, "/job:worker/replica:0/task:0/device:CPU:0")
    session = _session(alone.definition, layout.hosts[0])
    arrays = [*_first_step(session, alone), *(session.run(name) for name in step.variables)]
    session.close()
    return arrays, None


def _first_step(session, step, **options):
    """Sets the variables, runs a step, and answers with its results."""
    if step.init:
        session.run(step.init)
    return session.run([step.results, step.targets], **options)[0]


def _measure(problem, step, placed, layout, workers, sequence, expected, why_not):
    from . import tensorflow_timeline
    from ..tf import tf, v1

    nothing = []
    for device in layout.device_names:
        nothing.append(f"placebench/empty/{len(nothing)}")
        placed.definition.node.add(name=nothing[-1], op="NoOp", device=device)
    load = OtherLoad(workers.pids)
    session = _session(placed.definition, layout.hosts[0])
    there = {device.name for device in session.list_devices()}
    for device, name in zip(problem.devices, layout.device_names):
        if name not in there:
            fault = f"device {device['name']}: TensorFlow {tf.__version__} finds no {name} at its worker"
            raise ExecuteError("unsupported", fault)
    event("ready", hardware=_hardware(problem, workers), software=f"tensorflow {tf.__version__}")
    offsets, clock = _clocks(session, layout)
    metadata = v1.RunMetadata()
    options = v1.RunOptions(output_partition_graphs=True)
    results = _first_step(session, placed, options=options, run_metadata=metadata)
    difference = None
    if expected is not None:
        difference = _largest_difference(session, step, results, expected)
    session.run(placed.targets, options=options, run_metadata=metadata)
    edges = tensorflow_timeline.check_partitions(metadata.partition_graphs, step, problem, layout.device_names)

    def timed(**arguments):
        start = time.time_ns()
        begin = time.perf_counter_ns()
        session.run(placed.targets, **arguments)
        return (time.perf_counter_ns() - begin) / 1e3, start

    def tell(kind, index, makespan):
        event("step", kind=kind, index=index, makespan_us=makespan, load_others=load.read())
        return makespan

    for index in range(problem.warm_up):
        tell("warm_up", index, timed()[0])
    makespans = [tell("measured", index, timed()[0]) for index in range(problem.repetitions)]
    full = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    traced, lacks = [], None
    for _ in range(problem.traced + SPARE_TRACES):
        if len(traced) == problem.traced:
            break
        metadata = v1.RunMetadata()
        makespan, start = timed(options=full, run_metadata=metadata)
        timeline = tensorflow_timeline.Timeline(metadata, start, offsets)
        lacks = timeline.lacks(step, problem, edges, layout.tasks)
        if lacks is None:
            traced.append((tell("traced", len(traced), makespan), len(traced), timeline))
    if len(traced) < problem.traced:
        tried = f"{len(traced)} of {problem.traced + SPARE_TRACES} traced steps are whole, {problem.traced} are needed"
        raise ExecuteError("kernel", f"{lacks}: {tried}: try again")
    traced.sort(key=lambda entry: entry[:2])
    timeline = traced[(len(traced) - 1) // 2][2]
    ops, transfers, moved, not_run = timeline.of(step, problem, edges, sequence)
    empty = []
    for _ in range(EMPTY_STEPS):
        begin = time.perf_counter_ns()
        session.run(nothing)
        empty.append((time.perf_counter_ns() - begin) / 1e3)
    session.close()
    checked = f"not compared with the unplaced step: {why_not}" if why_not else (
        f"{len(expected)} tensors equal the unplaced step's (max abs difference {difference:.3g})"
    )
    return {
        "makespans_us": makespans,
        "ops": ops,
        "transfers": [interval[:2] for interval in transfers],
        "bytes": moved,
        "checked": checked,
        "send_ops": len(edges),
        "not_run": not_run,
        "empty_step_us": sorted(empty)[len(empty) // 2],
        "clock": clock,
    }


def _largest_difference(session, step, results, expected):
    """How far results and variables are from the unplaced step's; more than rounding is an error."""
    import numpy as np

    largest = 0.0
    names = [*step.results, *step.variables]
    for number, (name, wanted) in enumerate(zip(names, expected)):
        found = results[number] if number < len(results) else session.run(name)
        apart, allowed = _apart(np.asarray(found), np.asarray(wanted))
        if not apart <= allowed:
            fault = f"{name} differs from the unplaced step's by {apart:.3g}: an op computes something else when placed"
            raise ExecuteError("kernel", fault)
        largest = max(largest, apart)
    return largest


def _apart(found, wanted):
    """The largest difference of two arrays, and how much is rounding. Equal infinities do not differ, nor two NaN."""
    import numpy as np

    if found.shape != wanted.shape or found.dtype.kind not in "fc":
        return (0.0 if np.array_equal(found, wanted) else float("inf")), 0.0
    differ = (found != wanted) & ~(np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        apart = float(np.abs(found - wanted)[differ].max(initial=0.0))
    return apart, CLOSE * float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))


def _hardware(problem, workers):
    gpus = []
    if any(device["kind"] == "gpu" for device in problem.devices):
        query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm", "--format=csv,noheader,nounits"]
        try:
            rows = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout.splitlines()
        except (OSError, subprocess.SubprocessError):
            rows = []
        for row in rows:
            name, driver, clock = (word.strip() for word in row.split(","))
            gpus.append({"name": name, "driver": driver, "clock_mhz": float(clock) if clock.isdigit() else None})
    return {"model": processor_model(), "cores": os.cpu_count(), "gpus": gpus, "pinned": workers.pinned}


def _clocks(session, layout):
    """How far the clock of each device's worker is ahead of ours, in nanoseconds, and how well that is known.

    Processes of one host have one clock. On others, the shortest of some questions for the time bounds the error.
    """
    if all(host.startswith("127.") for host in layout.hosts):
        return dict.fromkeys(layout.device_names, 0), "one host, one clock"
    from ..tf import tf

    offsets, worst = {}, 0
    with session.graph.as_default():
        asks = {}
        for name, task in zip(layout.device_names, layout.tasks):
            if task not in asks:
                with tf.device(f"/job:worker/replica:0/task:{task}/device:CPU:0"):
                    asks[task] = tf.timestamp()
    known = {}
    for task, ask in asks.items():
        tries = []
        for _ in range(CLOCK_TRIES):
            before = time.time_ns()
            there = session.run(ask)
            after = time.time_ns()
            tries.append((after - before, int(there * 1e9) - (before + after) // 2))
        duration, known[task] = min(tries)
        worst = max(worst, duration // 2)
    offsets = {name: known[task] for name, task in zip(layout.device_names, layout.tasks)}
    return offsets, f"clocks of several hosts, aligned to within {worst / 1e3:.0f} us"
