"""The U-Net of a diffusion model (Ho et al. 2020): it predicts the noise in an image.

Each level has `blocks` residual blocks on the way down and as many on the way up, and half the pixels of the level
above. The lowest level has attention. The images are NHWC.
"""

import math

import jax
import jax.numpy as jnp

from . import Array, Network, constant, weight
from .parts import attend, silu


def build(batch=8, side=32, channels=3, width=32, levels=3, blocks=1, heads=4, groups=8):
    widths = [width * 2**level for level in range(levels)]
    time = 4 * width
    params = {
        "time": {"in": weight(width, time), "in_bias": constant(time), "out": weight(time, time), "out_bias": constant(time)},
        "input": _convolution(3, channels, width),
        "middle": {
            "first": _block(widths[-1], widths[-1], time),
            "attention": _attention(widths[-1]),
            "second": _block(widths[-1], widths[-1], time),
        },
        "output": {**_norm(width), **_convolution(3, width, channels)},
    }
    skips, inner = [width], width
    for level, outer in enumerate(widths):
        own = params[f"level_{level}"] = {}
        for k in range(blocks):
            own[f"down_{k}"] = _block(inner, outer, time)
            inner = outer
            skips.append(inner)
        if level + 1 < levels:
            own["shrink"] = _convolution(3, inner, inner)
            skips.append(inner)
    for level in reversed(range(levels)):
        own, outer = params[f"level_{level}"], widths[level]
        for k in range(blocks + 1):
            own[f"up_{k}"] = _block(inner + skips.pop(), outer, time)
            inner = outer
        if level > 0:
            own["grow"] = _convolution(3, inner, inner)
    image = Array((batch, side, side, channels), "float32", ("normal", 1.0))
    inputs = {"images": image, "noise": image, "times": Array((batch,), "float32", ("constant", 0.5))}

    def normalise(x, w):
        grouped = x.reshape(batch, -1, groups, x.shape[-1] // groups)
        centred = grouped - jnp.mean(grouped, (1, 3), keepdims=True)
        variance = jnp.mean(centred * centred, (1, 3), keepdims=True)
        return (centred * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape) * w["scale"] + w["offset"]

    def block(x, moment, w):
        h = convolve(silu(normalise(x, w["norm1"])), w["first"])
        h = h + (moment @ w["time"])[:, None, None, :]
        h = convolve(silu(normalise(h, w["norm2"])), w["second"])
        return h + (x @ w["short"] if "short" in w else x)

    def attention(x, w):
        _, high, wide, units = x.shape
        joint = (normalise(x, w) @ w["joint"]).reshape(batch, high * wide, 3, heads, units // heads)
        mixed = attend(joint[:, :, 0], joint[:, :, 1], joint[:, :, 2], causal=False)
        return x + mixed.reshape(x.shape) @ w["back"]

    def forward(p, inputs):
        with jax.named_scope("time"):
            half = width // 2
            angle = inputs["times"][:, None] * jnp.exp(jnp.arange(half, dtype=jnp.float32) * (-math.log(1e4) / half)) * 1e3
            moment = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)
            moment = silu(moment @ p["time"]["in"] + p["time"]["in_bias"])
            moment = silu(moment @ p["time"]["out"] + p["time"]["out_bias"])
        with jax.named_scope("input"):
            share = inputs["times"][:, None, None, None]
            noisy = jnp.sqrt(1.0 - share) * inputs["images"] + jnp.sqrt(share) * inputs["noise"]
            x = convolve(noisy, p["input"])
        kept = [x]
        for level in range(levels):
            w = p[f"level_{level}"]
            with jax.named_scope(f"level_{level}"):
                for k in range(blocks):
                    x = block(x, moment, w[f"down_{k}"])
                    kept.append(x)
                if level + 1 < levels:
                    x = convolve(x, w["shrink"], stride=2)
                    kept.append(x)
        with jax.named_scope("middle"):
            w = p["middle"]
            x = block(x, moment, w["first"])
            x = attention(x, w["attention"])
            x = block(x, moment, w["second"])
        for level in reversed(range(levels)):
            w = p[f"level_{level}"]
            with jax.named_scope(f"level_{level}"):
                for k in range(blocks + 1):
                    x = block(jnp.concatenate([x, kept.pop()], -1), moment, w[f"up_{k}"])
                if level > 0:
                    x = convolve(jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), w["grow"])
        with jax.named_scope("output"):
            return convolve(silu(normalise(x, p["output"])), p["output"])

    def loss(p, inputs):
        wrong = forward(p, inputs)
        with jax.named_scope("output"):
            wrong = wrong - inputs["noise"]
            return jnp.mean(wrong * wrong)

    return Network(params, inputs, forward, loss)


def convolve(x, w, stride=1):
    """A convolution with bias; the edges are padded with zeros."""
    out = jax.lax.conv_general_dilated(x, w["kernel"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return out + w["bias"]


def _convolution(size, inner, outer):
    return {"kernel": weight(size, size, inner, outer, scale=(size * size * inner) ** -0.5), "bias": constant(outer)}


def _norm(width):
    return {"scale": constant(width, value=1.0), "offset": constant(width)}


def _block(inner, outer, time):
    short = {} if inner == outer else {"short": weight(inner, outer)}
    return {
        "norm1": _norm(inner),
        "first": _convolution(3, inner, outer),
        "time": weight(time, outer),
        "norm2": _norm(outer),
        "second": _convolution(3, outer, outer),
        **short,
    }


def _attention(width):
    return {**_norm(width), "joint": weight(width, 3 * width), "back": weight(width, width)}
