"""Runs a placement on processes of a framework: each device is a process with a core, or a GPU, of its own.

The devices of one process would share a pool of threads, so they would not be devices. Processes of this host are
started here and listen on loopback. Those of other hosts (`hosts`) were started there with
`python -m placebench_extract worker jax --listen HOST:PORT --serve` and the same token in PLACEBENCH_TOKEN.
"""

import itertools
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ..gpus import sharing, visible
from . import memory
from .clock import boot_id, now
from .protocol import ExecuteError, OtherLoad, event
from .wire import Channel, Closed, Refused, dial

START_SECONDS = 120
ANEW_SECONDS = 30
LEAD = 3_000_000  # nanoseconds between the command and the start of a step
TRIES = 5  # steps that a process joined too late are run again
FASTEST = {}  # the fastest probe of each host, of all runs of this process
STEADY = 1.15  # a core is slow if a probe takes more than this times the fastest
REPEATS = 3  # steps on a slow core that are run again, for each step that counts
LARGEST_TENSOR = 1 << 40
# What a placed step may differ from the unplaced one, relative to the largest entry of a result, or to FLOOR if that is
# larger. Both run the same operations, one by one, so cores of one kind agree bit for bit. A GPU, or a device of several
# cores, adds up in another order.
FLOOR = 1e-3
TOLERANCE = {"cpu": 1e-6, "gpu": 1e-3}


def run(framework, problem):
    """Runs a problem, and says what happened as events."""
    run_rounds(framework, [problem])


def run_rounds(framework, problems):
    """Runs several placements of one graph on the same devices, step about.

    A machine drifts within minutes. Placements that take turns meet the same conditions, so their makespans compare.
    """
    first = problems[0]
    for name in ("graph", "graph_ops", "parameters", "devices", "transport", "hosts"):
        if any(getattr(problem, name) != getattr(first, name) for problem in problems):
            raise ExecuteError("problem", f"the problems differ in {name}: placements that take turns have one graph and the same devices")
    plans = [
        {"placement": problem.placement, "order": problem.order, "transfers": problem.transfers, "mode": problem.mode}
        for problem in problems
    ]
    with Run(framework, first.devices, first.transport, first.hosts, first.token) as devices, Reference(framework, first) as reference:
        devices.setup(first.graph, first.graph_ops, first.parameters, plans)
        event("ready", hardware=devices.hardware())
        reference.wait()
        load = OtherLoad(devices.pids())

        repeated = [0] * len(problems)

        def steps(kind, counts, after=lambda number: None):
            found = [[] for _ in problems]
            for index in range(max(counts)):
                for number, count in enumerate(counts):
                    if index < count:
                        step = _step(devices, number, kind, index, load)
                        repeated[number] += step["repeated"]
                        found[number].append(step)
                    if index == count - 1:
                        after(number)
            return found

        checked = [None] * len(problems)

        def compare(number):
            checked[number] = check(devices, problems[number].placement, reference)

        steps("warm_up", [problem.warm_up or 1 for problem in problems], compare)
        reference.close()
        measured = steps("measured", [problem.repetitions for problem in problems])
        traced = steps("traced", [problem.traced for problem in problems])
    for number, problem in enumerate(problems):
        makespans = [step["makespan_us"] for step in measured[number]]
        slow = sum(not step["steady"] for step in measured[number])
        event(
            "result", problem=number, makespans_us=makespans, slow=slow, repeated=repeated[number], checked=checked[number],
            **timeline(problem, traced[number]),
        )  # fmt: skip


def _step(devices, number, kind, index, load):
    plans = [number] * len(devices.workers)
    step = devices.step(plans, False) if kind == "warm_up" else devices.steady_step(plans, kind == "traced")
    load_others, makespan = load.read(), step["makespan_us"]
    event("step", problem=number, kind=kind, index=index, makespan_us=makespan, load_others=load_others, late=step["late"])
    return step


def timeline(problem, traced):
    """Ops, transfers, and what the devices did for transfers, from the median of the traced steps."""
    by_time = sorted(traced, key=lambda step: step["makespan_us"])
    step = by_time[(len(by_time) - 1) // 2]
    ops = [None] * len(problem.graph_ops)
    sends, receives = [None] * len(problem.transfers), [None] * len(problem.transfers)
    for answer, micros in zip(step["answers"], step["clocks"]):
        for op, begin, end, _ in answer["ops"]:
            ops[op] = [micros(begin), micros(end)]
        for transfers, times in ((sends, answer["sends"]), (receives, answer["receives"])):
            for transfer, (begin, end) in times:
                transfers[transfer] = [micros(begin), micros(end)]
    return {
        "ops": ops,
        "transfers": [[send[0], receive[1]] for send, receive in zip(sends, receives)],
        "sends": sends,
        "receives": receives,
        "bytes": sum(answer["bytes"] for answer in step["answers"]),
    }


def check(devices, placement, reference):
    """Compares every result of the last step with the unplaced step's. Returns what to say of it."""
    import numpy as np

    largest = 0.0
    tolerance = TOLERANCE["gpu" if any(device["kind"] == "gpu" for device in devices.devices) else "cpu"]
    described = devices.described[0]
    for leaf, (result, name) in enumerate(zip(described["results"], described["result_names"])):
        if result is None:
            continue  # a constant, which no device makes
        mine = _array(*devices.workers[placement[result[0]]].ask({"do": "result", "leaf": leaf}, LARGEST_TENSOR))
        true = _array(*reference.ask({"do": "result", "leaf": leaf}, LARGEST_TENSOR))
        if mine.shape != true.shape or mine.dtype != true.dtype:
            message = f"result {name} is {mine.dtype}{list(mine.shape)}, but {true.dtype}{list(true.shape)} if unplaced"
            raise ExecuteError("kernel", message)
        if not mine.size:
            continue
        wide = (mine.astype(np.float64), true.astype(np.float64))
        if not np.array_equal(np.isnan(wide[0]), np.isnan(wide[1])):
            raise ExecuteError("kernel", f"result {name} is not a number where the unplaced step's is, or the other way round")
        with np.errstate(invalid="ignore"):
            apart = np.abs(wide[0] - wide[1])
        apart = float(np.max(np.where(wide[0] == wide[1], 0.0, np.nan_to_num(apart, nan=0.0))))
        scale = float(np.max(np.abs(np.nan_to_num(wide[1]))))
        if apart > tolerance * max(scale, FLOOR):
            raise ExecuteError("kernel", f"result {name} differs from the unplaced step's by {apart:.3g}; its largest entry is {scale:.3g}")
        largest = max(largest, apart)
    return f"results equal the unplaced step's (max abs difference {largest:.3g})"


def _array(message, content):
    import numpy as np

    try:
        dtype = np.dtype(message["dtype"])
    except TypeError:
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, message["dtype"]))
    return np.frombuffer(content, np.uint8).view(dtype).reshape(message["shape"])


class Run:
    """The processes of a run. Used with `with`: whatever happens, none is left."""

    def __init__(self, framework, devices, transport, hosts, token):
        if hosts and len(hosts) != len(devices):
            raise ExecuteError("problem", f"there are {len(hosts)} hosts for {len(devices)} devices: name one for each device")
        _check_hosts(hosts)
        devices = [{**device, "kind": device["kind"].lower()} for device in devices]
        for device in devices:
            if device["kind"] not in ("cpu", "gpu"):
                kind = f"device {device['name']} is a {device['kind']}"
                raise ExecuteError("unsupported", f"{kind}: this executor has devices of kind cpu or gpu")
        self.framework, self.devices, self.hosts, self.token = framework, devices, hosts, token
        self.transport = transport
        self.workers, self.number = [], 0
        self.probes, self.allowed, self.repeats = {}, 0, REPEATS

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, _stop)
        # Where processes of this host may meet. Whatever ends them, it is ours to remove.
        self.folder = None if self.hosts else tempfile.mkdtemp(prefix="placebench-")
        if not memory.is_possible(self.folder):
            self.transport = "tcp"
        try:
            cores = _shares(self.devices)
            self.cores_shared = not self.hosts and sum(d["kind"] == "cpu" for d in self.devices) > len(_cores())
            gpus = 0
            on_gpus = sum(device["kind"] == "gpu" for device in self.devices)
            # How many devices are on the GPU of each; on other hosts, nobody here knows.
            self.sharing = sharing(on_gpus, visible()) if on_gpus and not self.hosts else [1] * on_gpus
            for rank, device in enumerate(self.devices):
                if self.hosts:
                    self.workers.append(Worker(device["name"], self.token, address=self.hosts[rank]))
                    continue
                options = [self.framework, "--kind", device["kind"], "--cores", ",".join(map(str, cores[rank]))]
                if device["kind"] == "gpu":
                    options += ["--gpu", str(gpus)]
                    gpus += 1
                self.workers.append(Worker(device["name"], self.token, options))
            for worker in self.workers:
                worker.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def setup(self, graph, graph_ops, parameters, plans):
        """Hands every device its part of the plans, and waits until all have compiled it."""
        addresses = [worker.address for worker in self.workers]
        for rank, worker in enumerate(self.workers):
            worker.tell({
                "do": "setup", "rank": rank, "graph": graph, "graph_ops": graph_ops, "parameters": parameters,
                "plans": plans, "addresses": addresses, "folder": self.folder, "transport": self.transport,
            })  # fmt: skip
        self.described = gather(self.workers)
        on_gpus = [described for described in self.described if described["gpu"]]
        for described, devices in zip(on_gpus, self.sharing):
            described["memory"] //= devices
        self.offsets = [_offset(worker) for worker in self.workers]

    def step(self, plans, traced):
        """Runs a step, each device by its plan. Its makespan runs from the common start to the end of the last device."""
        lead = LEAD
        for _ in range(TRIES):
            start = now() + lead
            self.number += 1
            for worker, offset, plan in zip(self.workers, self.offsets, plans):
                worker.tell({"do": "step", "plan": plan, "number": self.number, "traced": traced, "at": start + offset})
            answers = gather(self.workers)
            late = any(answer["late"] for answer in answers)
            if not late:
                break
            lead *= 3
        micros = [lambda t, begin=start + offset: round((t - begin) / 1e3, 3) for offset in self.offsets]
        end = max(clock(answer["end"]) for clock, answer in zip(micros, answers))
        return {"makespan_us": end, "answers": answers, "clocks": micros, "late": late, "steady": self.is_steady(answers), "repeated": 0}

    def steady_step(self, plans, traced):
        """A step while all cores are fast. One on a slow core is run again, as long as there are repeats left."""

        def attempt():
            step = self.step(plans, traced)
            return step, step["steady"]

        step, repeated = self.repeat(attempt)
        return {**step, "repeated": repeated}

    def repeat(self, attempt):
        """Measures until it is steady, or no repeats are left: what was measured, and how often it was measured again."""
        self.allowed += self.repeats
        for repeated in itertools.count():
            found, steady = attempt()
            if steady or not self.allowed:
                return found, repeated
            self.allowed -= 1

    def is_steady(self, answers):
        """Whether all cores were fast before and after what the devices answer; None are those that took no part. What fast is,
        the fastest probe of their host says."""
        host = lambda rank: self.hosts[rank].rpartition(":")[0] if self.hosts else None  # noqa: E731
        asked = [rank for rank, answer in enumerate(answers) if answer and self.devices[rank]["kind"] == "cpu"]
        for rank in asked:
            FASTEST[host(rank)] = min(FASTEST.get(host(rank), answers[rank]["probe"]), answers[rank]["probe"])
        before = {rank: self.probes.get(rank, 0) for rank in asked}
        self.probes.update((rank, answers[rank]["probe"]) for rank in asked)
        return all(max(before[rank], self.probes[rank]) <= STEADY * FASTEST[host(rank)] for rank in asked)

    def hardware(self):
        first = self.described[0]
        gpus = [described["gpu"] for described in self.described if described["gpu"]]
        lists = [described["cores"] or [0] for described in self.described if not described["gpu"]]
        # Of several hosts each has its own; devices of one may share some.
        cores = sum(map(len, lists)) if self.hosts else len({core for cores in lists for core in cores})
        hardware = {"model": first["model"], "cores": cores, "gpus": gpus, "software": first["software"], "transport": self.transport}
        shared = {"cores_shared": self.cores_shared, "gpus_shared": any(devices > 1 for devices in self.sharing)}
        return {**hardware, **{name: True for name, is_shared in shared.items() if is_shared}}

    def pids(self):
        return [worker.process.pid for worker in self.workers if worker.process]


class Worker:
    """A process of the run, and the connection to it. A thread listens, so that a process that dies is noticed."""

    def __init__(self, name, token, options=(), address=None):
        """Starts a process with the arguments `options` of `worker`, or uses the one that listens at `address`."""
        self.name, self.token, self.address = name, token, address
        self.process, self.channel, self.errors = None, None, []
        self.answers = queue.SimpleQueue()
        if address is None:
            self._start(options)

    def _start(self, options):
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "placebench_extract", "worker", *options, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path, "PLACEBENCH_TOKEN": self.token},
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read_errors, daemon=True)
        self.reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)
            del self.errors[:-20]

    def connect(self):
        """Greets the process."""
        if self.process:
            port = self.process.stdout.readline().strip()
            if not port:
                raise ExecuteError("worker_died", self._death())
            self.address = f"127.0.0.1:{port}"
        try:
            # One that serves run after run begins anew before it listens again.
            patience = 0 if self.process else ANEW_SECONDS
            self.channel = Channel(dial(self.token, self.address, "driver", START_SECONDS, patience))
        except Refused as error:
            raise ExecuteError("worker_died", f"device {self.name}: {error}") from None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while True:
                self.answers.put(self.channel.receive(LARGEST_TENSOR))
        except (Closed, ValueError):
            self.answers.put(None)

    def tell(self, command):
        try:
            self.channel.send(command)
        except Closed:
            raise ExecuteError("worker_died", self._death()) from None

    def ask(self, command, largest=0):
        self.tell(command)
        return self.answer()

    def answer(self, timeout=None):
        """The next answer, as message and bytes. Raises `queue.Empty` after `timeout` seconds."""
        answer = self.answers.get(timeout=timeout)
        if answer is None:
            raise ExecuteError("worker_died", self._death())
        if "error" in answer[0]:
            raise ExecuteError(answer[0]["error"]["kind"], f"device {self.name}: {answer[0]['error']['message']}")
        return answer

    def _death(self):
        text = f"device {self.name}: "
        if not self.process:
            return f"{text}the connection to {self.address} ended: see what its worker says, and try again if it served another run"
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return f"{text}process {self.process.pid} closed its connection"
        text += f"process {self.process.pid} "
        if code < 0:
            text += f"was killed by signal {-code}"
            text += " (9: by somebody, or by the system for want of memory)" if code == -9 else ""
        else:
            text += f"ended with {code}"
        last = [line.strip() for line in self.errors if line.strip()]
        return f"{text}: {last[-1]}" if last else text

    def close(self):
        if self.channel:
            self.channel.close()
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.reader.join()
            self.process.stderr.close()


class Reference(Worker):
    """The process that computes the unplaced step, beside the others while they compile."""

    def __init__(self, framework, problem):
        # On one core, as the devices: with more, sums are added up in another order.
        super().__init__("reference", problem.token, [framework, "--cores", str(_cores()[-1])])
        self.command = {"do": "reference", "graph": problem.graph, "parameters": problem.parameters}

    def __enter__(self):
        try:
            self.connect()
            self.tell(self.command)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def wait(self):
        self.answer()


def _check_hosts(hosts):
    for host in hosts:
        if not host.rpartition(":")[2].isdigit() or ":" not in host:
            raise ExecuteError("problem", f"host {host!r} has no port: write ADDRESS:PORT")
        if hosts.count(host) > 1:
            raise ExecuteError("problem", f"host {host} is named twice: a worker serves one device")


def gather(workers):
    """The next answer of every process, as soon as one fails its failure."""
    answers = [None] * len(workers)
    waiting = set(range(len(workers)))
    while waiting:
        for rank in sorted(waiting):
            try:
                answers[rank] = workers[rank].answer(timeout=0.05 if len(waiting) > 1 else None)[0]
                waiting.discard(rank)
            except queue.Empty:
                pass
    return answers


def _offset(worker):
    """A process's clock less ours, in nanoseconds: 0 on this host, else from the shortest of many round trips."""
    best, offset = math.inf, 0
    for _ in range(50):
        begin = now()
        answer = worker.ask({"do": "clock"})[0]
        end = now()
        if answer["boot"] and answer["boot"] == boot_id():
            return 0
        if end - begin < best:
            best, offset = end - begin, answer["clock"] - (begin + end) // 2
    return offset


def _cores():
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _shares(devices):
    """The cores of each process: one for a CPU device, what is left for the processes of GPUs."""
    cores = _cores()
    cpus = sum(device["kind"] == "cpu" for device in devices)
    left = cores[cpus:] or cores
    shares, taken = [], 0
    for device in devices:
        if device["kind"] == "cpu":
            shares.append([cores[taken % len(cores)]])
            taken += 1
        else:
            shares.append(left)
    return shares


def _stop(number, _frame):
    raise SystemExit(128 + number)
