"""A random step in JAX: see `synthetic.py`."""

from ..jax_models import Program, constant
from .synthetic import nodes


def program(seed, sizes):
    """The step."""
    made = nodes(seed, sizes)
    weights = {}
    for number, node in enumerate(made):
        weights[f"base_{number}"] = constant(node.size, value=0.1)
        weights[f"first_{number}"] = constant(value=0.1)
        if node.width:
            weights[f"left_{number}"] = constant(node.width, node.width, value=0.01)
            weights[f"right_{number}"] = constant(node.width, node.width, value=0.01)

    def step(params):
        import jax.numpy as jnp

        values = []
        for number, node in enumerate(made):
            scalar = params[f"first_{number}"]
            for source in node.inputs:
                scalar = scalar + jnp.dot(values[source], values[source])
            scalar = jnp.tanh(scalar)
            if node.width:
                product = (params[f"left_{number}"] * scalar) @ params[f"right_{number}"]
                scalar = product[0, 0]
            values.append(params[f"base_{number}"] + scalar)
        read = {source for node in made for source in node.inputs}
        return {"answer": {str(number): value for number, value in enumerate(values) if number not in read}}

    return Program("synthetic", "random step", {"seed": seed, "sizes": sizes}, step, {"params": weights}, ("params",))
