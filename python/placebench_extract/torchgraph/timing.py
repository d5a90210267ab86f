"""Measures ATen calls: each distinct one alone, on one device."""

import time

import torch

from ..measured import Clock
from .calls import extent


class CallClock(Clock):
    """How long a call takes on a device of PyTorch."""

    what = "calls of the operation"

    def __init__(self, device, name):
        self.device, self.name = torch.device(device), name
        self.is_gpu = self.device.type == "cuda"
        self.now = time.perf_counter if self.is_gpu else time.process_time

    def prepared(self, call):
        function = torch.no_grad()(call.function(self.device))
        return function, examples(call, function, self.device)

    def tiny(self):
        return torch.no_grad()(lambda x: (x + 1.0,)), [torch.ones((), device=self.device)]

    def wait(self, outputs):
        if self.is_gpu:
            torch.cuda.synchronize(self.device)


def examples(call, function, device):
    """Values that the function of a call takes. Integers are zeros, since most are indices, or else ones."""
    for whole in (0, 1):
        values = [example(array, device, k, whole) for k, array in enumerate(call.arrays)]
        try:
            function(*values)
            return values
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError) as error:
            fault = error
    raise fault


def example(array, device, seed=0, whole=0):
    """Ordinary numbers, which are probabilities, too: zeros or denormals could be faster or slower than what a step has."""
    generator = torch.Generator().manual_seed(seed)
    size = extent(array.shape, array.strides)
    if array.dtype.is_floating_point:
        memory = torch.rand(size, generator=generator).mul_(0.5).add_(0.25).to(array.dtype)
    elif array.dtype == torch.bool:
        memory = torch.randint(2, (size,), generator=generator).to(torch.bool)
    else:
        memory = torch.full((size,), whole, dtype=array.dtype)
    return memory.as_strided(array.shape, array.strides).to(device)
