"""JAX, set up so that a device computes with the cores that it is given and with nothing else.

`prepare` has to run before anything imports JAX: XLA reads the flags and counts the cores once.
"""

import os
import sys

from .. import gpus


def prepare(kind="cpu", cores=None, gpu=None):
    """Sets up this process as one device: a CPU device with its cores, a GPU by its number, or `any` that there is."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    if kind == "gpu":
        os.environ["JAX_PLATFORMS"] = "cuda"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        if gpu is not None:
            gpus.choose(gpu)
    else:
        if kind == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        threads = "true" if cores and len(cores) > 1 else "false"
        flags = f"--xla_cpu_multi_thread_eigen={threads}"
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), flags]).strip()
        if cores and len(cores) == 1:
            os.environ["PJRT_NPROC"] = "1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def load(cache=False):
    """JAX with the settings that every part of this package needs.

    With `cache`, compiled operations are kept in the user's cache folder: each process of each run needs the same.
    """
    try:
        import jax
    except ImportError as error:
        raise MissingJax(missing(error)) from None
    # An operation of a CPU device runs in the thread that calls it, so its device does one thing at a time.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_default_matmul_precision", "highest")  # a GPU's own default rounds inputs to 10 bits
    if cache:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        jax.config.update("jax_compilation_cache_dir", os.path.join(home, "placebench", f"jax-{jax.__version__}"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return jax


def missing(error):
    """What to do about an import that failed."""
    return f"JAX is missing for this Python: pip install 'placebench[jax]' ({error}; {sys.executable})"


class MissingJax(Exception):
    """JAX cannot be imported."""
