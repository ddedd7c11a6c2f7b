"""What several references need."""

import torch


def tensor(value):
    """An operand as a tensor: a number becomes one of rank 0, which takes its width from its neighbours."""
    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def axes_of(axis, rank):
    """A list of axes; all of them for None."""
    if axis is None:
        return list(range(rank))
    return [each % rank for each in (axis if isinstance(axis, list) else [axis])]


def pair(value, count):
    return list(value) if isinstance(value, list) else [value] * count
