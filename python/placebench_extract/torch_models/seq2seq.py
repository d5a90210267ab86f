"""An encoder and a decoder (Vaswani et al. 2017) with norms before attention, as T5 and BART have them today."""

import torch
from torch import nn

from . import Step


def build(batch=4, source=64, target=64, layers=4, width=256, heads=4, vocabulary=2048):
    model = Translator(max(source, target), layers, width, heads, vocabulary)
    draw = lambda length: torch.randint(vocabulary, (batch, length))  # noqa: E731
    inputs = {"source": draw(source), "target": draw(target), "labels": draw(target)}

    def loss(model, inputs):
        logits = model(inputs["source"], inputs["target"])
        return nn.functional.cross_entropy(logits.reshape(-1, vocabulary), inputs["labels"].reshape(-1))

    return Step(model, inputs, loss, lambda model, inputs: model(inputs["source"], inputs["target"]))


class Translator(nn.Module):
    def __init__(self, length, layers, width, heads, vocabulary):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.02)
        self.encoder = nn.ModuleList(Layer(width, heads, False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, True) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, source, target):
        memory = self.words(source) + self.positions[: source.shape[1]]
        for layer in self.encoder:
            memory = layer(memory)
        x = self.words(target) + self.positions[: target.shape[1]]
        for layer in self.decoder:
            x = layer(x, memory)
        return self.head(x)


class Layer(nn.Module):
    """Attention to itself, in the decoder attention to the encoder's answer, and two dense layers."""

    def __init__(self, width, heads, is_decoder):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if is_decoder else 2))
        self.attention = Attention(width, heads)
        self.across = Attention(width, heads) if is_decoder else None
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, memory=None):
        n = self.norms[0](x)
        x = x + self.attention(n, n, is_causal=memory is not None)
        if memory is not None:
            x = x + self.across(self.norms[1](x), memory)
        return x + self.down(torch.relu(self.up(self.norms[-1](x))))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.answer = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, memory, is_causal=False):
        split = lambda y: y.reshape(*y.shape[:2], self.heads, -1).transpose(1, 2)  # noqa: E731
        query, key, value = split(self.query(x)), split(self.key(memory)), split(self.value(memory))
        score = torch.matmul(query, key.transpose(2, 3)) * query.shape[-1] ** -0.5
        if is_causal:
            later = torch.ones(score.shape[-2:], dtype=torch.bool).triu(1)
            score = score.masked_fill(later, -1e9)
        mixed = torch.matmul(torch.softmax(score, -1), value)
        return self.answer(mixed.transpose(1, 2).reshape(x.shape))
