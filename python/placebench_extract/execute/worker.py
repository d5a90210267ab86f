"""A device of a run: a process that computes its part of the step, and moves tensors to and from the other devices.

The main thread runs operations, one at a time; an `Exchange` moves tensors. Commands come from the driver (`driver.py`);
without its connection the process ends.
"""

import argparse
import gc
import heapq
import os
import queue
import sys
import threading
import time

from ..flat import Ref
from ..gpus import local_number
from ..machine import cpu_name, keep_memory
from . import measure, memory, rendezvous
from .clock import boot_id, now, wait_until
from .frameworks import framework
from .model import model
from .plan import check_names, make_plan
from .protocol import ExecuteError
from .wire import Channel, Closed, Door, Refused

TOKEN = "PLACEBENCH_TOKEN"


def main(name, arguments):
    options = _parser(name).parse_args(arguments)
    token = os.environ.pop(TOKEN, "")
    if not token:
        raise ExecuteError("problem", f"a worker needs the run's token in the environment variable {TOKEN}")
    module = framework(name)
    try:
        module.prepare(options.kind, options.cores, local_number() if options.gpu is None else options.gpu)
    except OSError as error:
        raise ExecuteError("problem", f"--cores: this process may not run on {options.cores}: {error.strerror}") from None
    keep_memory()
    if options.listen:
        door = _door(token, options.listen)
        address = f"{options.listen.rpartition(':')[0]}:{door.port}"
        print(door.port, flush=True)
    elif rendezvous.is_there():
        own = rendezvous.own_address()
        own = f"[{own}]" if ":" in own else own
        door = _door(token, f"{own}:0")
        address = f"{own}:{door.port}"
        if addresses := rendezvous.announce(address):
            print(f"--hosts {','.join(addresses)}", flush=True)
    else:
        raise ExecuteError("problem", "where to listen? Name --listen ADDRESS:PORT, or start the workers with torchrun")
    if arguments[-2:] != ["--listen", address]:
        arguments = [*arguments, "--listen", address]  # where this process listens when it begins anew
    control = Channel(door.accept("driver", None))
    end = lambda: os._exit(0)  # noqa: E731
    if options.serve:
        os.environ[TOKEN] = token
        end = lambda: os.execv(sys.executable, [sys.executable, "-m", "placebench_extract", "worker", name, *arguments])  # noqa: E731
    _serve(control, module, door, token, options, end)


def _door(token, address):
    host, _, port = address.rpartition(":")
    try:
        return Door(token, host.strip("[]"), int(port))
    except (OSError, OverflowError, ValueError) as error:
        raise ExecuteError("problem", f"cannot listen on {address}: {error}") from None


def _serve(control, module, door, token, options, end):
    """Obeys commands until the driver is gone."""
    commands = queue.SimpleQueue()

    def listen():
        try:
            while True:
                commands.put(control.receive()[0])
        except Closed:
            end()

    threading.Thread(target=listen, daemon=True).start()
    device = None
    try:
        while True:
            command = commands.get()
            if command["do"] == "clock":
                control.send({"clock": now(), "boot": boot_id()})
            elif command["do"] == "reference":
                device = Reference(command, module)
                control.send({"ready": True})
            elif command["do"] == "setup":
                device = Device(command, module, door, token, options, getattr(device, "exchange", None))
                control.send(device.describe())
            elif command["do"] == "step":
                control.send(device.step(command))
            elif command["do"] == "result":
                message, content = device.result(command["leaf"])
                control.send(message, content)
            elif command["do"] == "measure":
                control.send(device.measure(command))
    except Closed:
        end()
    except Exception as error:  # whatever it is, the driver has to hear of it
        try:
            control.send({"error": _fault(error, module.NO_MEMORY)})
            time.sleep(60)  # the driver ends this process
        finally:
            end()


class Device:
    """This process's part of the graph."""

    def __init__(self, command, module, door, token, options, exchange=None):
        """Sets up what `command` says. An `exchange` has the connections of an earlier setup of the same run."""
        self.backend = module.Backend(options.kind)
        self.rank, self.kind, self.cores = command["rank"], options.kind, options.cores
        program, self.flat = model(module, command["graph"], command["parameters"])
        check_names(self.flat, command["graph_ops"], module.TITLE)
        self.plans = [
            make_plan(self.flat, p["placement"], p["order"], p["transfers"], p["mode"], self.rank)
            for p in command["plans"]
        ]
        self.exchange = exchange or self._exchange(command, door, token)
        self._compile(program)
        # Collecting garbage would become part of an operation's time: it is done between steps, and what the graph
        # takes is left out.
        gc.collect()
        gc.freeze()
        gc.disable()

    def _exchange(self, command, door, token):
        """What moves tensors to and from the other devices."""
        addresses, folder = command["addresses"], command["folder"]
        if command["transport"] == "memory":
            peers = [peer for peer in range(len(addresses)) if peer != self.rank]
            return memory.SharedMemory(self.backend, self.rank, peers, folder)
        return self.backend.exchange(self.rank, addresses, door, token, folder)

    def _compile(self, program):
        """Puts arguments and constants on the device, and compiles each distinct call once: a step then only runs."""
        ops = sorted({task.op for plan in self.plans for task in plan.tasks})
        values = self.backend.arguments(program, self.flat, ops)
        self.compiled, self.functions = {}, [None] * len(self.flat.ops)
        for op in ops:
            call = self.flat.ops[op].equation
            if call is None:
                self.functions[op] = _stays((values[op],))
                continue
            if call.key not in self.compiled:
                self.compiled[call.key] = self.backend.compile(call)
            self.functions[op] = self.compiled[call.key]

    def describe(self):
        gpu = {"name": self.backend.gpu_name(), **gpu_state()} if self.kind == "gpu" else None
        memory = self.backend.gpu_memory() if gpu else None
        return {
            "software": self.backend.software,
            "model": cpu_name(),
            "cores": self.cores,
            "gpu": gpu,
            "memory": memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "results": [[ref.op, ref.port] if isinstance(ref, Ref) else None for ref in self.flat.results],
            "result_names": self.flat.result_names,
        }

    # A step.

    def step(self, command):
        """Runs a step that begins at the time `at` on this process's clock."""
        plan = self.plans[command["plan"]]
        self.op_times = [] if command["traced"] else None
        self.exchange.begin(command["number"], plan, command["traced"])
        try:
            late = now() > command["at"]
            wait_until(command["at"])
            busy = time.process_time_ns()
            run = self._replay if plan.mode == "replay" else self._dynamic
            self.slots = run(plan)
            self.backend.wait([value for value in self.slots if value is not None])
            end = now()
            busy = time.process_time_ns() - busy - self.exchange.waited
        finally:
            gc.collect()
        exchange = self.exchange
        # The last tensor is here, but it may still have to be noted when it was sent.
        exchange.finish(sum(len(task.sends) for task in plan.tasks))
        answer = {"end": end, "late": late, "busy": busy, "bytes": exchange.bytes_received, "probe": measure.probe()}
        if command["traced"]:
            answer |= {"ops": self.op_times, "sends": list(exchange.sent.items()), "receives": list(exchange.received.items())}
        return answer

    def _replay(self, plan):
        values = [None] * plan.slots
        for task in plan.tasks:
            for slot, transfer in task.waits:
                while values[slot] is None:
                    self._take(plan, values, transfer)
            self._run(task, values)
            for slot in task.frees:
                values[slot] = None
        return values

    def _dynamic(self, plan):
        """Runs what is ready; of several, the one that comes first in the order."""
        values = [None] * plan.slots
        missing, readers, reading = [], {}, {}
        local = set()
        for position, task in enumerate(plan.tasks):
            needs = set(task.inputs)
            missing.append(len(needs))
            for slot in needs:
                readers.setdefault(slot, []).append(position)
                reading[slot] = reading.get(slot, 0) + 1
            local.update(task.frees)
        ready = [position for position, count in enumerate(missing) if count == 0]

        def there(slot):
            for position in readers.get(slot, ()):
                missing[position] -= 1
                if missing[position] == 0:
                    heapq.heappush(ready, position)

        for _ in plan.tasks:
            while not ready or self.exchange.has_arrived():
                there(self._take(plan, values))
            task = plan.tasks[heapq.heappop(ready)]
            outputs = self._run(task, values)
            for slot in range(task.first, task.first + outputs):
                there(slot)
                if slot in local and slot not in reading:
                    values[slot] = None
            for slot in set(task.inputs):
                reading[slot] -= 1
                if reading[slot] == 0 and slot in local:
                    values[slot] = None
        return values

    def _run(self, task, values):
        if self.op_times is not None:
            begin, busy = now(), time.process_time_ns()
        outputs = self.functions[task.op](*[values[slot] for slot in task.inputs])
        if self.op_times is not None:
            self.backend.wait(outputs)
            self.op_times.append((task.op, begin, now(), time.process_time_ns() - busy))
        first = task.first
        for port, output in enumerate(outputs):
            values[first + port] = output
        for port, transfer, peer in task.sends:
            self.exchange.put(peer, transfer, outputs[port])
        return len(outputs)

    def _take(self, plan, values, transfer=None):
        """Waits for a tensor from another device. Returns its slot."""
        transfer, value = self.exchange.take(transfer)
        slot = plan.arrivals[transfer][0]
        values[slot] = value
        return slot

    # Results and measurements.

    def result(self, leaf):
        """A result of the last step that is on this device."""
        ref = self.flat.results[leaf]
        slot = sum(len(op.outputs) for op in self.flat.ops[:ref.op]) + ref.port
        return _array_message(self.backend.result(ref, self.slots[slot]))

    def measure(self, command):
        return getattr(measure, command["what"])(self, command)


class Reference:
    """The step as the framework runs it by itself, in one process: what a placed step has to equal."""

    def __init__(self, command, module):
        backend = module.Backend("cpu")
        self.leaves = backend.reference(*model(module, command["graph"], command["parameters"]))

    def result(self, leaf):
        return _array_message(self.leaves[leaf])


def gpu_state():
    """Driver and clock of the GPU of this process, if nvidia-smi says them."""
    import subprocess

    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm", "--format=csv,noheader,nounits"]
    query += ["-i", os.environ.get("CUDA_VISIBLE_DEVICES", "0")]
    try:
        line = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout.splitlines()[0]
        driver, clock = line.split(", ")
        return {"driver": driver, "clock_mhz": float(clock)}
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {"driver": None, "clock_mhz": None}


def _stays(outputs):
    return lambda: outputs


def _array_message(array):
    import numpy as np

    content = np.ascontiguousarray(array)
    message = {"dtype": str(content.dtype), "shape": list(content.shape)}
    return message, content.reshape(-1).view(np.uint8)


def _fault(error, no_memory):
    """What the driver hears of an error. `no_memory` is in those of the framework that are about memory."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, ExecuteError):
        return {"kind": error.kind, "message": text}
    if isinstance(error, MemoryError) or no_memory in str(error) or "out of memory" in str(error).lower():
        message = f"a device has too little memory: {text[:300]}: use a smaller --set of the model, or more devices"
        return {"kind": "memory", "message": message}
    kind = "worker_died" if isinstance(error, (Closed, Refused)) else "kernel"
    return {"kind": kind, "message": f"{type(error).__name__}: {text[:500]}"}


def _cores(text):
    return [int(core) for core in text.split(",")] if text else None


def _parser(name):
    token = f"Serve one device of a run. The run's token is in {TOKEN}."
    parser = argparse.ArgumentParser(prog=f"placebench_extract worker {name}", description=token)
    listen = "where the driver and other devices connect; port 0 picks one. Without it, torchrun's rendezvous tells the others, and rank 0 prints --hosts"
    parser.add_argument("--listen", metavar="ADDRESS:PORT", help=listen)
    parser.add_argument("--kind", choices=("cpu", "gpu"), default="cpu", help="what the device is (default: %(default)s)")
    parser.add_argument("--cores", type=_cores, metavar="LIST", help="processor cores to keep to, such as 0 or 2,3 (default: all)")
    parser.add_argument("--gpu", type=int, metavar="K", help="which GPU of this host, of those that CUDA_VISIBLE_DEVICES names (default: the number of this process, if torchrun or Slurm started it)")
    parser.add_argument("--serve", action="store_true", help="begin anew after each run, until stopped")
    return parser
