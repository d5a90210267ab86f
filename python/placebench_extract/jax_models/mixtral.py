"""A decoder whose feed-forward layers are mixtures of experts, as Mixtral (Jiang et al. 2024): two experts a token.

Each expert picks its tokens and adds what it makes of them to theirs. It takes at most `capacity` tokens; what is beyond
skips it. With the default of `tokens · 2 / experts` the operations are those of two experts a token. Every expert has
weights and operations of its own, so that a placer can put experts on different devices.
"""

import jax
import jax.numpy as jnp

from . import Network, constant, integers, weight
from .fused import fused, grouped_attention, kernel, kit


def build(batch=1, length=128, layers=2, width=64, heads=4, groups=2, inner=128, experts=8, capacity=0, vocabulary=512, base=1e6):
    tokens = batch * length
    room = capacity or 2 * tokens // experts
    parts, attention = kit(True), grouped_attention(base)
    expert = lambda: {"gate": weight(width, inner), "up": weight(width, inner), "down": weight(inner, width)}  # noqa: E731
    shared = width // heads * groups
    layer = lambda: {  # noqa: E731
        "norm1": constant(width, value=1.0),
        "query": weight(width, width),
        "key": weight(width, shared),
        "value": weight(width, shared),
        "output": weight(width, width),
        "norm2": constant(width, value=1.0),
        "router": weight(width, experts),
        **{f"expert_{e}": expert() for e in range(experts)},
    }
    params = {
        "embedding": weight(vocabulary, width),
        **{f"layer_{k}": layer() for k in range(layers)},
        "head": {"norm": constant(width, value=1.0), "output": weight(width, vocabulary)},
    }
    inputs = {"tokens": integers(batch, length, below=vocabulary), "labels": integers(batch, length, below=vocabulary)}

    def route(scores):
        """For each expert, the first tokens that have it among their two."""
        second = jax.lax.top_k(scores, 2)[0][:, 1:]
        chosen = scores >= second
        # Without sign, so that nothing asks whether an index counts from the end.
        return jnp.argsort(~chosen, axis=0, stable=True)[:room].T.astype(jnp.uint32)

    def gates(scores, index):
        """For each expert and each of its tokens, the share of the expert: a softmax over the token's two."""
        second = jax.lax.top_k(scores, 2)[0][:, 1:]
        share = jax.nn.softmax(jnp.where(scores >= second, scores, -jnp.inf), axis=-1)
        return jnp.take_along_axis(share.T, index.astype(jnp.int32), 1)

    fused_route, fused_gates = kernel(route, "route"), fused(gates)

    def mixture(x, w):
        x = x.reshape(tokens, width)
        scores = x @ w["router"]
        index = fused_route(jax.lax.stop_gradient(scores))
        share = fused_gates(scores, index)
        out = jnp.zeros_like(x)
        for e in range(experts):
            own = w[f"expert_{e}"]
            taken = x.at[index[e]].get(mode="promise_in_bounds")
            done = parts.swiglu(taken @ own["gate"], taken @ own["up"]) @ own["down"]
            out = out.at[index[e]].add(done * share[e][:, None], mode="promise_in_bounds")
        return out.reshape(batch, length, width)

    def forward(p, inputs):
        with jax.named_scope("embedding"):
            x = p["embedding"][inputs["tokens"]]
        for k in range(layers):
            w = p[f"layer_{k}"]
            with jax.named_scope(f"layer_{k}"):
                x = x + attention(parts.rms_norm(x, w["norm1"]), w, heads, groups)
                x = x + mixture(parts.rms_norm(x, w["norm2"]), w)
        with jax.named_scope("head"):
            return parts.rms_norm(x, p["head"]["norm"]) @ p["head"]["output"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return parts.cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)
