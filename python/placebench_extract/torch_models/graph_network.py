"""A graph attention network (Velickovic et al. 2018): each node takes messages from its neighbours, weighted by attention."""

import torch
from torch import nn

from . import Step


def build(nodes=2000, edges=16000, features=128, layers=4, width=128, heads=4, classes=16):
    model = Network(features, layers, width, heads, classes)
    ends = lambda: torch.randint(nodes, (edges,))  # noqa: E731
    inputs = {"features": torch.randn(nodes, features), "source": ends(), "target": ends(), "labels": torch.randint(classes, (nodes,))}
    answer = lambda model, inputs: model(inputs["features"], inputs["source"], inputs["target"])  # noqa: E731
    return Step(model, inputs, lambda model, inputs: nn.functional.cross_entropy(answer(model, inputs), inputs["labels"]), answer)


class Network(nn.Module):
    def __init__(self, features, layers, width, heads, classes):
        super().__init__()
        self.entry = nn.Linear(features, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, features, source, target):
        x = torch.relu(self.entry(features))
        for layer in self.layers:
            x = layer(x, source, target)
        return self.head(x)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.values = nn.Linear(width, width, bias=False)
        self.of_source = nn.Parameter(torch.randn(heads, width // heads) * 0.1)
        self.of_target = nn.Parameter(torch.randn(heads, width // heads) * 0.1)
        self.answer = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, source, target):
        nodes, width = x.shape
        values = self.values(x).reshape(nodes, self.heads, -1)
        score = (values * self.of_source).sum(-1).index_select(0, source) + (values * self.of_target).sum(-1).index_select(0, target)
        # A softmax over the edges of each node; scores are small, so no maximum is taken off.
        weight = nn.functional.leaky_relu(score, 0.2).exp()
        total = torch.zeros(nodes, self.heads, dtype=x.dtype).index_add(0, target, weight)
        messages = values.index_select(0, source) * weight.unsqueeze(-1)
        taken = torch.zeros_like(values).index_add(0, target, messages) / (total.unsqueeze(-1) + 1e-6)
        return self.norm(x + self.answer(torch.relu(taken.reshape(nodes, width))))
