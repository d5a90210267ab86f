"""Two branches of two layers: as little as shows everything."""

import jax
import jax.numpy as jnp

from placebench_extract.jax_models import Network, constant, integers, weight
from placebench_extract.jax_models.parts import cross_entropy


def build(batch=4, width=8, classes=5):
    params = {f"branch_{k}": {"in": weight(width, width, scale=0.5), "bias": constant(width)} for k in (0, 1)}
    params["out"] = weight(width, classes, scale=0.5)
    inputs = {"rows": weight(batch, width, scale=1.0), "labels": integers(batch, below=classes)}

    def forward(p, inputs):
        x = inputs["rows"]
        branches = []
        for k in (0, 1):
            with jax.named_scope(f"branch_{k}"):
                branches.append(jnp.tanh(x @ p[f"branch_{k}"]["in"] + p[f"branch_{k}"]["bias"]))
        with jax.named_scope("head"):
            return (branches[0] + branches[1]) @ p["out"]

    def loss(p, inputs):
        logits = forward(p, inputs)
        with jax.named_scope("head"):
            return cross_entropy(logits, inputs["labels"])

    return Network(params, inputs, forward, loss)
