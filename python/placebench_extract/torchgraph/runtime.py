"""PyTorch, set up so that a device computes with the cores that it is given and with nothing else.

`prepare` has to run before anything imports PyTorch: OpenMP reads its settings once.
"""

import os
import sys

from .. import gpus

OLDEST = (1, 13)


def prepare(kind="cpu", cores=None, gpu=None):
    """Sets up this process as one device: a CPU device with its cores, a GPU by its number, or `any` that there is."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    threads = str(len(cores) if cores else 1)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = threads
    if kind == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    elif gpu is not None:
        gpus.choose(gpu)


def load():
    """PyTorch with the settings that every part of this package needs."""
    try:
        import numpy  # noqa: F401
        import torch
    except ImportError as error:
        raise MissingTorch(missing(error)) from None
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        raise MissingTorch(f"PyTorch {torch.__version__} is too old: this needs {'.'.join(map(str, OLDEST))} or later")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return torch


def missing(error):
    """What to do about an import that failed."""
    what = "NumPy" if getattr(error, "name", None) == "numpy" else "PyTorch"
    return f"{what} is missing for this Python: pip install 'placebench[torch]' ({error}; {sys.executable})"


class MissingTorch(Exception):
    """PyTorch cannot be imported, or is too old."""
