"""A decoder whose feed-forward layers are mixtures of experts, top-2 of `experts` (Lepikhin et al. 2021, GShard).

Dispatch is dense: each expert takes `capacity` tokens of the batch, picked and put back by products with one-hot
arrays. A token beyond the capacity skips that expert. Every expert has weights and operations of its own, so that a
placer can put experts on different devices.
"""

import jax
import jax.numpy as jnp

from . import Network, constant, integers, weight
from .parts import cross_entropy, grouped_attention, rms_norm, silu, softmax


def build(batch=4, length=128, layers=4, width=256, heads=4, groups=2, experts=8, inner=704, capacity=192, vocabulary=2048):
    tokens = batch * length
    expert = lambda: {"gate": weight(width, inner), "up": weight(width, inner), "down": weight(inner, width)}  # noqa: E731
    shared = width // heads * groups
    params = {
        "embedding": weight(vocabulary, width),
        **{
            f"layer_{k}": {
                "norm1": constant(width, value=1.0),
                "query": weight(width, width),
                "key": weight(width, shared),
                "value": weight(width, shared),
                "output": weight(width, width),
                "norm2": constant(width, value=1.0),
                "router": weight(width, experts),
                **{f"expert_{e}": expert() for e in range(experts)},
            }
            for k in range(layers)
        },
        "head": {"norm": constant(width, value=1.0), "output": weight(width, vocabulary)},
    }
    inputs = {"tokens": integers(batch, length, below=vocabulary), "labels": integers(batch, length, below=vocabulary)}

    def route(x, router):
        """For each token and expert: the gate (0 unless the expert is one of two), and the token's place there."""
        gate = softmax(x @ router)
        index = jnp.arange(experts)
        first = index == jnp.argmax(gate, -1)[:, None]
        second = index == jnp.argmax(jnp.where(first, -1.0, gate), -1)[:, None]
        chosen = (first | second).astype(gate.dtype)
        gate = gate * chosen
        gate = gate / jnp.sum(gate, -1, keepdims=True)
        place = jnp.cumsum(chosen, 0) * chosen - 1.0
        return gate, place

    def mixture(x, w):
        x = x.reshape(tokens, width)
        gate, place = route(x, w["router"])
        out = jnp.zeros_like(x)
        slots = jnp.arange(capacity, dtype=jnp.float32)
        for e in range(experts):
            own = w[f"expert_{e}"]
            pick = (place[:, e, None] == slots).astype(x.dtype)
            taken = pick.T @ x
            done = (silu(taken @ own["gate"]) * (taken @ own["up"])) @ own["down"]
            out = out + (pick * gate[:, e, None]) @ done
        return out.reshape(batch, length, width)

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = p["embedding"][inputs["tokens"]]
        for k in range(layers):
            w = p[f"layer_{k}"]
            with jax.named_scope(f"layer_{k}"):
                x = x + grouped_attention(rms_norm(x, w["norm1"]), w, heads, groups)
                x = x + mixture(rms_norm(x, w["norm2"]), w)
        with jax.named_scope("head"):
            return rms_norm(x, p["head"]["norm"]) @ p["head"]["output"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)
