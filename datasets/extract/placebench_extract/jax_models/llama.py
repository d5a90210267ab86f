"""A decoder like Llama (Touvron et al. 2023), with grouped queries.

Llama 3 8B: layers=32 width=4096 heads=32 groups=8 inner=14336 vocabulary=128256 length=8192.
"""

import jax

from . import Network, constant, integers, weight
from .parts import cross_entropy, grouped_attention, rms_norm, silu


def build(batch=4, length=128, layers=8, width=384, heads=6, groups=2, inner=1024, vocabulary=2048):
    params = {
        "embedding": weight(vocabulary, width),
        **{f"layer_{k}": _layer(width, width // heads * groups, inner) for k in range(layers)},
        "head": {"norm": constant(width, value=1.0), "output": weight(width, vocabulary)},
    }
    inputs = {"tokens": integers(batch, length, below=vocabulary), "labels": integers(batch, length, below=vocabulary)}

    def block(x, w):
        x = x + grouped_attention(rms_norm(x, w["norm1"]), w, heads, groups)
        n = rms_norm(x, w["norm2"])
        return x + (silu(n @ w["gate"]) * (n @ w["up"])) @ w["down"]

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = p["embedding"][inputs["tokens"]]
        for k in range(layers):
            with jax.named_scope(f"layer_{k}"):
                x = block(x, p[f"layer_{k}"])
        with jax.named_scope("head"):
            return rms_norm(x, p["head"]["norm"]) @ p["head"]["output"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)


def _layer(width, shared, inner):
    return {
        "norm1": constant(width, value=1.0),
        "query": weight(width, width),
        "key": weight(width, shared),
        "value": weight(width, shared),
        "output": weight(width, width),
        "norm2": constant(width, value=1.0),
        "gate": weight(width, inner),
        "up": weight(width, inner),
        "down": weight(inner, width),
    }
