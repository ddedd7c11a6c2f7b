"""How far a right result may be from the exact one.

A function of elements is within 3 ulp (decision 5), computed in single precision where the dtype is
narrower and then rounded once. Other results are as near as their condition allows: operands that are off
by one rounding u each move the result by u times the sensitivity, the sum over operands of
|derivative| * |operand|. A chain of k operators does so k times at most, each rounding its result once more
(Higham, "Accuracy and Stability of Numerical Algorithms", 2002, chapter 3). The sensitivity is measured: the
reference runs again, in double precision, on operands disturbed by random signs; the root of the mean square
of what comes out is the norm of the terms, and the root of their number times that bounds their sum.
"""

import math

import numpy as np
import torch

ulps = 3
"""The bound of decision 5."""

chain = {'y': 6, 'g': 16, 's': 32}
"""Operators between an operand and a result, at most: values, gradients, gradients of gradients."""

disturbance = 2.0**-20
draws = 6

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


def of_elements(value, dtype):
    """For a function of elements."""
    if dtype in (torch.float16, torch.bfloat16):
        return 0.5 * ulp(value, dtype) + ulps * ulp(value, torch.float32)
    return ulps * ulp(value, dtype)


def of_condition(value, sensitivity, terms, part, dtype):
    """For results of several elements; `terms` is the number of elements that one result is made of."""
    digits, _ = formats[dtype]
    steps = chain[part] + math.log2(max(1, terms))
    return steps * 2.0**-digits * (np.abs(value) + math.sqrt(max(1, terms)) * sensitivity) + steps * tiny(dtype)


def sensitivities(run, operands, generator):
    """The norm of derivative times operand for every element of every result; operands one after the other."""
    exact = run(operands)
    total = [np.zeros(tuple(part.shape)) for part in exact]
    for k, operand in enumerate(operands):
        if operand is None or not operand.dtype.is_floating_point:
            continue
        squares = [np.zeros_like(each) for each in total]
        for _ in range(draws):
            signs = torch.randint(0, 2, operand.shape, generator=generator) * 2.0 - 1
            moved = list(operands)
            moved[k] = operand * (1 + disturbance * signs)
            for square, near, at in zip(squares, run(moved), exact):
                with np.errstate(all='ignore'):
                    change = (near - at).detach().double().numpy() / disturbance
                square += np.where(np.isfinite(change), change, 0) ** 2 / draws
        for sum_, square in zip(total, squares):
            sum_ += np.sqrt(square)
    return total
