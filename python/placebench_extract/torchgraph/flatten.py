"""A step in PyTorch becomes a flat list of operations: one for each argument, each constant and each ATen call."""

import copy
import logging
import os
import traceback
import warnings
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from ..flat import Flat, Literal, Op, Ref, TraceError, finish
from ..models import ModelError
from ..torch_models import convert, tensors_of
from .calls import Geometry, extent, itemsize
from .modules import Modules
from .recorder import Recorder, storage_of
from .seeds import Draws

# What goes wrong with fake tensors is said once, by an error.
logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)

KINDS = {"params": "parameter", "state": "state", "buffers": "state", "inputs": "input"}


@dataclass(frozen=True)
class Seen(Ref):
    """A result that is a view of an operation's output."""

    view: Geometry = None


def flatten(program):
    """The graph of a step. A step that cannot become one is a `TraceError`."""
    mode = _Mode()
    step = _begin(program, mode)
    with mode, Draws() as draws:
        made = program.make(step)
        modules = Modules(step.module)
        recorder = Recorder(modules.layer, draws)
        sources = {}
        for name, tensor in made.arguments.items():
            if storage_of(tensor) in recorder.versions:
                _check_covered(recorder, name, tensor)  # it stands for both
                continue
            kind = KINDS[name.split("/")[0]]
            sources[name] = recorder.add_argument(Op(kind, [], [], argument=len(sources), name=name), tensor, kind != "input")
        try:
            with modules, recorder:
                found = program.step(made, modules.forget)
        except (TraceError, ModelError, MemoryError):
            raise
        except Exception as error:  # whatever the user's code raises
            layer = modules.layer()
            raise TraceError(f"the step{f' (in {layer})' if layer else ''} of {program.name} fails: {_said(error)}") from error
        results = {name: _result(recorder, value) for name, value in found.items()}
        for name, tensor in made.resident().items():
            if name in sources and name not in results:
                now = _result(recorder, tensor)
                if now != Ref(sources[name], 0):  # the step has changed it: running means of a batch norm
                    results[name] = now
    if not any(op.equation for op in recorder.ops):
        raise TraceError(f"{program.name} computes nothing")
    flat = Flat(recorder.ops, list(results.values()), list(results), list(sources))
    return finish(flat, list(sources.values()), ("params", "state", "buffers"))


class _Mode(FakeTensorMode):
    """Fake tensors whose deep copies are of the same mode."""

    def __deepcopy__(self, memo):
        return self


def _begin(program, mode):
    """The model with fake tensors, whose sizes need no memory; one that looks at values is made for real first."""
    try:
        with mode, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")  # deep copies do
            step = program.begin()
        # PyTorch 1.13 copies fake tensors into what is none.
        is_whole = all(tensor.device.type != "meta" or isinstance(tensor, FakeTensor) for tensor in tensors_of(step))
    except (ModelError, TraceError):
        raise
    except Exception:  # values that a fake tensor does not have; what else it is, the second try says
        is_whole = False
    if not is_whole:
        try:
            step = program.begin()
        except (ModelError, TraceError):
            raise
        except Exception as error:
            raise TraceError(f"build() of {program.name} fails: {_said(error)}") from error
    # What was made before build() ran is real, too, and stays so.
    if not all(isinstance(tensor, FakeTensor) for tensor in step.module.state_dict(keep_vars=True).values()):
        try:
            step.module = copy.deepcopy(step.module)
        except RuntimeError as error:  # of weights that another operation made, such as those of weight_norm in PyTorch 1.13
            raise TraceError(f"the module of {program.name} cannot be copied: {_said(error)}: a newer PyTorch may") from error
    convert(step, lambda tensor: tensor if isinstance(tensor, FakeTensor) else mode.from_tensor(tensor))
    return step


def _check_covered(recorder, name, tensor):
    """A view of another argument has to lie within what that one shows."""
    ref = recorder.versions[storage_of(tensor)]
    known = recorder.ops[ref.op]
    array = known.outputs[0]
    end = (tensor.storage_offset() + extent(tensor.shape, tensor.stride())) * itemsize(tensor.dtype)
    if end > extent(array.shape, array.strides) * itemsize(array.dtype):
        raise TraceError(f"{name} and {known.name} are parts of one memory: give one of them a copy")


def _said(error):
    """What an error of the user's code says, in one line, and where it was raised there."""
    text = " ".join(str(error).split())[:300] or "(no message)"
    if "Please convert all Tensors to FakeTensors" in text or "non-Fake Tensor inputs" in text:
        text = "it reads a tensor that was made outside of it: register it as a buffer, or make it an input"
    else:
        text = f"{type(error).__name__}: {text}"
    inner = [os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(__file__))]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not any(f.filename.startswith(folder) for folder in inner)]
    return f"{text} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else text


def _result(recorder, value):
    if not isinstance(value, torch.Tensor):
        return Literal(value)
    ref, view = recorder.read(value)
    return ref if view is None else Seen(ref.op, ref.port, view)
