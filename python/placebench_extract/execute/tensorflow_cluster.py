"""The workers of a run: which there are, how they start, and that none outlives the run.

A device of the processor is a worker process of its own, because the devices of one process share their threads. The
GPUs of a host belong to its first worker, so that TensorFlow copies between them as it does by itself.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from .protocol import ExecuteError

CONNECT = 30.0  # seconds in which a worker on another host has to answer


@dataclass
class Layout:
    """The workers' addresses and GPU counts, and TensorFlow's name of every device of the problem."""

    hosts: list
    gpus: list
    device_names: list
    tasks: list  # of each device: its worker


def layout(devices, hosts):
    """Gives every device a worker. Without hosts, workers are processes here, on free ports of the loopback."""
    remote = bool(hosts)
    hosts = list(dict.fromkeys(hosts))  # devices can share a worker
    names, tasks, cpus, gpus = [], [], [0] * len(hosts), [0] * len(hosts)
    home = None  # the worker here that has the GPUs
    for device in devices:
        if device["kind"] not in ("cpu", "gpu"):
            fault = f"device {device['name']} is a {device['kind']}: TensorFlow here runs cpu and gpu"
            raise ExecuteError("unsupported", fault)
        cpu = device["kind"] == "cpu"
        if remote:
            if device["host"] not in hosts:
                fault = f"device {device['name']} is on {device['host']!r}, which is none of the hosts {', '.join(hosts)}"
                raise ExecuteError("problem", fault)
            task = hosts.index(device["host"])
            if cpu and cpus[task]:
                fault = f"device {device['name']}: worker {device['host']} has a cpu device already: start one for each"
                raise ExecuteError("unsupported", fault)
        elif home is not None and (not cpu or cpus[home] == 0):
            task = home
        else:
            task = len(cpus)
            cpus.append(0)
            gpus.append(0)
            home = task if home is None else home
        counts = cpus if cpu else gpus
        names.append(f"/job:worker/replica:0/task:{task}/device:{'CPU' if cpu else 'GPU'}:{counts[task]}")
        tasks.append(task)
        counts[task] += 1
    return Layout(hosts if remote else _free_ports(len(cpus)), gpus, names, tasks)


def _free_ports(count):
    listeners = [socket.socket() for _ in range(count)]
    for listener in listeners:
        listener.bind(("127.0.0.1", 0))
    hosts = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    for listener in listeners:
        listener.close()
    return hosts


class Workers:
    """The worker processes of a layout. They end with `stop`, with this process, and when one of them dies."""

    def __init__(self, layout, remote, threads, died):
        """Starts the workers, or looks for those of other hosts. `died` is called with a message, on a thread."""
        self.processes = []
        self.stopping = threading.Event()
        self.pinned = False
        if remote:
            for host in layout.hosts:
                _await(host)
            return
        cores = sorted(os.sched_getaffinity(0))
        self.pinned = len(layout.hosts) <= len(cores)
        try:
            for task, host in enumerate(layout.hosts):
                self.processes.append(_start(layout, task, host, threads, cores[task] if self.pinned else None))
            for task, process in enumerate(self.processes):
                if process.stdout.readline() != b"up\n":
                    raise ExecuteError("worker_died", _last_words(task, process))
        except BaseException:
            self.stop()
            raise
        for task, process in enumerate(self.processes):
            threading.Thread(target=self._watch, args=(task, process, died), daemon=True).start()

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def _watch(self, task, process, died):
        process.wait()
        if not self.stopping.is_set():
            died(_last_words(task, process))

    def stop(self):
        self.stopping.set()
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def _start(layout, task, host, threads, core):
    environment = dict(os.environ)
    if layout.gpus[task]:
        environment.pop("CUDA_VISIBLE_DEVICES", None)
    words = [sys.executable, "-m", "placebench_extract", "worker", "tensorflow", "--with-parent"]
    words += ["--listen", host, "--hosts", ",".join(layout.hosts)]
    words += ["--gpus", str(layout.gpus[task]), "--threads", str(threads)]
    words += [] if core is None else ["--core", str(core)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def _last_words(task, process):
    code = process.wait()
    how = f"signal {-code}" if code < 0 else f"status {code}"
    remedy = ": probably out of memory, take a smaller model" if code == -9 else ": see its messages on standard error"
    return f"worker {task} (process {process.pid}) ended with {how}{remedy}"


def _await(host):
    name, _, port = host.rpartition(":")
    end = time.monotonic() + CONNECT
    while True:
        try:
            socket.create_connection((name.strip("[]"), int(port)), timeout=CONNECT).close()
            return
        except (OSError, ValueError) as error:
            if time.monotonic() > end or isinstance(error, ValueError):
                remedy = f"start one there: python -m placebench_extract worker tensorflow --listen {host} --hosts LIST"
                raise ExecuteError("worker_died", f"no worker answers at {host} ({error}): {remedy}") from None
        time.sleep(0.2)
