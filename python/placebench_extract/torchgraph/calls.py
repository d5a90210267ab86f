"""A call of an ATen operation: what it reads, how, and what it makes.

A tensor is the memory that an operation has filled. A view is no operation: whoever reads through it is given the memory
and the geometry of the view, so a view takes no time, sends nothing and holds no memory of its own. The recorder makes one
exception: see `recorder.py`.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import torch


@lru_cache(None)
def itemsize(dtype):
    """Bytes of an element."""
    return torch._utils._element_size(dtype)


@dataclass(frozen=True)
class Output:
    """Shape, strides (in elements) and type of an output."""

    shape: tuple
    strides: tuple
    dtype: torch.dtype

    @property
    def elements(self):
        return product(compact(self.shape, self.strides))

    @property
    def bytes(self):
        return self.elements * itemsize(self.dtype)


@dataclass(frozen=True)
class Geometry:
    """A view of memory: shape, strides and offset in elements of its type."""

    shape: tuple
    strides: tuple
    offset: int
    dtype: torch.dtype

    @property
    def elements(self):
        """Elements of the memory that the view shows: what it repeats counts once."""
        return product(compact(self.shape, self.strides))

    @property
    def bytes(self):
        return self.elements * itemsize(self.dtype)

    def of(self, value):
        """The view of a tensor's memory."""
        if value.dtype != self.dtype:
            memory = value.as_strided((extent(value.shape, value.stride()),), (1,), value.storage_offset())
            value = memory.view(self.dtype)
        return value.as_strided(self.shape, self.strides, value.storage_offset() + self.offset)

    def __str__(self):
        return f"{self.dtype}{list(self.shape)}{list(self.strides)}+{self.offset}"


def product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def extent(shape, strides):
    """Elements from the first to the last of a strided tensor."""
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if all(shape) else 0


def is_dense(shape, strides):
    """Whether the elements fill their memory without holes, in whatever order."""
    return extent(shape, strides) == product(shape)


def compact(shape, strides):
    """The shape of what a tensor has in memory: what it repeats is there once."""
    return tuple(size if stride or not size else 1 for size, stride in zip(shape, strides))


@dataclass(frozen=True)
class Slot:
    """Stands for input `number` among the arguments of a call."""

    number: int


class Call:
    """An ATen operation with its arguments.

    `template` is (args, kwargs) with a `Slot` for each tensor. `arrays` are the memories that the tensors lie in, and
    `views` how each is seen (None: as it lies). `picks` are the positions of the made tensors among what the operation
    returns. `writes` are inputs that the operation changes: it is given copies of their memory, and these follow the made
    tensors as outputs. `seed` makes random numbers those of the unplaced step.
    """

    def __init__(self, function, template, arrays, views, picks, writes, outputs, seed=None):
        self.operation, self.template, self.arrays, self.views = function, template, arrays, views
        self.picks, self.writes, self.outputs, self.seed = picks, writes, outputs, seed
        self.type = aten_name(function)
        self.key = self._key()

    def function(self, device=None):
        """The function of the memories of `arrays`. It returns a tuple."""
        args, kwargs = self.template if device is None else on_device(self.template, device)
        operation, arrays, views, picks, writes, seed = self.operation, self.arrays, self.views, self.picks, self.writes, self.seed
        viewed = [(k, view) for k, view in enumerate(views) if view is not None]
        fits = _Layout(self.outputs)

        def call(*given):
            given = list(given)
            changed = []
            for k in writes:
                given[k] = laid(given[k], arrays[k].strides)
                changed.append(given[k])
            for k, view in viewed:
                given[k] = view.of(given[k])
            if seed is not None:
                torch.manual_seed(seed)
            made = operation(*[_fill(arg, given) for arg in args], **{key: _fill(arg, given) for key, arg in kwargs.items()})
            if picks is None:
                return fits((made, *changed))
            leaves = flat_leaves(made)
            return fits((*(leaves[k] for k in picks), *changed))

        return call

    def _key(self):
        inputs = [
            f"{array.dtype}{list(array.shape)}{list(array.strides)}" + (f" as {view}" if view else "")
            for array, view in zip(self.arrays, self.views)
        ]
        seed = "" if self.seed is None else f"; seed {self.seed}"
        return f"{self.operation}({_text(self.template)}; {', '.join(inputs)}{seed})"


class SliceCall:
    """Part of a memory: an operation that costs nothing, so that no more is sent than what is read."""

    def __init__(self, type, array, geometry, output):
        self.type, self.arrays, self.views, self.outputs = type, [array], [geometry], [output]
        self.key = f"slice({array.dtype}{list(array.shape)}{list(array.strides)} as {geometry})"

    def function(self, device=None):
        """The function of the memory. It returns a tuple."""
        geometry = self.views[0]
        return lambda value: (geometry.of(value),)


class _Layout:
    """Gives outputs the strides that the recorder saw, on which geometries rely. Mostly they have them."""

    def __init__(self, outputs):
        self.wanted = [output.strides for output in outputs]

    def __call__(self, made):
        if all(value is not None and value.stride() == wanted for value, wanted in zip(made, self.wanted)):
            return made
        return tuple(_fitted(value, wanted) for value, wanted in zip(made, self.wanted))


def _fitted(value, strides):
    """An output with the strides that were seen. Some are described and then not made: nobody reads these."""
    if value is None or value.dim() != len(strides) or value.stride() == strides:
        return value
    return laid(value, strides)


def laid(value, strides):
    """A copy of a tensor with these strides."""
    copy = torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)
    copy.copy_(value)
    return copy


def aten_name(function):
    """The name of an operation without its overload: `add`, `native_layer_norm`. That of another library has its name before it."""
    library, _, name = function._schema.name.partition("::")
    return name if library == "aten" else f"{library}.{name}"


def flat_leaves(value):
    """What an operation returns, as a flat list."""
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat_leaves(part)]
    return [value]


def on_device(value, device):
    """The arguments with every device replaced."""
    if isinstance(value, torch.device):
        return device
    if isinstance(value, dict):
        return {key: on_device(part, device) for key, part in value.items()}
    return type(value)(on_device(part, device) for part in value) if type(value) in (list, tuple) else value


def _fill(value, given):
    if type(value) is Slot:
        return given[value.number]
    if type(value) in (list, tuple):
        return type(value)(_fill(part, given) for part in value)
    return value


def _text(value):
    if isinstance(value, Slot):
        return f"${value.number}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={_text(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


def value_key(value):
    """Equal for equal constants."""
    content = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return f"{value.dtype}{list(value.shape)}{hashlib.sha256(content).hexdigest()[:16]}"
