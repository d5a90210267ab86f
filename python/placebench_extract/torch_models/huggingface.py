"""Models of the library transformers, from their configuration alone: no weights and no network.

The name after `huggingface:` is a type of model (`bert`, `llama`, `t5`, …), whose default configuration is used, or a file
`config.json`, or a folder with one. Numbers of the configuration are parameters, so `--set num_hidden_layers=2` works.
`task` is what the model answers: `masked`, `causal`, `translation` or `images`; `auto` takes what its `architectures` say, or else
the first that it can.
"""

import json
import os
import sys

from ..models import ModelError
from . import Step

TASKS = {
    "translation": "AutoModelForSeq2SeqLM",
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
    "images": "AutoModelForImageClassification",
}
SIZES = {"batch": 2, "length": 128, "task": "auto"}


def builder(name):
    """The function that builds the model. Its attribute `parameters` has the parameters and their defaults."""
    config = _config(name)
    numbers = {key: value for key, value in config.to_dict().items() if type(value) in (int, float)}

    def build(batch, length, task, **sizes):
        import transformers

        # Numbers that follow from others are made anew, so only what was changed is said.
        config = _config(name, {key: value for key, value in sizes.items() if value != numbers[key]})
        config.use_cache = False
        config.architectures = config.architectures or []
        if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
            config.decoder_start_token_id = getattr(config, "pad_token_id", None) or 0
        chosen = _task(name, config, task)
        module = getattr(transformers, TASKS[chosen]).from_config(config)
        return Step(module, _inputs(chosen, config, batch, length), _loss, _answer)

    build.parameters = {**numbers, **SIZES}
    return build


def _loss(module, inputs):
    return module(**inputs).loss


def _answer(module, inputs):
    given = {name: tensor for name, tensor in inputs.items() if name != "labels"}
    if module.config.is_encoder_decoder:
        given["decoder_input_ids"] = inputs["labels"]
    return module(**given).logits


def _inputs(task, config, batch, length):
    import torch

    if task == "images":
        side = getattr(config, "image_size", 224)
        height, width = side if isinstance(side, (list, tuple)) else (side, side)
        pixels = torch.randn(batch, getattr(config, "num_channels", 3), height, width)
        return {"pixel_values": pixels, "labels": torch.randint(config.num_labels, (batch,))}
    draw = lambda: torch.randint(config.vocab_size, (batch, length))  # noqa: E731
    return {"input_ids": draw(), "labels": draw()}


def _task(name, config, task):
    import transformers

    if task == "auto":
        able = [task for task, auto in TASKS.items() if type(config) in getattr(transformers, auto)._model_mapping.keys()]
        said = [task for task in able if _class_of(config, TASKS[task]) in (config.architectures or [])]
        if not able:
            raise ModelError(f"huggingface:{name} has none of the tasks {', '.join(TASKS)}: build it in a file of your own")
        return (said or able)[0]
    if task not in TASKS:
        raise ModelError(f"huggingface:{name}: task is {task!r}; it is one of auto, {', '.join(TASKS)}")
    if type(config) not in getattr(transformers, TASKS[task])._model_mapping.keys():
        raise ModelError(f"huggingface:{name} cannot do the task {task!r}")
    return task


def _class_of(config, auto):
    import transformers

    found = getattr(transformers, auto)._model_mapping[type(config)]
    return (found[0] if isinstance(found, tuple) else found).__name__


def _config(name, changed=None):
    """The configuration of a type of model or of a file, with some numbers changed."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import transformers
    except ImportError as error:
        raise ModelError(f"models of Hugging Face need transformers: pip install transformers ({error}; {sys.executable})") from None
    if not name:
        raise ModelError("huggingface: names no model: add a type, as in huggingface:bert, or the path of a config.json")
    known, kind = {}, name
    if os.path.exists(name) or name.endswith(".json") or os.sep in name:
        file = os.path.join(name, "config.json") if os.path.isdir(name) else name
        try:
            with open(file, encoding="utf-8") as text:
                known = json.load(text)
        except (OSError, ValueError) as error:
            raise ModelError(f"{file} is no configuration: {error}") from None
        kind = known.pop("model_type", None) if isinstance(known, dict) else None
        if not isinstance(kind, str):
            raise ModelError(f"{file} is no configuration: it has no model_type")
        if kind not in transformers.CONFIG_MAPPING:
            raise ModelError(f"{file}: transformers {transformers.__version__} knows no model_type {kind!r}")
    if kind not in transformers.CONFIG_MAPPING:
        raise ModelError(f"huggingface:{name} is no file and no type of model that transformers {transformers.__version__} knows")
    try:
        return transformers.CONFIG_MAPPING[kind](**{**known, **(changed or {})})
    except Exception as error:  # each type of model has its own checks
        raise ModelError(f"huggingface:{name} has no such configuration: {str(error).strip().splitlines()[-1]}") from None
