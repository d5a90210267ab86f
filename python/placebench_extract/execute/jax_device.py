"""JAX: how a device computes with it, and where its models are. `frameworks.py` says what a framework has to have."""

from .. import jax_models
from ..jaxgraph import runtime
from .exchange import Exchange
from .protocol import ExecuteError
from .sockets import Sockets

TITLE = "JAX"
models = jax_models
NO_MEMORY = "RESOURCE_EXHAUSTED"
GRAPHS = ["gpt2", "unet"]
ALIGNMENT = 64  # JAX then uses received memory as it is


def prepare(kind, cores, gpu):
    """Sets up this process as one device. Nothing may have imported JAX, or NumPy, which counts the cores as well."""
    runtime.prepare(kind, cores, gpu)


def flatten(program):
    """The flat graph of a step."""
    from ..jaxgraph import flatten, values

    return flatten.flatten(program.function, values.abstract(program.arguments), program.resident)


def synthetic(seed, sizes):
    """A random step."""
    from .synthetic_jax import program

    return program(seed, sizes)


def costs(call):
    """Operations and bytes of a call."""
    from ..jaxgraph import costs

    return costs.operations(call), costs.bytes_moved(call)


class Backend:
    """JAX and its device in this process. A value is an array on the device."""

    def __init__(self, kind):
        try:
            self.jax = runtime.load(cache=True)
        except runtime.MissingJax as error:
            raise ExecuteError("unsupported", str(error)) from None
        try:
            self.device = self.jax.local_devices()[0]
        except (RuntimeError, AssertionError) as error:  # the latter: the installed JAX knows no such platform
            reason = str(error) or "this JAX was installed without it, see docs/EXTRACT.md"
            raise ExecuteError("unsupported", f"JAX finds no {kind.upper()} here: {reason.splitlines()[0]}") from None
        self.software = f"jax {self.jax.__version__}"

    def exchange(self, rank, addresses, door, token, folder):
        """What moves tensors to and from the other devices. Those of one host may meet in a folder."""
        return Exchange(self, Sockets(rank, addresses, door, token), [peer for peer in range(len(addresses)) if peer != rank])

    def gpu_name(self):
        """What the GPU is called."""
        return self.device.device_kind

    def gpu_memory(self):
        """How many bytes the GPU lets this process use, or None if it does not say so."""
        return (self.device.memory_stats() or {}).get("bytes_limit")

    def arguments(self, program, flat, ops):
        """The values of those ops that are arguments or constants: op -> value."""
        from ..jaxgraph import values

        arrays, found = values.leaves(program.arguments), {}
        for op in ops:
            described = flat.ops[op]
            if described.argument is not None:
                value = values.draw(flat.argument_names[described.argument], arrays[described.argument])
            elif described.equation is None:
                value = described.constant
            else:
                continue
            found[op] = self._put(value)
        self.wait(list(found.values()))
        return found

    def compile(self, call):
        """The function of a call, from values to a tuple of values. It is compiled and was called once, on zeros."""
        import numpy as np

        function = self.jax.jit(call.function())
        self.wait(function(*self._inputs(call, np.zeros)))
        return function

    def example(self, call):
        """Values to measure a call with: ones."""
        import numpy as np

        return self._inputs(call, np.ones)

    def tiny(self):
        """A function that computes next to nothing, and its values. It was called once."""
        import numpy as np

        function, inputs = self.jax.jit(lambda x: (x + 1.0,)), [self._put(np.float32(1.0))]
        function(*inputs)
        return function, inputs

    def sample(self, size):
        """A tensor of `size` bytes to measure connections with: its description and its value."""
        import numpy as np

        from ..jaxgraph.flatten import Output

        value = self._put(np.ones(size, np.uint8))
        self.wait(value)
        return Output((size,), np.dtype(np.uint8)), value

    def wait(self, values):
        """Returns when a value, or every one of a list or tuple, is there."""
        self.jax.block_until_ready(values)

    def to_bytes(self, value):
        """The bytes of a value as they are sent."""
        import numpy as np

        return memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8))

    def buffer(self, output):
        """Memory for the bytes of a described tensor. Each tensor gets its own."""
        import numpy as np

        memory = np.empty(output.bytes + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return memory[start:start + output.bytes]

    def from_bytes(self, memory, output):
        """The value of received bytes, when it is there."""
        value = self._put(memory.view(output.dtype).reshape(output.shape))
        self.wait(value)
        return value

    def from_shared(self, memory, output):
        """As `from_bytes`, of memory that stays as it is until the step ends."""
        import numpy as np

        line = np.frombuffer(memory, np.uint8)
        if self.device.platform != "cpu":
            return self.from_bytes(line, output)
        # A compiled function takes it as it is, in a twentieth of the time that making an array of JAX takes.
        return line.view(output.dtype).reshape(output.shape)

    def result(self, ref, value):
        """The result `ref` of the graph as an array of NumPy. `value` is the output that it names."""
        import numpy as np

        return np.asarray(value)

    def reference(self, program, flat):
        """All results as arrays of NumPy, of the step as JAX runs it by itself, primitive by primitive."""
        import numpy as np

        from ..jaxgraph import values

        arguments = values.whole(program.arguments, flat.argument_names)
        with self.jax.disable_jit():
            trees = [self.jax.tree.map(self.jax.numpy.asarray, tree) for tree in arguments.values()]
            return [np.asarray(leaf) for leaf in self.jax.tree.leaves(program.function(*trees))]

    def _inputs(self, call, fill):
        return [self._put(fill(array.shape, array.dtype)) for array in call.arrays]

    def _put(self, array):
        return self.jax.device_put(array, self.device)
