"""Records the ATen operations of a step as it runs with fake tensors, which have shapes and no memory.

It sees what PyTorch dispatches below automatic differentiation: forward, backward and optimizer. `make_fx` sees the same,
but neither the module nor the storage of an operation. Tensors of one storage are one memory here:

- A view is no operation. Who reads it reads the memory, see `calls.py`. But a view of fewer elements than the memory has
  is an operation (of no cost) as soon as somebody reads it: another device is sent the part and not the whole.
- An operation that writes in place makes a new version of the memory. The same operation without the underscore stands for
  it where there is one; else it works on a copy.
"""

import torch
from torch._subclasses import fake_tensor
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from ..flat import Op, Ref, TraceError
from .calls import Call, Geometry, Output, SliceCall, Slot, aten_name, flat_leaves, value_key
from .seeds import is_random

# They change how a tensor sees its memory, which is looked up when it is read.
VIEWS_IN_PLACE = {"squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "as_strided_", "detach_"}
# Operations that write without saying so in their signature: positions of what they write.
SILENT_WRITES = {"native_batch_norm": (3, 4), "rrelu_with_noise": (1,)}
# Operations that answer with a number or a truth of Python.
ASKS = {"_local_scalar_dense", "equal", "is_nonzero", "allclose", "item"}
NO_DATA = ("DataDependentOutputException", "DynamicOutputShapeException")


class Recorder(TorchDispatchMode):
    """The mode that records. `layer` answers the layer of what runs now."""

    def __init__(self, layer, draws):
        super().__init__()
        self.layer, self.draws = layer, draws
        self.ops = []
        self.versions = {}  # storage -> its Ref now
        self.views = {}  # (storage, geometry) -> the name of the view that made it
        self.slices = {}
        self.kept = []  # tensors: a storage's address must not be used again

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = aten_name(function)
        if name.startswith("prim."):
            return function(*args, **kwargs)
        writes = _writes(function, name, args, kwargs)
        if name in VIEWS_IN_PLACE:
            return function(*args, **kwargs)
        if name in ("resize_", "set_"):
            raise TraceError(f"{self._where()} gives a tensor another memory ({name}), which a graph cannot hold: make a new tensor")
        if name.startswith("quantize"):
            raise TraceError(f"{self._where()} quantizes a tensor ({name}), which a trace cannot hold")
        if any(isinstance(leaf, torch.Generator) for leaf in (*args, *kwargs.values())):
            raise TraceError(f"{self._where()} draws from a generator of its own ({name}): draw from the default one")
        reads = _Reads(self)
        template = reads.template((list(args), kwargs))
        try:
            if name in ASKS and getattr(args[0], "constant", None) is None:
                self._refuse_values(name)  # PyTorch 1.13 would make one up
            made = function(*args, **kwargs)
        except Exception as error:
            if type(error).__name__ in NO_DATA:
                self._refuse_values(name)
            raise
        self._record(function, name, reads, template, writes, made, args, kwargs)
        return made

    def _refuse_values(self, name):
        text = f"{self._where()} asks for the values of a tensor ({name}), which a trace does not have"
        raise TraceError(f"{text}: make shapes and branches depend on shapes alone") from None

    def add_argument(self, op, tensor, stays):
        """An argument of the step, and whether it stays in memory between steps. Returns its number."""
        if tensor.storage_offset():
            raise TraceError(f"{op.name} is part of a larger tensor: give it a copy")
        op.outputs = [described(tensor)]
        op.memory_bytes = op.outputs[0].bytes if stays else 0
        self.kept.append(tensor)
        self.ops.append(op)
        self.versions[storage_of(tensor)] = Ref(len(self.ops) - 1, 0)
        return len(self.ops) - 1

    def read(self, tensor, whole=False):
        """Where a tensor's memory comes from now, and how the tensor sees it (None: as it lies).

        Of a view of fewer elements, the memory is this part, unless the `whole` memory is asked for.
        """
        storage = storage_of(tensor)
        if storage not in self.versions:
            self._constant(tensor, storage)
        if tensor.is_conj() or tensor.is_neg():
            raise TraceError(f"{self._where()} reads a lazy conjugate or negative: call resolve_conj() or resolve_neg() before")
        ref = self.versions[storage]
        array = self.ops[ref.op].outputs[ref.port]
        geometry = _geometry(tensor)
        if geometry == Geometry(array.shape, array.strides, 0, array.dtype):
            return ref, None
        if whole or geometry.bytes >= array.bytes or geometry.dtype != array.dtype:
            return ref, geometry
        return self._slice(ref, array, geometry, storage)

    def _slice(self, ref, array, geometry, storage):
        """The operation that is the part of a memory which a view shows, and how the view sees this part."""
        if not geometry.elements:
            geometry = Geometry(geometry.shape, geometry.strides, 0, geometry.dtype)
        dims = sorted((stride, size) for stride, size in zip(geometry.strides, geometry.shape) if stride and size > 1)
        reach = 1
        for stride, size in dims:
            if stride < reach:
                return ref, geometry  # parts of the view overlap
            reach = 1 + (size - 1) * stride + (reach - 1)
        if not geometry.elements:
            dims = [(1, 0)]
        part = Geometry(tuple(size for _, size in reversed(dims)), tuple(stride for stride, _ in reversed(dims)), geometry.offset, geometry.dtype)
        key = ref, part
        if key not in self.slices:
            name = self.views.get((storage, geometry), "slice")
            call = SliceCall(name, array, part, Output(part.shape, part.strides, part.dtype))
            self.slices[key] = self._add(Op(name, [ref], call.outputs, call))
        seen = Geometry(geometry.shape, geometry.strides, 0, geometry.dtype)
        same = (seen.shape, seen.strides) == (part.shape, part.strides)
        return Ref(self.slices[key], 0), None if same else seen

    def _record(self, function, name, reads, template, writes, made, args, kwargs):
        leaves = flat_leaves(made)
        written = [storage_of(tensor) for tensor in writes]
        known = {storage_of(tensor) for tensor in reads.tensors}
        fresh = []
        for k, leaf in enumerate(leaves):
            if not isinstance(leaf, torch.Tensor):
                continue
            self.kept.append(leaf)
            storage = storage_of(leaf)
            if storage in written:
                continue
            if storage in known or storage in self.versions:
                self._note_view(name, leaf, storage, reads.tensors)
                continue
            fresh.append((k, leaf, storage))
        if not fresh and not writes:
            return
        seed = None
        if is_random(function):
            seed = self.draws.next()
        if name == "lift_fresh":  # hands a constant on
            self.versions[fresh[0][2]] = self.read(reads.tensors[0])[0]
            return
        reads.resolve(written)
        functional = self._functional(function, args, kwargs, writes, leaves, reads) if seed is None and not fresh else None
        if functional is not None:
            outputs = [self._output_of(written[0])]
            call = Call(functional, template, reads.arrays, reads.views, None, (), outputs)
            op = self._add(Op(call.type, reads.refs, outputs, call))
            self.versions[written[0]] = Ref(op, 0)
            return
        if len(set(written)) < len(written):
            raise TraceError(f"{self._where()} writes several views of one memory at once ({name}): write them one by one")
        positions = [reads.position(tensor) for tensor in writes]
        outputs = [described(leaf) for _, leaf, _ in fresh] + [reads.arrays[k] for k in positions]
        for _, leaf, _ in fresh:
            if leaf.storage_offset():
                raise TraceError(f"{name} makes a tensor that is part of a larger one")
        picks = None if isinstance(made, torch.Tensor) and fresh else [k for k, _, _ in fresh]
        call = Call(function, template, reads.arrays, reads.views, picks, tuple(positions), outputs, seed)
        op = self._add(Op(call.type, reads.refs, outputs, call))
        for port, storage in enumerate([storage for _, _, storage in fresh] + written):
            self.versions[storage] = Ref(op, port)

    def _note_view(self, name, view, storage, tensors):
        """Remembers what made a part of a memory: the view by which it became smaller."""
        before = next((_geometry(tensor) for tensor in tensors if storage_of(tensor) == storage), None)
        if before is not None and before.elements == _geometry(view).elements:
            name = self.views.get((storage, before), name)
        self.views[storage, _geometry(view)] = name

    def _functional(self, function, args, kwargs, writes, leaves, reads):
        """The operation that makes what this one writes, if it writes all of one memory, as it lies."""
        if len(writes) != 1 or len(leaves) != 1 or reads.views[reads.position(writes[0])] is not None:
            return None
        name = function._schema.name
        if not name.endswith("_") or not name.startswith("aten::"):
            return None
        packet = getattr(torch.ops.aten, name[len("aten::"):-1], None)
        found = getattr(packet, function._overloadname, None) if packet is not None else None
        if found is None or len(found._schema.arguments) != len(function._schema.arguments):
            return None
        # Without the underscore the result may have another type: that of a comparison, or that which the operands have together.
        made = found(*args, **kwargs)
        return found if isinstance(made, torch.Tensor) and (made.shape, made.dtype) == (writes[0].shape, writes[0].dtype) else None

    def _output_of(self, storage):
        ref = self.versions[storage]
        return self.ops[ref.op].outputs[ref.port]

    def _constant(self, tensor, storage):
        """A tensor that nothing has made here: its value has to be known."""
        value = getattr(tensor, "constant", None) if isinstance(tensor, fake_tensor.FakeTensor) else tensor
        if value is None:
            raise TraceError(
                f"{self._where()} reads a tensor that is no parameter, buffer or input and that the step has not made: "
                "register it as a buffer, or make it in the step"
            )
        with no_dispatch():
            value = value.detach().clone()
            op = Op("constant", [], [described(tensor)], constant=value, constant_key=value_key(value))
        op.memory_bytes = op.outputs[0].bytes
        self.kept.append(tensor)
        self.versions[storage] = Ref(self._add(op), 0)

    def _add(self, op):
        op.layer = self.layer()
        self.ops.append(op)
        return len(self.ops) - 1

    def _where(self):
        layer = self.layer()
        return f"the step (in {layer})" if layer else "the step"


class _Reads:
    """The tensors among the arguments of a call."""

    def __init__(self, recorder):
        self.recorder, self.tensors = recorder, []
        self.refs = self.views = self.arrays = None

    def template(self, value):
        """The arguments with slots for tensors."""
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return Slot(len(self.tensors) - 1)
        if isinstance(value, dict):
            return {key: self.template(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return (list if isinstance(value, list) else tuple)(self.template(part) for part in value)
        return value

    def resolve(self, written):
        """Finds the memories. Those that are `written` are whole."""
        found = [self.recorder.read(tensor, storage_of(tensor) in written) for tensor in self.tensors]
        self.refs = [ref for ref, _ in found]
        self.views = [view for _, view in found]
        self.arrays = [self.recorder.ops[ref.op].outputs[ref.port] for ref in self.refs]

    def position(self, tensor):
        return next(k for k, other in enumerate(self.tensors) if other is tensor)


def _writes(function, name, args, kwargs):
    """The tensors that an operation writes."""
    found = []
    for k, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write or k in SILENT_WRITES.get(name, ()):
            value = args[k] if k < len(args) else kwargs.get(argument.name)
            found += [leaf for leaf in flat_leaves(value) if isinstance(leaf, torch.Tensor)]
    if name == "native_batch_norm" and not args[5]:
        return []  # only in training
    return found


def storage_of(tensor):
    """What tells the memory of a tensor from others."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage._cdata


def described(tensor):
    """The description of a tensor that lies in memory of its own."""
    return Output(tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def _geometry(tensor):
    return Geometry(tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype)
