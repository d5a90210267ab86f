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
        function = call.function(self.device)
        values = [example(array, self.device, k) for k, array in enumerate(call.arrays)]
        return torch.no_grad()(function), values

    def tiny(self):
        return torch.no_grad()(lambda x: (x + 1.0,)), [torch.ones((), device=self.device)]

    def wait(self, outputs):
        if self.is_gpu:
            torch.cuda.synchronize(self.device)


def example(array, device, seed=0):
    """Ordinary numbers: zeros or denormals could be faster or slower than what a step has. Integers are mostly indices."""
    generator = torch.Generator().manual_seed(seed)
    size = extent(array.shape, array.strides)
    if array.dtype.is_floating_point:
        memory = torch.rand(size, generator=generator).add_(0.5).to(array.dtype)
    elif array.dtype == torch.bool:
        memory = torch.randint(2, (size,), generator=generator).to(torch.bool)
    else:
        memory = torch.zeros(size, dtype=array.dtype)
    return memory.as_strided(array.shape, array.strides).to(device)
