"""A device of a run: a process that computes its part of the step, and moves tensors to and from the other devices.

The main thread runs operations, one at a time. For each other device there is a thread that sends to it and one that
receives from it. Commands come from the driver (`jax_driver.py`); without its connection the process ends.
"""

import argparse
import gc
import heapq
import os
import queue
import struct
import sys
import threading
import time
from pathlib import Path

from ..jaxgraph import runtime
from ..machine import cpu_name, keep_memory
from . import jax_plan
from .clock import now, wait_until
from .protocol import ExecuteError
from .wire import Channel, Closed, Door, Refused, dial, receive_exactly

TOKEN = "PLACEBENCH_TOKEN"
FRAME = struct.Struct("<QQQ")  # step, transfer, bytes
CONNECT_SECONDS = 60
ALIGNMENT = 64  # JAX then uses received memory as it is



def main(arguments):
    options = _parser().parse_args(arguments)
    token = os.environ.pop(TOKEN, "")
    if not token:
        raise ExecuteError("problem", f"a worker needs the run's token in the environment variable {TOKEN}")
    cores = [int(core) for core in options.cores.split(",")] if options.cores else None
    runtime.prepare(options.kind, cores, options.gpu)
    keep_memory()
    host, _, port = options.listen.rpartition(":")
    try:
        door = Door(token, host.strip("[]"), int(port))
    except (OSError, ValueError) as error:
        raise ExecuteError("problem", f"cannot listen on {options.listen}: {error}") from None
    print(door.port, flush=True)
    control = Channel(door.accept("driver", None))
    end = lambda: os._exit(0)  # noqa: E731
    if options.serve:
        os.environ[TOKEN] = token
        end = lambda: os.execv(sys.executable, [sys.executable, "-m", "placebench_extract", "worker", "jax", *arguments])  # noqa: E731
    _serve(control, door, token, options.kind, cores, end)


def _serve(control, door, token, kind, cores, end):
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
                device = Reference(command)
                control.send({"ready": True})
            elif command["do"] == "setup":
                device = Device(command, door, token, kind, cores)
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
            control.send({"error": {"kind": _kind(error), "message": _message(error)}})
            time.sleep(60)  # the driver ends this process
        finally:
            end()


class Device:
    """This process's part of the graph."""

    def __init__(self, command, door, token, kind, cores):
        jax = self.jax = runtime.load(cache=True)
        self.rank, self.kind, self.cores = command["rank"], kind, cores
        try:
            self.device = jax.local_devices()[0]
        except (RuntimeError, AssertionError) as error:  # the latter: the installed JAX knows no such platform
            reason = str(error) or "this JAX was installed without it, see docs/EXTRACT.md"
            raise ExecuteError("unsupported", f"JAX finds no {kind.upper()} here: {reason.splitlines()[0]}") from None
        self.arrivals = queue.SimpleQueue()
        self.peers, self.outboxes = {}, {}
        self.expected = {}  # transfer -> (slot, from, output), of the plan that runs
        self.number = 0  # of the step that runs
        self.traced = False
        self.sent, self.received, self.bytes_received = {}, {}, 0
        program, self.flat = model(command["graph"], command["parameters"])
        jax_plan.check_names(self.flat, command["graph_ops"])
        self.plans = [
            jax_plan.plan(self.flat, p["placement"], p["order"], p["transfers"], p["mode"], self.rank)
            for p in command["plans"]
        ]
        self._connect(command["addresses"], door, token)
        self._load(program)
        self._compile()
        # Collecting garbage would become part of an operation's time: it is done between steps, and what the graph
        # takes is left out.
        gc.collect()
        gc.freeze()
        gc.disable()

    def _connect(self, addresses, door, token):
        """One connection to each other device: the later one dials."""
        for peer, address in enumerate(addresses):
            if peer < self.rank:
                connection = dial(token, address, f"device {self.rank}", CONNECT_SECONDS)
            elif peer > self.rank:
                connection = door.accept(f"device {peer}", CONNECT_SECONDS)
            else:
                continue
            channel = Channel(connection)
            self.peers[peer] = channel
            self.outboxes[peer] = queue.SimpleQueue()
            threading.Thread(target=self._send, args=[channel, self.outboxes[peer]], daemon=True).start()
            threading.Thread(target=self._receive, args=[channel, peer], daemon=True).start()

    def _load(self, program):
        """Puts the arguments and constants of this device's operations there."""
        from ..jaxgraph import values

        arrays = values.leaves(program.arguments)
        self.values = {}
        for op in sorted({task.op for plan in self.plans for task in plan.tasks}):
            described = self.flat.ops[op]
            if described.argument is not None:
                value = values.draw(self.flat.argument_names[described.argument], arrays[described.argument])
            elif described.equation is None:
                value = described.constant
            else:
                continue
            self.values[op] = self.jax.device_put(value, self.device)
        self.jax.block_until_ready(list(self.values.values()))

    def _compile(self):
        """Compiles every distinct equation once, and calls it once: a step then only runs."""
        import numpy as np

        compiled, self.functions = {}, [None] * len(self.flat.ops)
        for op in sorted({task.op for plan in self.plans for task in plan.tasks}):
            equation = self.flat.ops[op].equation
            if equation is None:
                self.functions[op] = _stays((self.values[op],))
                continue
            if equation.key not in compiled:
                function = self.jax.jit(equation.function())
                zeros = [self.jax.device_put(np.zeros(array.shape, array.dtype), self.device) for array in equation.arrays]
                self.jax.block_until_ready(function(*zeros))
                compiled[equation.key] = function
            self.functions[op] = compiled[equation.key]
        self.compiled = compiled

    def describe(self):
        results = [[ref.op, ref.port] if isinstance(ref, _ref()) else None for ref in self.flat.results]
        gpu = None
        if self.kind == "gpu":
            gpu = {"name": self.device.device_kind, **gpu_state()}
        return {
            "software": f"jax {self.jax.__version__}",
            "model": cpu_name(),
            "cores": self.cores,
            "gpu": gpu,
            "memory": self._memory(),
            "results": results,
            "result_names": self.flat.result_names,
        }

    def _memory(self):
        """Bytes that this device may use, as far as the system says."""
        stats = self.device.memory_stats() if self.kind == "gpu" else None
        if stats and "bytes_limit" in stats:
            return stats["bytes_limit"]
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    # A step.

    def step(self, command):
        """Runs a step that begins at the time `at` on this process's clock."""
        plan = self.plans[command["plan"]]
        self.expected, self.traced = plan.arrivals, command["traced"]
        self.sent, self.received, self.bytes_received = {}, {}, 0
        self.op_times = [] if self.traced else None
        self.number = command["number"]  # from here on, receiving threads take its tensors
        try:
            late = now() > command["at"]
            wait_until(command["at"])
            busy = time.process_time_ns()
            run = self._replay if plan.mode == "replay" else self._dynamic
            self.slots = run(plan, command["number"])
            self.jax.block_until_ready([value for value in self.slots if value is not None])
            end = now()
            busy = time.process_time_ns() - busy
        finally:
            gc.collect()
        answer = {"end": end, "late": late, "busy": busy, "bytes": self.bytes_received}
        if self.traced:
            # The last tensor is here, but a sending thread may still have to note when it was done.
            wanted = sum(len(task.sends) for task in plan.tasks)
            while len(self.sent) < wanted:
                time.sleep(0.0005)
            answer |= {"ops": self.op_times, "sends": list(self.sent.items()), "receives": list(self.received.items())}
        return answer

    def _replay(self, plan, number):
        values = [None] * plan.slots
        for task in plan.tasks:
            for slot in task.waits:
                while values[slot] is None:
                    self._take(values, number)
            self._run(task, values, number)
            for slot in task.frees:
                values[slot] = None
        return values

    def _dynamic(self, plan, number):
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
            while not ready or not self.arrivals.empty():
                there(self._take(values, number))
            task = plan.tasks[heapq.heappop(ready)]
            outputs = self._run(task, values, number)
            for slot in range(task.first, task.first + outputs):
                there(slot)
                if slot in local and slot not in reading:
                    values[slot] = None
            for slot in set(task.inputs):
                reading[slot] -= 1
                if reading[slot] == 0 and slot in local:
                    values[slot] = None
        return values

    def _run(self, task, values, number):
        if self.traced:
            begin = now()
        outputs = self.functions[task.op](*[values[slot] for slot in task.inputs])
        if self.traced:
            self.jax.block_until_ready(outputs)
            self.op_times.append((task.op, begin, now()))
        first = task.first
        for port, output in enumerate(outputs):
            values[first + port] = output
        for port, transfer, peer in task.sends:
            self.outboxes[peer].put((number, transfer, outputs[port]))
        return len(outputs)

    def _take(self, values, number):
        """Waits for a tensor from another device. Returns its slot."""
        item = self.arrivals.get()
        if isinstance(item, Exception):
            raise item
        step, transfer, value = item
        if step != number:
            raise ExecuteError("kernel", f"transfer {transfer} of step {step} arrived in step {number}")
        slot = self.expected[transfer][0]
        values[slot] = value
        return slot

    # Tensors to and from other devices.

    def _send(self, channel, outbox):
        import numpy as np

        try:
            while True:
                number, transfer, value = outbox.get()
                begin = now()
                content = memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
                header = FRAME.pack(number, transfer, content.nbytes)
                done = channel.connection.sendmsg([header, content])
                if done < len(header):
                    channel.connection.sendall(header[done:])
                channel.connection.sendall(content[max(0, done - len(header)):])
                if self.traced:
                    self.sent[transfer] = (begin, now())
                del value, content
        except Exception as error:
            self.arrivals.put(_lost(error))

    def _receive(self, channel, peer):
        import numpy as np

        header = bytearray(FRAME.size)
        try:
            while True:
                receive_exactly(channel.connection, header)
                begin = now()
                number, transfer, size = FRAME.unpack(header)
                self._await_step(number)
                if transfer not in self.expected:
                    raise ExecuteError("kernel", f"transfer {transfer} of step {number} is not expected here")
                _, source, output = self.expected[transfer]
                if source != peer or size != output.bytes:
                    message = f"transfer {transfer} came from device {peer} with {size} bytes; expected {output.bytes} from {source}"
                    raise ExecuteError("kernel", message)
                memory = np.empty(size + ALIGNMENT, np.uint8)
                start = -memory.ctypes.data % ALIGNMENT
                content = memory[start:start + size]
                receive_exactly(channel.connection, content)
                value = self.jax.device_put(content.view(output.dtype).reshape(output.shape), self.device)
                value.block_until_ready()
                self.bytes_received += size
                if self.traced:
                    self.received[transfer] = (begin, now())
                self.arrivals.put((number, transfer, value))
        except Exception as error:
            self.arrivals.put(_lost(error))

    def _await_step(self, number):
        """Another device may begin a step a moment before this one knows of it."""
        end = time.monotonic() + CONNECT_SECONDS
        while self.number < number:
            if time.monotonic() > end:
                raise ExecuteError("kernel", f"a tensor of step {number} came, but step {self.number} runs")
            time.sleep(0.0001)

    # Results and measurements.

    def result(self, leaf):
        """A result of the last step that is on this device."""
        import numpy as np

        ref = self.flat.results[leaf]
        slot = sum(len(op.outputs) for op in self.flat.ops[:ref.op]) + ref.port
        return _array_message(np.asarray(self.slots[slot]))

    def measure(self, command):
        from . import jax_measure

        return getattr(jax_measure, command["what"])(self, command)


class Reference:
    """The step as JAX runs it by itself, primitive by primitive, in one process: what a placed step has to equal."""

    def __init__(self, command):
        jax = runtime.load(cache=True)
        from ..jaxgraph import values

        program, flat = model(command["graph"], command["parameters"])
        arguments = values.whole(program.arguments, flat.argument_names)
        with jax.disable_jit():
            trees = [jax.tree.map(jax.numpy.asarray, tree) for tree in arguments.values()]
            self.leaves = jax.tree.leaves(program.function(*trees))

    def result(self, leaf):
        import numpy as np

        return _array_message(np.asarray(self.leaves[leaf]))


def model(graph, parameters):
    """The step and the flat graph of a graph's name or folder."""
    import tomllib

    from .. import jax_models
    from ..jaxgraph import flatten, values
    from ..models import ModelError

    folder = Path(graph).parent if Path(graph).is_file() else Path(graph)
    name = jax_models.model_of(folder.name)
    provenance = folder / "provenance.toml"
    try:
        if provenance.is_file():
            name = tomllib.loads(provenance.read_text()).get("model", name)
        if name is None:
            known = ", ".join(jax_models.names())
            remedy = f"the JAX models are {known}; for one of your own set {jax_models.OWN_MODELS} to its folder"
            raise ExecuteError("unsupported", f"{graph} is no graph of a JAX model: {remedy}")
        program = jax_models.build(name, **jax_models.read_settings(name, parameters))
        return program, flatten.flatten(program.function, values.abstract(program.arguments), program.resident)
    except (ModelError, flatten.TraceError, OSError, tomllib.TOMLDecodeError) as error:
        raise ExecuteError("problem", f"{graph}: {error}") from None


def boot_id():
    """What tells hosts apart: processes of one boot share a clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


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


def _ref():
    from ..jaxgraph.flatten import Ref

    return Ref


def _stays(outputs):
    return lambda: outputs


def _array_message(array):
    import numpy as np

    content = np.ascontiguousarray(array)
    message = {"dtype": str(content.dtype), "shape": list(content.shape)}
    return message, content.reshape(-1).view(np.uint8)


def _lost(error):
    if isinstance(error, (ExecuteError, MemoryError)):
        return error
    if isinstance(error, (Closed, OSError)):
        return ExecuteError("worker_died", f"the connection to another device ended: {error}")
    return error


def _kind(error):
    if isinstance(error, ExecuteError):
        return error.kind
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower():
        return "memory"
    if isinstance(error, runtime.MissingJax):
        return "unsupported"
    return "worker_died" if isinstance(error, (Closed, Refused)) else "kernel"


def _message(error):
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, (ExecuteError, runtime.MissingJax)):
        return text
    if _kind(error) == "memory":
        return f"a device has too little memory: {text[:300]}: use a smaller --set of the model, or more devices"
    return f"{type(error).__name__}: {text[:500]}"


def _parser():
    parser = argparse.ArgumentParser(prog="placebench_extract worker jax", description=f"Serve one device of a run. The run's token is in {TOKEN}.")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT", help="where the driver and other devices connect; port 0 picks one")
    parser.add_argument("--kind", choices=("cpu", "gpu"), default="cpu", help="what the device is (default: %(default)s)")
    parser.add_argument("--cores", default="", metavar="LIST", help="processor cores to keep to, such as 0 or 2,3 (default: all)")
    parser.add_argument("--gpu", type=int, metavar="K", help="which GPU of this host")
    parser.add_argument("--serve", action="store_true", help="begin anew after each run, until stopped")
    return parser
