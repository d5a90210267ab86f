"""The frameworks that devices compute with. All else about a run is the same: `driver.py`, `worker.py`, `calibrate.py`.

A framework is a module here and a line in `FRAMEWORKS`. The module does not import the framework before `prepare` has run.
It has

- `TITLE`, `NO_MEMORY`, `GRAPHS`: what people call it, what its errors say if memory is short, what a calibration measures;
- `models`: a package of models like `jax_models`;
- `prepare(kind, cores, gpu)`: sets up this process as one device;
- `flatten(program)`: the `Flat` of a model's step;
- `synthetic(seed, sizes)`: a random step, as a model's (`synthetic.py`);
- `costs(call)`: operations and bytes of a call;
- `Backend(kind)`: the framework in a prepared process, with its device. See the one of JAX.
"""

import importlib

FRAMEWORKS = {"jax": ".jax_device", "torch": ".torch_device"}


def framework(name):
    """The module of a framework."""
    return importlib.import_module(FRAMEWORKS[name], __package__)
