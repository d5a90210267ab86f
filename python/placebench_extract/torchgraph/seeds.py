"""Random numbers that are the same in a placed step and in the unplaced one."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def is_random(function):
    """Whether an operation draws from the generator."""
    return any("nondeterministic_seeded" in str(tag) for tag in getattr(function, "tags", ()))


class Draws:
    """Numbers the operations that draw: the number of each is its seed. Used with `with`.

    A state of the generator stands for the number that comes next. So what is computed again from a saved state, as by
    `torch.utils.checkpoint`, draws the same again.
    """

    def __init__(self):
        self.count, self.states = 0, []

    def next(self):
        """The seed of the next operation that draws."""
        self.count += 1
        return self.count - 1

    def __enter__(self):
        self.old = torch.random.get_rng_state, torch.random.set_rng_state
        self._patch(self._get, self._set)
        return self

    def __exit__(self, *_):
        self._patch(*self.old)

    def _patch(self, get, set_):
        for module in (torch, torch.random):
            module.get_rng_state, module.set_rng_state = get, set_

    def _get(self):
        state = self.old[0]()
        self.states.append((state, self.count))
        return state

    def _set(self, state):
        self.old[1](state)
        self.count = next((count for known, count in self.states if known is state), self.count)


class Seeds(TorchDispatchMode):
    """Seeds the generator before each operation that draws, with the number that the recorder gives it."""

    def __init__(self, draws):
        super().__init__()
        self.draws = draws

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if is_random(function):
            torch.manual_seed(self.draws.next())
        return function(*args, **(kwargs or {}))
