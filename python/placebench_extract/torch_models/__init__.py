"""The models in PyTorch. A model is one file here and one line in `CATALOGUE`.

A model's file has a function `build(**sizes)` that returns a `Step`. Its keyword defaults are the model's parameters.
Besides them every model has `mode` (`training` or `inference`), `optimizer` (`adam` or `sgd`) and `element` (`float32`, or
`bfloat16` with weights and state of 32 bits beside those that compute).

A model of one's own needs no place here: its name is `FILE.py`, `FILE.py:function` or `module:function`, and
`huggingface:NAME` is a model of the library transformers, from its configuration alone (see `huggingface.py`).
"""

import contextlib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from ..models import ModelError, choose, defaults

CATALOGUE = {
    "seq2seq": "Encoder and decoder of transformer layers with attention between them (Vaswani 2017)",
    "graph_network": "Messages along the edges of a graph, with attention of each edge (Velickovic 2018)",
    "detector": "Detector with a residual backbone, a pyramid of features and two heads (Lin 2017)",
}
OTHERS = {
    "FILE.py": "the Step that build() in this file returns",
    "module:function": "the Step that this function returns",
    "huggingface:NAME": "a model of transformers: bert, llama, t5, …, or the path of a config.json",
}
TITLE = "a model of one's own"
OWN = "a graph of your own model is the folder that it was extracted to"
HUGGINGFACE = "huggingface"
MODES = ("training", "inference")
OPTIMIZERS = ("adam", "sgd")
ELEMENTS = ("float32", "bfloat16")
STEP = {"mode": "training", "optimizer": "adam", "element": "float32"}  # parameters that every model has
RATE = 1e-3
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # Adam (Kingma & Ba 2015)


class Step:
    """What a model's file returns: a module, the tensors that a step is given, and its loss.

    `inputs` is a dict of tensors, or a tuple. `loss(module, inputs)` answers a scalar, and `answer(module, inputs)` what
    inference answers; without it that is the module's own answer to the inputs.
    """

    def __init__(self, module, inputs, loss=None, answer=None):
        self.module, self.inputs, self.loss = module, inputs, loss
        self.answer = answer or (lambda module, inputs: module(**inputs) if isinstance(inputs, dict) else module(*inputs))


@dataclass
class Made:
    """A step whose tensors are there: fake, with shapes alone, or real."""

    step: Step
    arguments: dict  # name -> tensor: params/…, state/…, buffers/… and inputs/…

    def resident(self):
        """The weights and buffers as they are now: a step may have changed or exchanged some."""
        found = {f"params/{name}": tensor for name, tensor in self.step.module.named_parameters()}
        return found | {f"buffers/{name}": tensor for name, tensor in self.step.module.named_buffers()}


@dataclass
class Program:
    """A step to extract or to run."""

    name: str
    title: str
    parameters: dict
    build: object

    def begin(self):
        """What the model's file returns, with weights of the element type. With the same seed, the same values."""
        import torch

        torch.manual_seed(0)
        step = self.build()
        if not isinstance(step, Step):
            raise ModelError(f"{self.name}: build() returned {type(step).__name__}; it has to return placebench_extract.torch_models.Step")
        step.module.train(self.is_training)
        return step

    def make(self, step):
        """The step with all of its tensors."""
        import torch

        params = dict(step.module.named_parameters())
        state = self._state(params)
        if self.parameters["element"] != "float32":
            if int(torch.__version__.split(".")[0]) < 2:
                raise ModelError(f"{self.name}: bfloat16 needs PyTorch 2.0 or later; {torch.__version__} traces its norms with wrong types")
            element = getattr(torch, self.parameters["element"])
            convert(step, lambda tensor: tensor.to(element) if tensor.is_floating_point() else tensor)
            params = dict(step.module.named_parameters())
        arguments = {f"params/{name}": tensor for name, tensor in params.items()}
        arguments |= {f"state/{name}": tensor for name, tensor in state.items()}
        arguments |= {f"buffers/{name}": tensor for name, tensor in step.module.named_buffers()}
        arguments |= {f"inputs/{name}": tensor for name, tensor in named_inputs(step) if isinstance(tensor, torch.Tensor)}
        return Made(step, arguments)

    def step(self, made, after_backward=lambda: None):
        """Runs the step. Returns its results by name; one with the name of an argument replaces it after the step."""
        with _open_recurrence(made.step.module):
            return self._step(made, after_backward)

    def _step(self, made, after_backward):
        import torch

        if not self.is_training:
            with torch.no_grad():
                answer = made.step.answer(made.step.module, made.step.inputs)
            found = _named("answer", answer)
            if not found:
                raise ModelError(f"{self.name} answers {type(answer).__name__}: let it answer tensors, or a list or dict of tensors")
            return found
        if made.step.loss is None:
            raise ModelError(f"{self.name} has no loss: give its Step one, or set mode=inference")
        params = {name: p for name, p in made.step.module.named_parameters() if p.requires_grad}
        with torch.enable_grad():
            loss = made.step.loss(made.step.module, made.step.inputs)
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
                what = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
                if isinstance(loss, torch.Tensor) and loss.numel() == 1:
                    what = "a number without a gradient"
                raise ModelError(f"{self.name}: the loss is {what}; it has to be one number that follows from the weights")
            gradients = torch.autograd.grad(loss, list(params.values()), allow_unused=True)
        after_backward()
        results = {"loss": loss.detach()}
        with torch.no_grad():
            update = {"adam": _adam, "sgd": _sgd}[self.parameters["optimizer"]]
            state = {name[len("state/"):]: tensor for name, tensor in made.arguments.items() if name.startswith("state/")}
            used = {name: gradient for name, gradient in zip(params, gradients) if gradient is not None}
            results |= update({name: p.detach() for name, p in params.items()}, used, state)
        return results

    @property
    def is_training(self):
        return self.parameters["mode"] == "training"

    def _state(self, params):
        """What the optimizer keeps, as after some steps: the first divides a gradient by its own size."""
        import torch

        if not self.is_training:
            return {}
        state = {}
        trained = {name: p.detach() for name, p in params.items() if p.requires_grad}
        if self.parameters["element"] != "float32":
            state |= {f"weights/{name}": p.clone() for name, p in trained.items()}
        if self.parameters["optimizer"] == "adam":
            state["count"] = torch.full((), 100.0)
            state |= {f"mean/{name}": torch.zeros_like(p) for name, p in trained.items()}
            state |= {f"variance/{name}": torch.full_like(p, 1e-4) for name, p in trained.items()}
        return state


@contextlib.contextmanager
def _open_recurrence(module):
    """Has recurrent layers run as operations of their own. oneDNN's single one hands memory on that only it can read."""
    import torch

    was = []

    def close(*_):
        was.append(torch.backends.mkldnn.set_flags(False)[0])

    def reopen(*_):
        torch.backends.mkldnn.set_flags(was.pop())

    handles = []
    for part in module.modules():
        if isinstance(part, torch.nn.RNNBase):
            handles += [part.register_forward_pre_hook(close), part.register_forward_hook(reopen)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        if was:
            torch.backends.mkldnn.set_flags(was[0])


def _sgd(params, gradients, state):
    results = {}
    for name, gradient in gradients.items():
        results |= _replaced(name, params[name], state, lambda weight: weight - RATE * gradient.to(weight.dtype))  # noqa: B023
    return results


def _adam(params, gradients, state):
    import torch

    count = state["count"] + 1.0
    rate = RATE * (1.0 - torch.pow(SECOND, count)).sqrt() / (1.0 - torch.pow(FIRST, count))
    results = {"state/count": count}
    for name, gradient in gradients.items():
        gradient = gradient.to(state[f"mean/{name}"].dtype)
        mean = FIRST * state[f"mean/{name}"] + (1.0 - FIRST) * gradient
        variance = SECOND * state[f"variance/{name}"] + (1.0 - SECOND) * (gradient * gradient)
        results |= {f"state/mean/{name}": mean, f"state/variance/{name}": variance}
        change = rate * mean / (variance.sqrt() + TINY)
        results |= _replaced(name, params[name], state, lambda weight: weight - change)  # noqa: B023
    return results


def _replaced(name, param, state, change):
    """The next value of a weight, and of the one in 32 bits that it is a copy of."""
    kept = state.get(f"weights/{name}")
    if kept is None:
        return {f"params/{name}": change(param)}
    kept = change(kept)
    return {f"params/{name}": kept.to(param.dtype), f"state/weights/{name}": kept}


def convert(step, change):
    """Exchanges every tensor of a module and its inputs. `Module.to` cannot exchange fake ones."""
    import torch

    changed = {}

    def exchange(tensor):
        if not isinstance(tensor, torch.Tensor):
            return tensor
        if id(tensor) not in changed:
            new = change(tensor.detach())
            changed[id(tensor)] = torch.nn.Parameter(new, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else new
        return changed[id(tensor)]

    for part in step.module.modules():
        for held in (part._parameters, part._buffers):
            held.update({name: exchange(tensor) for name, tensor in held.items()})
    named = named_inputs(step)
    step.inputs = {k: exchange(v) for k, v in named} if isinstance(step.inputs, dict) else tuple(exchange(v) for _, v in named)


def tensors_of(step):
    """All tensors of a step's module, and its inputs."""
    import torch

    held = [*step.module.parameters(), *step.module.buffers()]
    return held + [value for _, value in named_inputs(step) if isinstance(value, torch.Tensor)]


def named_inputs(step):
    """The inputs of a step with their names, or positions."""
    return list(step.inputs.items() if isinstance(step.inputs, dict) else enumerate(step.inputs))


def _named(name, value):
    """The tensors of an answer, each with a name."""
    import torch

    if isinstance(value, torch.Tensor):
        return {name: value}
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        return {}
    return {key: tensor for part, inner in parts for key, tensor in _named(f"{name}/{part}", inner).items()}


def is_own(name):
    """Whether a name stands for a model that is not in the catalogue."""
    return ":" in name or name.endswith(".py")


def is_known(name):
    """Whether a name stands for a model in PyTorch, or should."""
    return name in CATALOGUE or is_own(name)


def names():
    """The models of the catalogue."""
    return list(CATALOGUE)


def parameters(name):
    """The parameters of a model with their defaults."""
    function = _function(name)
    own = getattr(function, "parameters", None)
    return {**(defaults(function) if own is None else own), **STEP}


def build(name, **overrides):
    """The step of a model. The same arguments give the same step."""
    chosen = choose(name, parameters(name), overrides)
    for key, allowed in (("mode", MODES), ("optimizer", OPTIMIZERS), ("element", ELEMENTS)):
        if chosen[key] not in allowed:
            raise ModelError(f"{name}: {key} is {chosen[key]!r}; it is one of {', '.join(allowed)}")
    function = _function(name)
    sizes = {key: value for key, value in chosen.items() if key not in STEP}
    title = CATALOGUE.get(name, TITLE)
    title += f", training step, {chosen['optimizer']}" if chosen["mode"] == "training" else ", inference"
    name = _found_from_anywhere(name)
    return Program(name, title, chosen, lambda: function(**sizes))


def _found_from_anywhere(name):
    """A name with an absolute path, where it has one."""
    path, colon, rest = name.partition(":")
    if path == HUGGINGFACE and Path(rest).exists():
        return f"{path}:{Path(rest).resolve()}"
    return f"{Path(path).resolve()}{colon}{rest}" if path.endswith(".py") else name


def folder_name(program):
    """The name of the graph: that of the model, and of the mode if it does not train."""
    name = program.name
    if is_own(name):
        path, _, function = name.partition(":")
        if path == HUGGINGFACE:
            file = Path(function)
            stem, function = path, file.parent.name if file.name == "config.json" else function
        else:
            stem = Path(path).stem if path.endswith(".py") else path.rpartition(".")[2]
        name = "_".join([stem] + ([Path(function).stem] if function and function != "build" else []))
        name = "".join(letter if letter.isalnum() else "_" for letter in name)
    return name if program.is_training else f"{name}_inference"


def model_of(graph_name):
    """The model of a graph's name, if there is one."""
    return next((name for name in (graph_name, graph_name.removesuffix("_inference")) if name in CATALOGUE), None)


def _function(name):
    """The function that builds a model."""
    if name in CATALOGUE:
        return importlib.import_module(f"{__name__}.{name}").build
    if not is_own(name) or name.startswith(":"):
        raise ModelError(f"unknown model {name!r}; known: {', '.join(CATALOGUE)}, FILE.py, module:function and {HUGGINGFACE}:NAME")
    module, _, function = name.partition(":")
    if module == HUGGINGFACE:
        from . import huggingface

        return huggingface.builder(function)
    loaded = _file(module) if module.endswith(".py") else _module(module)
    found = getattr(loaded, function or "build", None)
    if not callable(found):
        raise ModelError(f"{module} has no function {function or 'build'}()")
    return found


def _file(path):
    path = Path(path).resolve()
    name = f"placebench_model_{path.stem}"
    if getattr(sys.modules.get(name), "__file__", None) == str(path):
        return sys.modules[name]
    if not path.is_file():
        raise ModelError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))  # for what stands beside it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ModelError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelError(f"the module {name} cannot be imported: {error}: is it on PYTHONPATH?") from None
