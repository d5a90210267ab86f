"""A decoder like GPT-2 (Radford et al. 2019). GPT-2 XL is in `published.py`."""

import jax

from . import Network, constant, integers, weight
from .fused import kit


def build(batch=4, length=128, layers=8, width=384, heads=6, vocabulary=2048, fused=0):
    parts = kit(fused)
    params = {
        "embedding": {"token": weight(vocabulary, width), "position": weight(length, width)},
        **{f"layer_{k}": _layer(width) for k in range(layers)},
        "head": {"scale": constant(width, value=1.0), "offset": constant(width)},
    }
    inputs = {"tokens": integers(batch, length, below=vocabulary), "labels": integers(batch, length, below=vocabulary)}

    def block(x, w):
        n = parts.layer_norm(x, w["norm1_scale"], w["norm1_offset"])
        split = lambda name: (n @ w[name] + w[f"{name}_bias"]).reshape(batch, length, heads, width // heads)  # noqa: E731
        mixed = parts.attend(split("query"), split("key"), split("value"), causal=True).reshape(batch, length, width)
        x = x + mixed @ w["output"] + w["output_bias"]
        n = parts.layer_norm(x, w["norm2_scale"], w["norm2_offset"])
        return x + parts.gelu(n @ w["up"] + w["up_bias"]) @ w["down"] + w["down_bias"]

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = p["embedding"]["token"][inputs["tokens"]] + p["embedding"]["position"]
        for k in range(layers):
            with jax.named_scope(f"layer_{k}"):
                x = block(x, p[f"layer_{k}"])
        with jax.named_scope("head"):
            return parts.layer_norm(x, p["head"]["scale"], p["head"]["offset"]) @ p["embedding"]["token"].T

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return parts.cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)


def _layer(width):
    square = {f"{name}": weight(width, width) for name in ("query", "key", "value", "output")}
    return {
        **square,
        **{f"{name}_bias": constant(width) for name in square},
        "up": weight(width, 4 * width),
        "up_bias": constant(4 * width),
        "down": weight(4 * width, width),
        "down_bias": constant(width),
        **{f"norm{i}_scale": constant(width, value=1.0) for i in (1, 2)},
        **{f"norm{i}_offset": constant(width) for i in (1, 2)},
    }
