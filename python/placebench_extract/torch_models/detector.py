"""A detector like RetinaNet (Lin et al. 2017): a residual backbone, a pyramid of features, and heads for classes and boxes."""

import torch
from torch import nn

from . import Step

STRIDES = (8, 16, 32)  # pixels of the image for each position of a level


def build(batch=4, side=128, width=32, pyramid=64, anchors=3, classes=20):
    model = Detector(width, pyramid, anchors, classes)
    places = sum((side // stride) ** 2 for stride in STRIDES) * anchors
    inputs = {
        "images": torch.randn(batch, 3, side, side),
        "classes": (torch.rand(batch, places, classes) < 0.01).float(),
        "boxes": torch.randn(batch, places, 4),
    }

    def loss(model, inputs):
        scores, boxes = model(inputs["images"])
        return focal(scores, inputs["classes"]) + nn.functional.smooth_l1_loss(boxes, inputs["boxes"])

    return Step(model, inputs, loss, lambda model, inputs: model(inputs["images"]))


def focal(scores, truth):
    """Cross entropy in which what is easy counts less (section 3)."""
    found = torch.sigmoid(scores)
    right = found * truth + (1 - found) * (1 - truth)
    return -((1 - right) ** 2 * torch.log(right + 1e-6)).mean()


class Detector(nn.Module):
    def __init__(self, width, pyramid, anchors, classes):
        super().__init__()
        self.entry = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.backbone = nn.ModuleList(
            nn.Sequential(Block(widths[max(0, k - 1)], w, 1 if k == 0 else 2), Block(w, w, 1)) for k, w in enumerate(widths)
        )
        self.across = nn.ModuleList(nn.Conv2d(w, pyramid, 1) for w in widths[1:])
        self.smooth = nn.ModuleList(nn.Conv2d(pyramid, pyramid, 3, padding=1) for _ in STRIDES)
        self.classes, self.boxes = Head(pyramid, anchors, classes), Head(pyramid, anchors, 4)

    def forward(self, images):
        x, levels = self.entry(images), []
        for stage in self.backbone:
            x = stage(x)
            levels.append(x)
        features, above = [], None
        for across, smooth, level in reversed(list(zip(self.across, self.smooth, levels[1:]))):
            level = across(level)
            above = level if above is None else level + nn.functional.interpolate(above, scale_factor=2, mode="nearest")
            features.append(smooth(above))
        return torch.cat([self.classes(f) for f in features], 1), torch.cat([self.boxes(f) for f in features], 1)


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
        is_same = inner == outer and stride == 1
        self.shortcut = None if is_same else nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        return torch.relu(self.second(self.first(x)) + (x if self.shortcut is None else self.shortcut(x)))


class Head(nn.Module):
    """Convolutions that all levels share, and an answer for each anchor."""

    def __init__(self, pyramid, anchors, answers):
        super().__init__()
        self.answers = answers
        self.convolutions = nn.Sequential(
            nn.Conv2d(pyramid, pyramid, 3, padding=1), nn.ReLU(), nn.Conv2d(pyramid, pyramid, 3, padding=1), nn.ReLU(),
            nn.Conv2d(pyramid, anchors * answers, 3, padding=1),
        )  # fmt: skip

    def forward(self, x):
        return self.convolutions(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.answers)
