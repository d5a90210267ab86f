"""PyTorch: how a device computes with it, and where its models are. `frameworks.py` says what a framework has to have."""

from .. import torch_models
from ..torchgraph import runtime
from .exchange import Direct
from .gloo import Gloo
from .protocol import ExecuteError

TITLE = "PyTorch"
models = torch_models
NO_MEMORY = "can't allocate memory"
GRAPHS = ["seq2seq", "detector"]


def prepare(kind, cores, gpu):
    """Sets up this process as one device. Nothing may have imported PyTorch, whose threads read their settings once."""
    runtime.prepare(kind, cores, gpu)


def flatten(program):
    """The flat graph of a step."""
    runtime.load()
    from ..torchgraph.flatten import flatten

    return flatten(program)


def synthetic(seed, sizes):
    """A random step."""
    from .synthetic_torch import program

    return program(seed, sizes)


def costs(call):
    """Operations and bytes of a call."""
    from ..torchgraph import costs

    return costs.operations(call), costs.bytes_moved(call)


class Backend:
    """PyTorch and its device in this process. A value is a tensor on the device.

    A GPU's tensors pass through the memory of its host, so that processes may share a GPU.
    """

    def __init__(self, kind):
        try:
            self.torch = runtime.load()
        except runtime.MissingTorch as error:
            raise ExecuteError("unsupported", str(error)) from None
        if kind == "gpu" and not self.torch.cuda.is_available():
            raise ExecuteError("unsupported", f"PyTorch {self.torch.__version__} finds no GPU here")
        self.device = self.torch.device("cuda" if kind == "gpu" else "cpu")
        self.torch.set_grad_enabled(False)  # in this thread: a step runs operations from below automatic differentiation
        self.software = f"torch {self.torch.__version__}"

    def exchange(self, rank, addresses, door, token, folder):
        """What moves tensors to and from the other devices. Those of one host meet in a folder."""
        return Direct(self, Gloo(rank, addresses, door, token, folder), [peer for peer in range(len(addresses)) if peer != rank])

    def gpu_name(self):
        """What the GPU is called."""
        return self.torch.cuda.get_device_name(self.device)

    def gpu_memory(self):
        """How many bytes the GPU lets this process use."""
        return self.torch.cuda.mem_get_info(self.device)[0]

    def arguments(self, program, flat, ops):
        """The values of those ops that are arguments or constants: op -> value."""
        made, found = program.make(program.begin()), {}
        for op in ops:
            described = flat.ops[op]
            if described.argument is not None:
                value = made.arguments[flat.argument_names[described.argument]].detach()
                output = described.outputs[0]
                if (tuple(value.shape), value.stride(), value.dtype) != (output.shape, output.strides, output.dtype):
                    message = f"{described.name} is {value.dtype}{list(value.shape)}, but {output.dtype}{list(output.shape)} in the trace"
                    raise ExecuteError("unsupported", f"{message}, which has a fault of {self.software} in it: use a newer PyTorch")
                found[op] = value.to(self.device)
            elif described.equation is None:
                found[op] = described.constant.to(self.device)
        return found

    def compile(self, call):
        """The function of a call, from values to a tuple of values. It was called once."""
        function = call.function(self.device)
        try:
            made = function(*self.example(call))
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
            return function  # it does not take the values that we made up; those of the step may be others
        for output, value in zip(call.outputs, made):
            if value is not None and value.numel() and (tuple(value.shape), value.dtype) != (output.shape, output.dtype):
                message = f"{call.type} makes {value.dtype}{list(value.shape)}, but {output.dtype}{list(output.shape)} in the trace"
                raise ExecuteError("unsupported", f"{message}: a fault of {self.software}'s fake tensors; another version may have none")
        self.wait(made)
        return function

    def example(self, call):
        """Values to measure a call with."""
        from ..torchgraph.timing import examples

        return examples(call, call.function(self.device), self.device)

    def tiny(self):
        """A function that computes next to nothing, and its values. It was called once."""
        function, values = lambda x: (x + 1.0,), [self.torch.ones((), device=self.device)]
        self.wait(function(*values))
        return function, values

    def sample(self, size):
        """A tensor of `size` bytes to measure connections with: its description and its value."""
        from ..torchgraph.calls import Output

        value = self.torch.ones(size, dtype=self.torch.uint8, device=self.device)
        return Output((size,), (1,), self.torch.uint8), value

    def wait(self, values):
        """Returns when a value, or every one of a list or tuple, is there."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def to_bytes(self, value):
        """The bytes of a value as they are sent: its memory as it lies, or what a view shows of it in the order of its shape."""
        from ..torchgraph.calls import compact, is_dense

        shape, strides = compact(value.shape, value.stride()), value.stride()
        value = value.as_strided(shape, strides)
        if is_dense(shape, strides):
            line = value.as_strided((value.numel(),), (1,))
        else:
            line = value.contiguous().reshape(-1)
        return line.cpu().view(self.torch.uint8)

    def buffer(self, output):
        """Where the transport puts the bytes of a described tensor."""
        return []

    def from_bytes(self, memory, output):
        """The value of received bytes, when it is there. It has the strides that it had at the sender."""
        from ..torchgraph.calls import compact, is_dense, laid

        line = memory[0].view(output.dtype).to(self.device)
        shape = compact(output.shape, output.strides)
        if not is_dense(shape, output.strides):
            line = laid(line.reshape(shape), output.strides)
        return line.as_strided(output.shape, output.strides)

    def from_shared(self, memory, output):
        """As `from_bytes`, of memory that stays as it is until the step ends."""
        line = self.torch.frombuffer(memory, dtype=self.torch.uint8) if len(memory) else self.torch.empty(0, dtype=self.torch.uint8)
        return self.from_bytes([line], output)

    def result(self, ref, value):
        """The result `ref` of the graph as an array of NumPy. `value` is the output that it names."""
        view = getattr(ref, "view", None)
        return self._array(value if view is None else view.of(value))

    def reference(self, program, flat):
        """All results as arrays of NumPy, of the step as PyTorch runs it by itself."""
        from ..torchgraph.seeds import Draws, Seeds

        made = program.make(program.begin())
        with Draws() as draws, Seeds(draws):
            found = program.step(made)
        found = {**made.resident(), **found}
        return [self._array(found[name]) for name in flat.result_names]

    def _array(self, value):
        value = value.detach().cpu()
        return (value.float() if value.dtype == self.torch.bfloat16 else value).numpy()
