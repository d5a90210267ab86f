"""A vision transformer (Dosovitskiy et al. 2021). ViT-L/16 is in `published.py`."""

import jax
import jax.numpy as jnp

from . import Array, Network, constant, integers, weight
from .fused import kit


def build(batch=16, side=32, patch=4, layers=8, width=192, heads=6, classes=100, fused=0):
    parts = kit(fused)
    across = side // patch
    pixels = patch * patch * 3
    params = {
        "embedding": {"kernel": weight(pixels, width), "bias": constant(width), "position": weight(across**2, width)},
        **{f"layer_{k}": _layer(width) for k in range(layers)},
        "head": {
            "scale": constant(width, value=1.0),
            "offset": constant(width),
            "kernel": weight(width, classes),
            "bias": constant(classes),
        },
    }
    inputs = {
        "images": Array((batch, side, side, 3), "float32", ("normal", 1.0)),
        "labels": integers(batch, below=classes),
    }

    def block(x, w):
        n = parts.layer_norm(x, w["norm1_scale"], w["norm1_offset"])
        joint = (n @ w["joint"] + w["joint_bias"]).reshape(batch, across**2, 3, heads, width // heads)
        mixed = parts.attend(joint[:, :, 0], joint[:, :, 1], joint[:, :, 2], causal=False).reshape(batch, across**2, width)
        x = x + mixed @ w["output"] + w["output_bias"]
        n = parts.layer_norm(x, w["norm2_scale"], w["norm2_offset"])
        return x + parts.gelu(n @ w["up"] + w["up_bias"]) @ w["down"] + w["down_bias"]

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = inputs["images"].reshape(batch, across, patch, across, patch, 3)
            x = x.transpose(0, 1, 3, 2, 4, 5).reshape(batch, across**2, pixels)
            x = x @ p["embedding"]["kernel"] + p["embedding"]["bias"] + p["embedding"]["position"]
        for k in range(layers):
            with jax.named_scope(f"layer_{k}"):
                x = block(x, p[f"layer_{k}"])
        with jax.named_scope("head"):
            w = p["head"]
            return jnp.mean(parts.layer_norm(x, w["scale"], w["offset"]), 1) @ w["kernel"] + w["bias"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return parts.cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)


def _layer(width):
    return {
        "norm1_scale": constant(width, value=1.0),
        "norm1_offset": constant(width),
        "joint": weight(width, 3 * width),
        "joint_bias": constant(3 * width),
        "output": weight(width, width),
        "output_bias": constant(width),
        "norm2_scale": constant(width, value=1.0),
        "norm2_offset": constant(width),
        "up": weight(width, 4 * width),
        "up_bias": constant(4 * width),
        "down": weight(4 * width, width),
        "down_bias": constant(width),
    }
