"""The U-Net of latent diffusion (Rombach et al. 2022) as Stable Diffusion 1.5 has it: it predicts the noise in latents.

Each level has residual blocks on the way down, and one more on the way up; all levels but the lowest have transformers,
which attend to the latents and to the embedding of a text. The latents are NHWC.
"""

import math

import jax
import jax.numpy as jnp

from . import Array, Network, constant, weight
from .fused import fused, kit
from .unet import convolve


def build(batch=2, side=16, channels=4, width=32, levels=4, blocks=2, heads=4, groups=8, text=8, text_width=32):
    parts = kit(True)
    widths = [width * min(2**level, 4) for level in range(levels)]
    time = 4 * width

    def group_norm(x, scale, offset):
        grouped = x.reshape(batch, -1, groups, x.shape[-1] // groups)
        centred = grouped - jnp.mean(grouped, (1, 3), keepdims=True)
        variance = jnp.mean(centred * centred, (1, 3), keepdims=True)
        return (centred * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape) * scale + offset

    def group_norm_silu(x, scale, offset):
        normal = group_norm(x, scale, offset)
        return normal * jax.lax.logistic(normal)

    def geglu(joint):
        value, gate = jnp.split(joint, 2, -1)
        return value * jax.nn.gelu(gate, approximate=False)

    def silu(x):
        return x * jax.lax.logistic(x)

    plain_norm, active_norm, fused_geglu, fused_silu = map(fused, (group_norm, group_norm_silu, geglu, silu))
    normalise = lambda norm, x, w: norm(x, w["scale"], w["offset"])  # noqa: E731

    def convolution(size, inner, outer):
        return {"kernel": weight(size, size, inner, outer, scale=(size * size * inner) ** -0.5), "bias": constant(outer)}

    norm = lambda width: {"scale": constant(width, value=1.0), "offset": constant(width)}  # noqa: E731
    dense = lambda inner, outer: {"kernel": weight(inner, outer), "bias": constant(outer)}  # noqa: E731

    def residual(inner, outer):
        short = {} if inner == outer else {"short": convolution(1, inner, outer)}
        return {
            "norm1": norm(inner),
            "first": convolution(3, inner, outer),
            "time": dense(time, outer),
            "norm2": norm(outer),
            "second": convolution(3, outer, outer),
            **short,
        }

    def attention(width, source):
        return {
            "query": weight(width, width),
            "key": weight(source, width),
            "value": weight(source, width),
            "back": dense(width, width),
        }

    def transformer(width):
        return {
            "norm": norm(width),
            "enter": convolution(1, width, width),
            "norm1": norm(width),
            "own": attention(width, width),
            "norm2": norm(width),
            "text": attention(width, text_width),
            "norm3": norm(width),
            "up": dense(width, 8 * width),
            "down": dense(4 * width, width),
            "leave": convolution(1, width, width),
        }

    params = {
        "time": {"in": dense(width, time), "out": dense(time, time)},
        "input": convolution(3, channels, width),
        "middle": {
            "first": residual(widths[-1], widths[-1]),
            "transformer": transformer(widths[-1]),
            "second": residual(widths[-1], widths[-1]),
        },
        "output": {**norm(width), **convolution(3, width, channels)},
    }
    has_text = lambda level: level + 1 < levels  # noqa: E731
    skips, inner = [width], width
    for level, outer in enumerate(widths):
        own = params[f"down_{level}"] = {}
        for k in range(blocks):
            own[f"block_{k}"] = residual(inner, outer)
            inner = outer
            if has_text(level):
                own[f"transformer_{k}"] = transformer(inner)
            skips.append(inner)
        if level + 1 < levels:
            own["shrink"] = convolution(3, inner, inner)
            skips.append(inner)
    for level in reversed(range(levels)):
        own, outer = params.setdefault(f"up_{level}", {}), widths[level]
        for k in range(blocks + 1):
            own[f"block_{k}"] = residual(inner + skips.pop(), outer)
            inner = outer
            if has_text(level):
                own[f"transformer_{k}"] = transformer(inner)
        if level > 0:
            own["grow"] = convolution(3, inner, inner)
    latents = Array((batch, side, side, channels), "float32", ("normal", 1.0))
    inputs = {
        "latents": latents,
        "noise": latents,
        "times": Array((batch,), "float32", ("constant", 0.5)),
        "text": Array((batch, text, text_width), "float32", ("normal", 1.0)),
    }

    def block(x, moment, w):
        h = convolve(normalise(active_norm, x, w["norm1"]), w["first"])
        h = h + (moment @ w["time"]["kernel"] + w["time"]["bias"])[:, None, None, :]
        h = convolve(normalise(active_norm, h, w["norm2"]), w["second"])
        return h + (convolve(x, w["short"]) if "short" in w else x)

    def attend(x, source, w):
        split = lambda y, name: (y @ w[name]).reshape(batch, y.shape[1], heads, -1)  # noqa: E731
        mixed = parts.attend(split(x, "query"), split(source, "key"), split(source, "value"), causal=False)
        return mixed.reshape(x.shape) @ w["back"]["kernel"] + w["back"]["bias"]

    def transform(x, words, w):
        h = convolve(normalise(plain_norm, x, w["norm"]), w["enter"]).reshape(batch, -1, x.shape[-1])
        n = normalise(parts.layer_norm, h, w["norm1"])
        h = h + attend(n, n, w["own"])
        h = h + attend(normalise(parts.layer_norm, h, w["norm2"]), words, w["text"])
        n = normalise(parts.layer_norm, h, w["norm3"])
        h = h + fused_geglu(n @ w["up"]["kernel"] + w["up"]["bias"]) @ w["down"]["kernel"] + w["down"]["bias"]
        return x + convolve(h.reshape(x.shape), w["leave"])

    def stage(x, moment, words, w, k):
        x = block(x, moment, w[f"block_{k}"])
        return transform(x, words, w[f"transformer_{k}"]) if f"transformer_{k}" in w else x

    def forward(p, inputs):
        kind = inputs["latents"].dtype
        with jax.named_scope("time"):
            half = width // 2
            angle = inputs["times"][:, None] * jnp.exp(jnp.arange(half, dtype=jnp.float32) * (-math.log(1e4) / half)) * 1e3
            moment = jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], -1).astype(kind)
            moment = fused_silu(moment @ p["time"]["in"]["kernel"] + p["time"]["in"]["bias"])
            moment = fused_silu(moment @ p["time"]["out"]["kernel"] + p["time"]["out"]["bias"])
        with jax.named_scope("input"):
            share = inputs["times"][:, None, None, None].astype(kind)
            noisy = jnp.sqrt(1.0 - share) * inputs["latents"] + jnp.sqrt(share) * inputs["noise"]
            x = convolve(noisy, p["input"])
        kept = [x]
        for level in range(levels):
            w = p[f"down_{level}"]
            with jax.named_scope(f"down_{level}"):
                for k in range(blocks):
                    x = stage(x, moment, inputs["text"], w, k)
                    kept.append(x)
                if "shrink" in w:
                    x = convolve(x, w["shrink"], stride=2)
                    kept.append(x)
        with jax.named_scope("middle"):
            w = p["middle"]
            x = block(x, moment, w["first"])
            x = transform(x, inputs["text"], w["transformer"])
            x = block(x, moment, w["second"])
        for level in reversed(range(levels)):
            w = p[f"up_{level}"]
            with jax.named_scope(f"up_{level}"):
                for k in range(blocks + 1):
                    x = stage(jnp.concatenate([x, kept.pop()], -1), moment, inputs["text"], w, k)
                if "grow" in w:
                    x = convolve(jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), w["grow"])
        with jax.named_scope("output"):
            return convolve(normalise(active_norm, x, p["output"]), p["output"])

    def loss(p, inputs):
        wrong = forward(p, inputs)
        with jax.named_scope("output"):
            wrong = (wrong - inputs["noise"]).astype(jnp.float32)
            return jnp.mean(wrong * wrong)

    return Network(params, inputs, forward, loss)
