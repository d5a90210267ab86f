"""The catalogue of models. A model is one file here and one line in `CATALOGUE`.

A model's file has a function `build(layer, rng, **parameters)` that adds the model to the default
graph and returns a `Parts`. Its keyword defaults are the model's parameters. `layer("name")` is a
context: the operations made inside it belong to that layer.
"""

import importlib
import inspect
from dataclasses import dataclass

CATALOGUE = {
    "convnet": "Convolutional network on MNIST digits, Adam (Laich 2017, convolutional_network)",
    "recurrent": "LSTM over the 28 rows of an MNIST digit, Adam (Laich 2017, recurrent_network)",
    "dynamic_rnn": "LSTM over sequences of varying length, with conditionals (Laich 2017, dynamic_rnn)",
    "lstm_lm": "Two-layer LSTM language model, unrolled (Zaremba 2014; Bahnmueller 2018)",
    "nmt": "Sequence-to-sequence translation with attention, unrolled (Luong 2017; Bahnmueller 2018)",
    "resnet50": "ResNet-50 on ImageNet-sized images, momentum (He 2016)",
    "transformer": "Transformer encoder of BERT-base size, masked-word loss, Adam (Devlin 2019)",
}


class ModelError(ValueError):
    """A model or a parameter that does not exist, or a value that does not fit."""


@dataclass
class Parts:
    """What a model hands back: the operations to run and the arrays to feed."""

    train: object
    init: object
    feeds: dict  # placeholder tensor -> numpy array; its shape fixes the placeholder's


@dataclass
class Model:
    """A built model: the graph, the names in it that matter, and the layer of its forward operations."""

    name: str
    title: str
    parameters: dict
    graph: object
    train: str
    init: str
    feeds: dict  # placeholder name -> numpy array
    layers: dict  # operation name -> layer


def check_value(name, key, value, default):
    """Refuses text for a number, a number for text, and what is no size where the default is one."""
    if isinstance(value, str) != isinstance(default, str):
        wanted = "text" if isinstance(default, str) else "a number"
        raise ModelError(f"{name}: {key} is {wanted}, not {value!r}")
    if isinstance(default, int) and isinstance(value, float):
        raise ModelError(f"{name}: {key} is a whole number, not {value!r}")
    if isinstance(default, int) and default >= 1 and value < 1:
        raise ModelError(f"{name}: {key} is at least 1, not {value!r}")


def defaults(function):
    """The keyword parameters of a function with their defaults."""
    return {key: p.default for key, p in inspect.signature(function).parameters.items() if p.default is not p.empty}


def choose(name, known, overrides):
    """The parameters of a model, some of them changed."""
    for key, value in overrides.items():
        if key not in known:
            raise ModelError(f"{name} has no parameter {key!r}; it has {', '.join(known)}")
        check_value(name, key, value, known[key])
    return {**known, **overrides}


def read_settings(name, known, texts):
    """Parameters from text, as provenance and the command line have them."""
    unknown = next((key for key in texts if key not in known), None)
    if unknown is not None:
        raise ModelError(f"{name} has no parameter {unknown!r}; it has {', '.join(known)}")
    try:
        return {key: type(known[key])(text) for key, text in texts.items()}
    except ValueError as error:
        raise ModelError(f"{name}: a parameter has a value that is no number: {error}") from None


def parameters(name):
    """The parameters of a model with their defaults."""
    return defaults(_module(name).build)


def build(name, **overrides):
    """Builds a model in a graph of its own. The same arguments give the same graph, byte for byte."""
    import numpy as np

    from ..layers import LayerScopes
    from ..tf import tf, v1

    chosen = choose(name, parameters(name), overrides)
    graph = tf.Graph()
    with graph.as_default():
        v1.set_random_seed(1)
        scopes = LayerScopes(graph)
        parts = _module(name).build(scopes, np.random.default_rng(1), **chosen)
    feeds = {tensor.op.name: array for tensor, array in parts.feeds.items()}
    return Model(name, CATALOGUE[name], chosen, graph, parts.train.name, parts.init.name, feeds, scopes.layer_of)


def _module(name):
    if name not in CATALOGUE:
        raise ModelError(f"unknown model {name!r}; known: {', '.join(CATALOGUE)}")
    return importlib.import_module(f"{__name__}.{name}")
