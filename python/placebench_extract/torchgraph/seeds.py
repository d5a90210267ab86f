"""Random numbers that are the same in a placed step and in the unplaced one."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def is_random(function):
    """Whether an operation draws from the generator."""
    return any("nondeterministic_seeded" in str(tag) for tag in getattr(function, "tags", ()))


class Seeds(TorchDispatchMode):
    """Numbers the operations that draw random numbers, as the recorder does, and seeds the generator before each."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if is_random(function):
            torch.manual_seed(self.count)
            self.count += 1
        return function(*args, **(kwargs or {}))
