"""A step in PyTorch becomes a flat list of operations: one for each argument, each constant and each ATen call."""

from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from ..flat import Flat, Literal, Op, Ref, TraceError, finish
from ..torch_models import convert
from .calls import Geometry
from .modules import Modules
from .recorder import Recorder, storage_of


KINDS = {"params": "parameter", "state": "state", "buffers": "state", "inputs": "input"}


@dataclass(frozen=True)
class Seen(Ref):
    """A result that is a view of an operation's output."""

    view: Geometry = None


def flatten(program):
    """The graph of a step. A step that cannot become one is a `TraceError`."""
    mode = FakeTensorMode()
    step = _begin(program, mode)
    with mode:
        made = program.make(step)
        modules = Modules(step.module)
        recorder = Recorder(modules.layer)
        sources = {}
        for name, tensor in made.arguments.items():
            if storage_of(tensor) in recorder.versions:
                continue  # a view of another argument, which stands for both
            kind = KINDS[name.split("/")[0]]
            sources[name] = recorder.add_argument(Op(kind, [], [], argument=len(sources), name=name), tensor, kind != "input")
        with modules, recorder:
            found = program.step(made, modules.forget)
        results = {name: _result(recorder, value) for name, value in found.items()}
        for name, source in sources.items():
            now = recorder.versions[storage_of(made.arguments[name])]
            if name.startswith("buffers/") and now.op != source:  # changed in place: running means of a batch norm
                results[name] = now
    if not any(op.equation for op in recorder.ops):
        raise TraceError(f"{program.name} computes nothing")
    flat = Flat(recorder.ops, list(results.values()), list(results), list(sources))
    return finish(flat, list(sources.values()), ("params", "state", "buffers"))


def _begin(program, mode):
    """The model with fake tensors, whose sizes need no memory; one that looks at values is made for real first."""
    try:
        with mode:
            step = program.begin()
    except (NotImplementedError, RuntimeError, AssertionError) as error:
        try:
            step = program.begin()
        except MemoryError:
            raise TraceError(f"{program.name} cannot be made without values, and does not fit in memory: {str(error).splitlines()[0]}") from error
    # What was made before build() ran is real, too.
    convert(step, lambda tensor: tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor))
    return step


def _result(recorder, value):
    if not isinstance(value, torch.Tensor):
        return Literal(value)
    ref, view = recorder.read(value)
    return ref if view is None else Seen(ref.op, ref.port, view)
