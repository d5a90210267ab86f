"""Which step a graph comes from."""

import tomllib
from pathlib import Path

from ..flat import TraceError
from ..models import ModelError, read_settings
from . import synthetic
from .protocol import ExecuteError


def model(module, graph, parameters):
    """The step of a graph's name or folder, and its flat graph. `module` is the framework's."""
    if graph == synthetic.GRAPH:
        program = module.synthetic(int(parameters["seed"]), int(parameters["sizes"]))
        return program, module.flatten(program)
    folder = Path(graph).parent if Path(graph).is_file() else Path(graph)
    models = module.models
    try:
        name = _provenance(folder).get("model", models.model_of(folder.name))
        if not isinstance(name, str):
            known = ", ".join(models.names())
            remedy = f"the {module.TITLE} models are {known}; {models.OWN}"
            raise ExecuteError("unsupported", f"{graph} is no graph of a {module.TITLE} model: {remedy}")
        program = models.build(name, **read_settings(name, models.parameters(name), parameters))
        return program, module.flatten(program)
    except (ModelError, TraceError, OSError) as error:
        raise ExecuteError("problem", f"{graph}: {error}") from None


def parameters_of(module, graph):
    """The parameters that a folder of the extractor was made with; those of a model's name are its defaults."""
    provenance = _provenance(Path(graph))
    if provenance:
        return {key: str(value) for key, value in provenance.get("parameters", {}).items()}
    name = module.models.model_of(Path(graph).name)
    return {"mode": "inference"} if name and name != Path(graph).name else {}


def _provenance(folder):
    """What a folder says about where it is from, if it says so."""
    file = folder / "provenance.toml"
    try:
        if file.is_file():  # of the extractor
            return tomllib.loads(file.read_text())
        file = folder / "graph.toml"  # native, as a calibration writes it
        return tomllib.loads(file.read_text()).get("provenance", {}) if file.is_file() else {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ExecuteError("problem", f"{file}: {error}") from None
