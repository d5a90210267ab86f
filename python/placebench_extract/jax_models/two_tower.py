"""A recommender of two towers (Yi et al. 2019): one for what users do, one for items, trained against each other.

A tower has tables of embeddings and three dense layers. A step reads one row a table and sample, and changes these rows
alone, by plain gradient descent, so that no gradient is as large as a table. The loss is a softmax over the items of the
batch.
"""

import jax
import jax.numpy as jnp

from . import Network, constant, integers, weight
from .fused import kit

# Rows of the tables of Criteo's click logs, capped at 40 million, as MLPerf trains DLRM on them (DLRM-DCNv2, 2023).
CRITEO = (
    40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14,
    40000000, 40000000, 40000000, 590152, 12973, 108, 36,
)  # fmt: skip
RATE = 1e-2


def build(batch=32, width=16, most_rows=1000, first=64, second=32, answer=16):
    parts = kit(True)
    rows = [min(count, most_rows) for count in CRITEO]
    towers = {"user": range(0, len(rows), 2), "item": range(1, len(rows), 2)}
    dense = lambda inner, outer: {"kernel": weight(inner, outer), "bias": constant(outer)}  # noqa: E731
    tower = lambda tables: {  # noqa: E731
        "first": dense(len(tables) * width, first),
        "second": dense(first, second),
        "answer": dense(second, answer),
    }
    params = {name: tower(tables) for name, tables in towers.items()}
    # In 32 bits, whatever the element type: small steps must not be lost.
    tables = {name: {f"table_{k}": weight(rows[k], width) for k in numbers} for name, numbers in towers.items()}
    inputs = {
        "rows": {name: {f"table_{k}": integers(batch, below=rows[k]) for k in numbers} for name, numbers in towers.items()},
        "item": integers(batch, below=batch),
    }

    def embed(tables, inputs):
        return {
            name: {table: _scoped(name, tables[name][table], inputs["rows"][name][table]) for table in tables[name]}
            for name in towers
        }

    def answer_of(p, embedded, name):
        with jax.named_scope(name):
            w = p[name]
            x = jnp.concatenate([embedded[name][table] for table in sorted(embedded[name])], -1).astype(w["first"]["bias"].dtype)
            x = jax.nn.relu(x @ w["first"]["kernel"] + w["first"]["bias"])
            x = jax.nn.relu(x @ w["second"]["kernel"] + w["second"]["bias"])
            return x @ w["answer"]["kernel"] + w["answer"]["bias"]

    def scores(p, embedded):
        user, item = (answer_of(p, embedded, name) for name in towers)
        with jax.named_scope("match"):
            return user @ item.T

    def loss(p, embedded, inputs):
        found = scores(p, embedded)
        with jax.named_scope("match"):
            return parts.cross_entropy(found, inputs["item"])

    def change(tables, gradients, inputs):
        """The tables with the rows of the batch moved against their gradients."""
        moved = lambda name, table: tables[name][table].at[inputs["rows"][name][table]].add(  # noqa: E731
            -RATE * gradients[name][table], mode="promise_in_bounds"
        )
        return {name: {table: moved(name, table) for table in tables[name]} for name in towers}

    return Network(params, inputs, None, None, Tables(tables, embed, scores, loss, change))


class Tables:
    """Weights of which a step reads some rows and changes these alone: see `two_tower`."""

    def __init__(self, tables, embed, forward, loss, change):
        self.tables, self.embed, self.forward, self.loss, self.change = tables, embed, forward, loss, change


def _scoped(layer, table, rows):
    with jax.named_scope(layer):
        return table.at[rows].get(mode="promise_in_bounds")
