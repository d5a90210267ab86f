"""Problems of PyTorch's models for the driver."""

from pathlib import Path

from step_problem import problem_of

MLP = str(Path(__file__).parent / "own_models_torch" / "mlp.py")


def flat_graph(name, **settings):
    from placebench_extract import torch_models
    from placebench_extract.torchgraph.flatten import flatten

    program = torch_models.build(name, **settings)
    return program, flatten(program)


def problem(name, place, folder=None, devices=2, mode="replay", repetitions=2, **settings):
    """A problem in which op k of n is on device `place(k)`. A model of one's own needs a `folder`, as the extractor writes it."""
    program, flat = flat_graph(name, **settings)
    if folder is not None:
        (Path(folder) / "provenance.toml").write_text(f'model = "{program.name}"\n')
    return problem_of(str(folder or name), flat, program.parameters, place, devices, mode, repetitions)
