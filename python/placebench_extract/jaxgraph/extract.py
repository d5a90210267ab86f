"""From a step in JAX to the folder with its graph and its costs."""

import os

from ..contents import LICENCE, Times, command, contents as files, distinct
from ..machine import keep_memory
from ..measured import estimated, measured
from ..write import check_writable, write_folder
from . import costs, runtime


def extract(name, out, analytic=False, overrides=None, progress=lambda message: None):
    """Builds, times and writes a model. Returns the folder. `analytic` measures nothing, so the size does not matter."""
    from .. import jax_models

    overrides = overrides or {}
    jax_models.parameters(name)  # an unknown name fails before JAX has started
    check_writable(out)
    if not analytic:
        cores = sorted(os.sched_getaffinity(0))[:1] if hasattr(os, "sched_getaffinity") else None
        runtime.prepare("any", cores)
        keep_memory()
    runtime.load()
    progress("tracing")
    program = jax_models.build(name, **overrides)
    return write_folder(out, jax_models.folder_name(program), contents(program, analytic, command(name, analytic, overrides), progress))


def contents(program, analytic=False, command="", progress=lambda message: None):
    """The files of a step's folder: name -> bytes."""
    import jax

    from ..jax_models import folder_name
    from .flatten import flatten
    from .values import abstract

    flat = flatten(program.function, abstract(program.arguments), program.resident)
    provenance = {
        "name": folder_name(program),
        "model": program.name,
        "title": program.title,
        "licence": LICENCE,
        "command": command,
        "jax": jax.__version__,
    }
    return files(flat, costs, _times(program, distinct(flat), analytic, progress), provenance, program.parameters)


def _times(program, calls, analytic, progress):
    if program.is_published:  # for machines of today: times follow from operations and bytes
        return Times(origin={"times": "none"})
    if analytic:
        return estimated(costs, calls)
    import jax

    from .timing import EquationClock

    cpu, gpu = jax.local_devices(backend="cpu")[0], _gpu()
    return measured(costs, calls, EquationClock(cpu), gpu and EquationClock(gpu), progress)


def _gpu():
    import jax

    try:
        return jax.local_devices(backend="gpu")[0]
    except RuntimeError:
        return None
