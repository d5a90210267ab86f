"""JAX, set up so that a device computes with the cores that it is given and with nothing else.

`prepare` has to run before anything imports JAX: XLA reads the flags and counts the cores once.
"""

import os
import sys


def prepare(kind="cpu", cores=None, gpu=None):
    """Sets up this process as one device: a CPU device with its cores, or a GPU."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    if kind == "gpu":
        os.environ["JAX_PLATFORMS"] = "cuda"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        if gpu is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
    else:
        threads = "true" if cores and len(cores) > 1 else "false"
        flags = f"--xla_cpu_multi_thread_eigen={threads}"
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), flags]).strip()
        if cores and len(cores) == 1:
            os.environ["PJRT_NPROC"] = "1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def load():
    """JAX with the settings that every part of this package needs."""
    try:
        import jax
    except ImportError as error:
        message = "JAX is missing for this Python: pip install -r requirements-jax.txt"
        raise MissingJax(f"{message} ({error}; {sys.executable})") from None
    # An operation of a CPU device runs in the thread that calls it, so its device does one thing at a time.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_default_matmul_precision", "highest")  # a GPU's own default rounds inputs to 10 bits
    return jax


class MissingJax(Exception):
    """JAX cannot be imported."""
