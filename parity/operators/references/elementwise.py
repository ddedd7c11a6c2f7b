"""Elements combined exactly: arithmetic, comparison, logic, bits, rounding, selection."""

import mpmath
import numpy as np
import torch

from table import reference

from .common import tensor


def binary(function):
    return lambda x, y: function(tensor(x), tensor(y))


reference('add')(binary(torch.add))
reference('div')(binary(torch.true_divide))
reference('sub')(binary(lambda x, y: difference(x, y)))
reference('mul')(binary(torch.mul))
reference('square')(lambda x: torch.square(x) if x.dtype == torch.bool else x * x)
reference('neg')(torch.neg)
reference('abs')(lambda x: x if x.dtype == torch.bool else torch.abs(x))
reference('sign')(torch.sign)
reference('positive', 'identity', 'copy', 'barrier', 'stopGradient')(lambda x: x * 1 if x.dtype != torch.bool else x | False)
reference('shard')(lambda x, axes: x.clone())
reference('reciprocal')(torch.reciprocal)
reference('sqrt', mp=mpmath.sqrt)(torch.sqrt)
reference('floor')(lambda x: x if x.dtype == torch.bool else torch.floor(x))
reference('ceil')(lambda x: x if x.dtype == torch.bool else torch.ceil(x))
reference('trunc')(lambda x: x if x.dtype == torch.bool else torch.trunc(x))
reference('round')(lambda x: x if x.dtype == torch.bool else torch.round(x))
reference('relu')(lambda x: x | False if x.dtype == torch.bool else torch.relu(x))
reference('equal')(binary(torch.eq))
reference('notEqual')(binary(torch.ne))
reference('less')(binary(torch.lt))
reference('lessEqual')(binary(torch.le))
reference('greater')(binary(torch.gt))
reference('greaterEqual')(binary(torch.ge))
reference('logicalAnd')(binary(torch.logical_and))
reference('logicalOr')(binary(torch.logical_or))
reference('logicalXor')(binary(torch.logical_xor))
reference('logicalNot')(torch.logical_not)
reference('isNaN')(torch.isnan)
reference('isInf')(torch.isinf)
reference('isFinite')(torch.isfinite)
reference('bitwiseAnd')(binary(torch.bitwise_and))
reference('bitwiseOr')(binary(torch.bitwise_or))
reference('bitwiseXor')(binary(torch.bitwise_xor))
reference('bitwiseNot')(torch.bitwise_not)
reference('leftShift')(binary(torch.bitwise_left_shift))
reference('rightShift')(binary(torch.bitwise_right_shift))
reference('maximum', selects=True)(binary(torch.maximum))
reference('minimum', selects=True)(binary(torch.minimum))
reference('fmax', selects=True)(binary(torch.fmax))
reference('fmin', selects=True)(binary(torch.fmin))
reference('copysign')(binary(lambda x, y: torch.where(x == 0, torch.copysign(x, y).detach(), torch.where(torch.signbit(x) == torch.signbit(y), x, -x))))
reference('mod')(binary(lambda x, y: whole(x, y, lambda x, y: valued(torch.remainder(x, y), x, y, np.mod))))
reference('floorDivide')(binary(lambda x, y: whole(x, y, lambda x, y: torch.floor_divide(x.detach(), y.detach()))))
reference('fmod')(binary(lambda x, y: whole(x, y, lambda x, y: valued(torch.fmod(x, y), x, y, np.fmod))))
reference('relu6')(lambda x: x | False if x.dtype == torch.bool else torch.nn.functional.relu6(x) if x.dtype.is_floating_point else x.clamp(0, 6))


def difference(x, y):
    """Of two truth values `xor`, as their sum is `or`; PyTorch refuses truth values, also beside numbers."""
    dtype = torch.result_type(x, y)
    return x ^ y if dtype == torch.bool else x.to(dtype) - y.to(dtype)


class Valued(torch.autograd.Function):
    """A result with PyTorch's derivative and a value from elsewhere."""

    @staticmethod
    def forward(context, derived, value):
        return value.clone()

    @staticmethod
    def backward(context, grad):
        return grad, None


def valued(derived, x, y, function):
    """Remainders of floats from NumPy: PyTorch's are NaN where the quotient is beyond the range."""
    if not derived.dtype.is_floating_point:
        return derived
    with np.errstate(all='ignore'):
        value = function(x.detach().double().numpy(), y.detach().double().numpy())
    return Valued.apply(derived, torch.from_numpy(np.asarray(value)).to(derived.dtype))


def whole(x, y, function):
    """Integers may be divided by 0: decision 5 says that this gives 0, and PyTorch refuses it."""
    dtype = torch.promote_types(x.dtype, y.dtype) if x.ndim and y.ndim else torch.result_type(x, y)
    if dtype.is_floating_point:
        return function(x, y)
    if dtype == torch.bool:
        return whole(x.to(torch.uint8), y.to(torch.uint8), function).bool()
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    # The least integer by -1 does not fit: it wraps to itself, which leaves nothing over.
    least = torch.iinfo(dtype).min
    wraps = (x == least) & (y == -1) if least < 0 else torch.zeros_like(x, dtype=torch.bool)
    result = function(x, torch.where((y == 0) | wraps, 1, y))
    return torch.where(y == 0, 0, torch.where(wraps, result, result))


@reference('heaviside')
def heaviside(x, middle):
    x, middle = tensor(x), tensor(middle)
    dtype = torch.result_type(x, middle)
    if dtype == torch.bool:
        return x | middle
    if dtype.is_floating_point:
        # Nothing flows back to x; PyTorch has no derivative by the middle, which is chosen at 0.
        return torch.where(x == 0, middle, torch.heaviside(x.detach().to(dtype), middle.detach().to(dtype)))
    return torch.heaviside(x.to(dtype), middle.to(dtype))


@reference('clip', selects=True)
def clip(x, low=None, high=None):
    if x.dtype == torch.bool:
        low, high = (None if each is None else tensor(each) for each in (low, high))
        dtype = x.dtype
        for each in (low, high):
            dtype = dtype if each is None else torch.result_type(torch.empty(1, dtype=dtype), each)
        x = x.to(dtype)
        if dtype == torch.bool:
            x = x if low is None else x | low
            return x if high is None else x & high
    if all(each is None or isinstance(each, (int, float)) for each in (low, high)):
        return torch.clamp(x, low, high)
    return torch.clamp(x, *[None if each is None else tensor(each) for each in (low, high)])


@reference('where', selects=True)
def where(condition, x, y):
    return torch.where(condition != 0, tensor(x), tensor(y))


@reference('cast')
def cast(x, dtype):
    target = {'bool': torch.bool, 'uint8': torch.uint8, 'int8': torch.int8, 'int32': torch.int32, 'int64': torch.int64, 'bfloat16': torch.bfloat16, 'float16': torch.float16, 'float32': torch.float32, 'float64': torch.float64}[dtype]  # fmt: skip
    if target == torch.bool:
        return x != 0
    if not x.dtype.is_floating_point or target.is_floating_point:
        return x.to(target)
    # Decision 5: beyond the range the nearest end, and 0 for NaN; PyTorch leaves it to the processor.
    limits = torch.iinfo(target)
    value = torch.nan_to_num(x.detach().double(), nan=0.0, posinf=float(limits.max), neginf=float(limits.min)).trunc()
    inside = value.clamp(float(limits.min), float(limits.max if limits.bits < 64 else 0))
    result = inside.to(torch.int64)
    if limits.bits == 64:
        result = torch.where(value >= 2.0**63, limits.max, value.clamp(-(2.0**63), 2.0**63 - 1024).to(torch.int64))
    return result.to(target)


@reference('nanToNum')
def nan_to_num(x, o={}):
    if not x.dtype.is_floating_point:
        return x | False if x.dtype == torch.bool else x + 0
    most = torch.finfo(getattr(x, 'own', x.dtype)).max
    return torch.nan_to_num(x, nan=o.get('nan', 0.0), posinf=o.get('posinf', most), neginf=o.get('neginf', -most))
