"""Ten lines of a user."""

import torch
from torch import nn

from placebench_extract.torch_models import Step


def build(batch=8, width=16, classes=5, dropout=0.5):
    model = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(width, classes))
    inputs = (torch.randn(batch, width), torch.randint(classes, (batch,)))
    return Step(model, inputs, lambda model, inputs: nn.functional.cross_entropy(model(inputs[0]), inputs[1]), lambda model, inputs: model(inputs[0]))
