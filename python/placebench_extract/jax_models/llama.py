"""A decoder like Llama (Touvron et al. 2023), with grouped queries.

Llama 3 8B and 70B are in `published.py`.
"""

import jax

from . import Network, constant, integers, weight
from .fused import grouped_attention as fused_attention
from .fused import kit
from .parts import grouped_attention, silu


def build(batch=4, length=128, layers=8, width=384, heads=6, groups=2, inner=1024, vocabulary=2048, fused=0, base=10000.0):
    parts = kit(fused)
    attention = fused_attention(base) if fused else grouped_attention
    params = {
        "embedding": weight(vocabulary, width),
        **{f"layer_{k}": _layer(width, width // heads * groups, inner) for k in range(layers)},
        "head": {"norm": constant(width, value=1.0), "output": weight(width, vocabulary)},
    }
    inputs = {"tokens": integers(batch, length, below=vocabulary), "labels": integers(batch, length, below=vocabulary)}

    def block(x, w):
        x = x + attention(parts.rms_norm(x, w["norm1"]), w, heads, groups)
        n = parts.rms_norm(x, w["norm2"])
        if fused:
            return x + parts.swiglu(n @ w["gate"], n @ w["up"]) @ w["down"]
        return x + (silu(n @ w["gate"]) * (n @ w["up"])) @ w["down"]

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = p["embedding"][inputs["tokens"]]
        for k in range(layers):
            with jax.named_scope(f"layer_{k}"):
                x = block(x, p[f"layer_{k}"])
        with jax.named_scope("head"):
            return parts.rms_norm(x, p["head"]["norm"]) @ p["head"]["output"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return parts.cross_entropy(logits, inputs["labels"])

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
