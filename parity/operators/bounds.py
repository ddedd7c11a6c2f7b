"""How far a right result may be from the exact one.

A function of elements is within 3 ulp (decision 5), computed in single precision where the dtype is
narrower and then rounded once. Other results are as near as the reference would be if each of its operators
were within these 3 ulp, which are 6 roundings u (Higham, "Accuracy and Stability of Numerical Algorithms",
2002, chapter 3). How far that moves a result is measured: the reference runs again, in double precision, with
its operands and the result of every single operator, those of the derivatives among them, off by random numbers
of variance 1; where they are denormal in the case's own precision, by as much as the least normal number is. The
root of the mean square of what comes out is the norm of all these errors for one rounding each; the root of the
number of terms times that bounds their sum, where all have one sign. Adding up n terms in any order rounds
log2(n) times more often.
"""

import contextlib
import math

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

ulps = 3
"""The bound of decision 5."""

disturbance = 2.0**-20
draws = 12

exact = {torch.ops.aten.amax.default, torch.ops.aten.amin.default, torch.ops.aten.max.dim, torch.ops.aten.min.dim}
"""Operators that give one of their operands, which has no error: next to the greatest, what is beyond it would be infinite."""

formats = {torch.float16: (11, -14), torch.bfloat16: (8, -126), torch.float32: (24, -126), torch.float64: (53, -1022)}  # fmt: skip


def ulp(value, dtype):
    """The distance of neighbours at a value, in a dtype."""
    digits, least = formats[dtype]
    with np.errstate(all='ignore'):
        _, exponent = np.frexp(np.abs(value))
    exponent = np.where((value == 0) | ~np.isfinite(value), least, exponent - 1)
    return np.ldexp(1.0, np.maximum(exponent, least) - digits + 1)


def tiny(dtype):
    """The least denormal."""
    digits, least = formats[dtype]
    return math.ldexp(1.0, least - digits + 1)


def of_elements(value, dtype, times=1):
    """For a function of elements; `times` the bound where decision 5 says so."""
    if dtype in (torch.float16, torch.bfloat16):
        return 0.5 * ulp(value, dtype) + ulps * ulp(value, torch.float32)
    return ulps * times * ulp(value, dtype)


def of_condition(value, sensitivity, terms, dtype):
    """For results of several elements; `terms` is the number of elements that one result is made of."""
    digits, _ = formats[dtype]
    steps = 2 * ulps + math.log2(max(1, terms))
    return steps * 2.0**-digits * (np.abs(value) + math.sqrt(max(1, terms)) * sensitivity) + steps * tiny(dtype)


def least_normal(dtypes):
    """That of the coarsest float that is computed with; halves, and integers where floats come out, are computed in single precision."""
    exponents = [formats[each][1] for each in dtypes if each in (torch.float32, torch.float64)]
    return math.ldexp(1.0, max(exponents, default=formats[torch.float32][1]))


class Disturbed(TorchDispatchMode):
    """Every operator's floating results are off by random numbers, derivatives' too; views stay what they view."""

    def __init__(self, generator, least):
        super().__init__()
        self.generator = generator
        self.least = least

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        returned = [each.alias_info for each in function._schema.returns]
        if function in exact or any(each is not None and not each.is_write for each in returned):
            return result
        if any(each is not None for each in returned):
            result.copy_(self.off(result))
            return result
        if isinstance(result, (tuple, list)):
            return type(result)(self.off(each) for each in result)
        return self.off(result)

    def off(self, x):
        if not isinstance(x, torch.Tensor) or not x.dtype.is_floating_point or x._is_zerotensor() or x.is_meta:
            return x
        return disturbed(x, self.generator, self.least)


def disturbed(x, generator, least):
    noise = disturbance * torch.randn(x.shape, generator=generator, dtype=torch.float64)
    size = torch.where((x == 0) | ~torch.isfinite(x), 0, torch.clamp(x.abs(), min=least))
    return x + noise * size


def sensitivity(run, operands, generator, least, through):
    """
    The norm of what operands and, `through` and through, operators that are off add to every element of a result.
    """
    exact = run(operands).detach().numpy()
    changes = []
    for _ in range(draws):
        moved = [each if each is None or not each.dtype.is_floating_point else disturbed(each, generator, least) for each in operands]
        with Disturbed(generator, least) if through else contextlib.nullcontext():
            near = run(moved).detach().numpy()
        with np.errstate(all='ignore'):
            change = (near - exact) / disturbance
        changes.append(np.abs(np.where(np.isfinite(change), change, 0)))
    # Squares of what is not scaled vanish.
    most = np.maximum.reduce(changes)
    scaled = [change / np.where(most > 0, most, 1) for change in changes]
    return most * np.sqrt(sum(each**2 for each in scaled) / draws)
