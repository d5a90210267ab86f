"""The models in JAX. A model is one file here and one line in `CATALOGUE`.

A model's file has a function `build(**sizes)` that returns a `Network`. Its keyword defaults are the model's
parameters. Besides them every model has `mode` (`training` or `inference`), `optimizer` (`adam`, `sgd`, or `fused_adam`,
which is one operation a weight) and `element` (`float32`, or `bfloat16` with weights and state of 32 bits beside those
that compute). Layers are named with `jax.named_scope`. `published.py` has models at the sizes that papers give.

The folder in the environment variable PLACEBENCH_JAX_MODELS holds models of one's own: `NAME.py` there is the model
NAME.
"""

import importlib
import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path

from ..models import ModelError, choose, defaults
from .published import PUBLISHED

CATALOGUE = {
    "gpt2": "Decoder like GPT-2: learned positions, layer norm, GELU (Radford 2019)",
    "llama": "Decoder like Llama: grouped queries, rotary positions, RMS norm, SwiGLU (Touvron 2023)",
    "moe": "Decoder with a mixture of experts, top-2 routing by dense dispatch (Lepikhin 2021)",
    "vit": "Vision transformer (Dosovitskiy 2021)",
    "unet": "U-Net of a diffusion model: convolutions, group norm, attention, time embedding (Ho 2020)",
    "mixtral": "Decoder with a mixture of experts that pick their tokens, top-2 (Jiang 2024)",
    "latent_diffusion": "U-Net of latent diffusion, with attention to a text (Rombach 2022)",
    "two_tower": "Recommender of two towers with tables of embeddings (Yi 2019)",
}
TITLE = "a model of one's own"
OWN_MODELS = "PLACEBENCH_JAX_MODELS"
OWN = f"for one of your own set {OWN_MODELS} to its folder"
MODES = ("training", "inference")
ELEMENTS = ("float32", "bfloat16")
STEP = {"mode": "training", "optimizer": "adam", "element": "float32"}  # parameters that every model has


@dataclass(frozen=True)
class Array:
    """An argument of the step: shape, type, and how its value is drawn.

    `value` is `("normal", scale)`, `("constant", number)` or `("integers", below)`.
    """

    shape: tuple
    dtype: str
    value: tuple


def weight(*shape, scale=0.02):
    """A weight drawn from a normal distribution."""
    return Array(shape, "float32", ("normal", scale))


def constant(*shape, value=0.0):
    """A weight that begins as a constant."""
    return Array(shape, "float32", ("constant", value))


def integers(*shape, below):
    """An input of integers in [0, below)."""
    return Array(shape, "int32", ("integers", below))


@dataclass
class Network:
    """What a model's file returns: trees of `Array`, and pure functions of their values."""

    params: dict
    inputs: dict
    forward: object  # (params, inputs) -> the answer in inference
    loss: object  # (params, inputs) -> scalar
    tables: object = None  # weights of which a step reads and changes some rows: see `two_tower`


@dataclass
class Program:
    """A step to extract or to run.

    `function` takes the trees of `arguments` in order and returns a dict of trees. Arguments named in `resident` stay
    in memory between steps. A result with the name of a resident argument replaces it after the step.
    """

    name: str
    title: str
    parameters: dict
    function: object
    arguments: dict
    resident: tuple
    is_published: bool = False


def names():
    """All models: those of the catalogue, those of published sizes, then one's own."""
    return [*CATALOGUE, *PUBLISHED, *(path.stem for path in _own_files())]


def parameters(name):
    """The parameters of a model with their defaults."""
    return {**defaults(_module(name).build), **STEP, **(PUBLISHED[name].parameters if name in PUBLISHED else {})}


def build(name, **overrides):
    """The step of a model. The same arguments give the same step."""
    chosen = choose(name, parameters(name), overrides)
    mode, optimizer = chosen["mode"], chosen["optimizer"]
    if mode not in MODES:
        raise ModelError(f"{name}: mode is {mode!r}; it is one of {', '.join(MODES)}")
    network = _module(name).build(**{key: value for key, value in chosen.items() if key not in STEP})
    if not isinstance(network, Network):
        raise ModelError(f"{name}: build returned a {type(network).__name__}, not a Network of placebench_extract.jax_models")
    if chosen["element"] not in ELEMENTS:
        raise ModelError(f"{name}: element is {chosen['element']!r}; it is one of {', '.join(ELEMENTS)}")
    function, arguments, resident = _step(name, network, mode, optimizer, chosen["element"])
    title = PUBLISHED[name].title if name in PUBLISHED else CATALOGUE.get(name, TITLE)
    title += f", training step, {optimizer}" if mode == "training" else ", inference"
    return Program(name, title, chosen, function, arguments, resident, name in PUBLISHED)


def folder_name(program):
    """The name of the graph: that of the model, and of the mode if it does not train."""
    return program.name if program.parameters["mode"] == "training" else f"{program.name}_inference"


def model_of(graph_name):
    """The model of a graph's name, if there is one."""
    return next((name for name in (graph_name, graph_name.removesuffix("_inference")) if name in names()), None)


def _step(name, network, mode, optimizer, element):
    from . import optimizers

    if mode == "inference":
        return _inference(network, element)
    if optimizer not in optimizers.OPTIMIZERS:
        raise ModelError(f"{name}: optimizer is {optimizer!r}; it is one of {', '.join(optimizers.OPTIMIZERS)}")
    return optimizers.training_step(network, optimizer, element)


def _inference(network, element):
    params, inputs = of_element(network.params, element), of_element(network.inputs, element)
    if network.tables is None:
        def infer(params, inputs):
            return {"answer": network.forward(params, inputs)}

        return infer, {"params": params, "inputs": inputs}, ("params",)
    tables = network.tables

    def infer_rows(params, tables_, inputs):
        return {"answer": tables.forward(params, tables.embed(tables_, inputs))}

    return infer_rows, {"params": params, "tables": tables.tables, "inputs": inputs}, ("params", "tables")


def of_element(tree, element):
    """The tree with its arrays of floats in another type."""
    if isinstance(tree, dict):
        return {name: of_element(branch, element) for name, branch in tree.items()}
    return replace(tree, dtype=element) if tree.dtype == "float32" else tree


def _own_files():
    folder = os.environ.get(OWN_MODELS)
    if not folder:
        return []
    if not Path(folder).is_dir():
        raise ModelError(f"{OWN_MODELS} is {folder!r}, which is no folder")
    return sorted(path for path in Path(folder).glob("*.py") if path.stem not in (*CATALOGUE, *PUBLISHED))


def _module(name):
    if name in PUBLISHED:
        name = PUBLISHED[name].model
    if name in CATALOGUE:
        return importlib.import_module(f"{__name__}.{name}")
    path = next((path for path in _own_files() if path.stem == name), None)
    if path is None:
        raise ModelError(f"unknown model {name!r}; known: {', '.join(names())}")
    spec = importlib.util.spec_from_file_location(f"{__name__}.own_{name}", path)
    module = importlib.util.module_from_spec(spec)
    module.__package__ = __name__
    spec.loader.exec_module(module)
    if not callable(getattr(module, "build", None)):
        raise ModelError(f"{path} has no function build: it takes sizes, with defaults, and returns a Network (EXTRACT has an example)")
    return module
