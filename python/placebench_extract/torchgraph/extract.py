"""From a step in PyTorch to the folder with its graph and its costs."""

import os
import tomllib

from ..contents import LICENCE, command, contents as files, distinct
from ..machine import keep_memory
from ..measured import estimated, measured
from ..models import ModelError
from ..write import check_writable, write_folder
from . import runtime


def extract(name, out, analytic=False, overrides=None, progress=lambda message: None):
    """Traces, times and writes a model. Returns the folder. `analytic` measures nothing, so the size does not matter."""
    check_writable(out)
    cores = sorted(os.sched_getaffinity(0))[:1] if not analytic and hasattr(os, "sched_getaffinity") else None
    runtime.prepare("any", cores)
    if not analytic:
        keep_memory()
    runtime.load()
    from .. import torch_models

    progress("tracing")
    program = torch_models.build(name, **(overrides or {}))
    _check_same(out, torch_models.folder_name(program), program.name)
    found = contents(program, analytic, command(name, analytic, overrides or {}), progress)
    return write_folder(out, torch_models.folder_name(program), found)


def _check_same(out, name, model):
    """A folder of another model is not replaced."""
    file = os.path.join(out, name, "provenance.toml")
    if os.path.isfile(file):
        try:
            with open(file, "rb") as text:
                other = tomllib.load(text).get("model")
        except tomllib.TOMLDecodeError as error:
            raise ModelError(f"{file}: {error}: choose another --out") from None
        if other != model:
            raise ModelError(f"{os.path.join(out, name)} has the graph of {other}: choose another --out for {model}")


def contents(program, analytic=False, command="", progress=lambda message: None):
    """The files of a step's folder: name -> bytes."""
    import torch

    from ..torch_models import folder_name
    from . import costs
    from .flatten import flatten

    flat = flatten(program)
    provenance = {
        "name": folder_name(program),
        "model": program.name,
        "title": program.title,
        "licence": LICENCE,
        "command": command,
        "torch": torch.__version__,
    }
    return files(flat, costs, _times(distinct(flat), analytic, progress), provenance, program.parameters)


def _times(calls, analytic, progress):
    from . import costs

    if analytic:
        return estimated(costs, calls)
    import torch

    from ..machine import cpu_name
    from .timing import CallClock

    gpu = CallClock("cuda", torch.cuda.get_device_name(0)) if torch.cuda.is_available() else None
    return measured(costs, calls, CallClock("cpu", cpu_name()), gpu, progress)
