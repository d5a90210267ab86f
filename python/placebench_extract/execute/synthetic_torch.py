"""A random step in PyTorch: see `synthetic.py`."""

from ..torch_models import STEP, Program, Step
from .synthetic import nodes


def program(seed, sizes):
    """The step."""
    return Program("synthetic", "random step", {**STEP, "mode": "inference"}, lambda: _step(nodes(seed, sizes)))


def _step(made):
    import torch

    class Random(torch.nn.Module):
        def __init__(self):
            super().__init__()
            full = lambda value, *shape: torch.nn.Parameter(torch.full(shape, value))  # noqa: E731
            self.weights = torch.nn.ParameterDict()
            for number, node in enumerate(made):
                self.weights[f"base_{number}"] = full(0.1, node.size)
                self.weights[f"first_{number}"] = full(0.1)
                if node.width:
                    self.weights[f"left_{number}"] = full(0.01, node.width, node.width)
                    self.weights[f"right_{number}"] = full(0.01, node.width, node.width)

        def forward(self):
            values = []
            for number, node in enumerate(made):
                scalar = self.weights[f"first_{number}"]
                for source in node.inputs:
                    scalar = scalar + torch.dot(values[source], values[source])
                scalar = torch.tanh(scalar)
                if node.width:
                    scalar = ((self.weights[f"left_{number}"] * scalar) @ self.weights[f"right_{number}"]).sum()
                values.append(self.weights[f"base_{number}"] + scalar)
            read = {source for node in made for source in node.inputs}
            return [value for number, value in enumerate(values) if number not in read]

    return Step(Random(), {})
