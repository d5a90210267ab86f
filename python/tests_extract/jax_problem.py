"""Problems for the driver, made without its code."""

import os
from pathlib import Path

from step_problem import problem_of

OWN_MODELS = str(Path(__file__).parent / "own_models")
os.environ["PLACEBENCH_JAX_MODELS"] = OWN_MODELS


def flat_graph(name, **settings):
    from placebench_extract import jax_models
    from placebench_extract.jaxgraph import flatten, values

    program = jax_models.build(name, **settings)
    return program, flatten.flatten(program.function, values.abstract(program.arguments), program.resident)


def problem(name, place, devices=2, mode="replay", repetitions=2, **settings):
    """A problem in which op k of n is on device `place(k)`, in the order of ids."""
    program, flat = flat_graph(name, **settings)
    return problem_of(name, flat, program.parameters, place, devices, mode, repetitions)
