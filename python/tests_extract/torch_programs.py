"""Random programs over a few tensors: views, views of views, operations and what writes through a view."""

import random

import torch

from placebench_extract.torch_models import STEP, Program, Step


def random_program(seed, length=25):
    """A program that answers all of its tensors. Integers keep every result exact."""
    chance = random.Random(seed)
    moves = [chance.random() for _ in range(length * 4)]

    def answer(module, inputs):
        draw = iter(moves)
        live = [inputs["a"], inputs["b"], module.table]

        def pick(limit):
            return int(next(draw) * limit)

        for _ in range(length):
            x, kind = live[pick(len(live))], pick(16)
            y = live[pick(len(live))]
            live.append(_move(x, y, kind, pick))
            del live[:-6]
        return {str(k): tensor for k, tensor in enumerate(live)}

    return Program(f"random {seed}", "", {**STEP, "mode": "inference"}, lambda: Step(_Table(), _inputs(), answer=answer))


class _Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(24).float().reshape(4, 6))


def _inputs():
    return {"a": torch.randint(9, (4, 6)).float(), "b": torch.randint(9, (3, 4, 2)).float()}


def _move(x, y, kind, pick):
    """A tensor from two. Whatever shapes they have, there is something to do."""
    flat, other = x.reshape(-1), y.reshape(-1)
    size = min(flat.shape[0], other.shape[0])
    if kind == 0:
        return flat[:size] + other[:size] * 2
    if kind == 1:
        return x.clone()
    if kind == 2 and x.dim() > 1:
        return x.transpose(0, pick(x.dim()))
    if kind == 3 and x.dim() > 1 and x.shape[0] > 1:
        return x[pick(x.shape[0])]
    if kind == 4 and x.dim() > 1 and x.shape[-1] > 2:
        return x[..., 1:-1]
    if kind == 5:
        return x.unsqueeze(0).expand(3, *x.shape)
    if kind == 6:
        return torch.cat([flat[:size], other[:size]])
    if kind == 7 and not _overlaps(x):
        x.add_(3)  # through a view, maybe
        return x
    if kind == 8 and not _overlaps(x) and x.dim():
        x.view(x.shape)[..., 0].mul_(2)
        return x
    if kind == 9 and not _overlaps(x) and not _shares(x, y):
        x.reshape(-1) if not x.is_contiguous() else x.view(-1)[:size].copy_(other[:size])
        return x
    if kind == 10:
        return torch.relu(x - 7)
    if kind == 11 and x.dim() > 1 and x.shape[0] % 2 == 0:
        return x.split(x.shape[0] // 2)[1]
    if kind == 12:
        return flat.index_select(0, torch.arange(size).flip(0))
    if kind == 13 and not _overlaps(x):
        return torch.zeros_like(x).masked_fill_(x > 4, 5)
    if kind == 14 and flat.shape[0] > 4:
        return flat[1::2].as_strided((flat[1::2].shape[0] // 2,), (flat[1::2].stride(0) * 2,))
    if kind == 15:
        x = x.contiguous().clone()
        return x.clamp_(0, 6)
    return x.sum(-1, keepdim=True) if x.dim() else x + 1


def _overlaps(x):
    return any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape))


def _shares(x, y):
    from placebench_extract.torchgraph.recorder import storage_of

    return storage_of(x) == storage_of(y)
