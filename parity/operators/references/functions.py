"""Functions of elements: powers, logarithms, angles, error and gamma functions, activations."""

import math

import mpmath
import numpy as np
import torch
import torch.nn.functional as F
from scipy import special

from table import reference

from .common import tensor


def unary(function):
    return lambda x: function(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()))


def both(function):
    return lambda x, y: function(*torch.broadcast_tensors(tensor(x), tensor(y)))


def psi(order, x):
    """Left of 0 by reflection: mpmath counts up from there, one by one."""
    if x > -10:
        return mpmath.psi(order, x)
    # The derivatives of pi cot(pi x), as polynomials in the cotangent c, whose own is -pi (1 + c^2).
    c, terms = mpmath.cot(mpmath.pi * (x - mpmath.floor(x))), [0, 1]
    for _ in range(order):
        slopes = [k * each for k, each in enumerate(terms)][1:]
        terms = [-a - b for a, b in zip([*slopes, 0, 0], [0, 0, *slopes])]
    turned = mpmath.pi ** (order + 1) * mpmath.polyval(terms[::-1], c)
    return (-1) ** order * mpmath.psi(order, 1 - x) - turned


def log_gamma(x):
    if x > -10:
        return mpmath.log(abs(mpmath.gamma(x))) if x < 10 else mpmath.loggamma(x)
    sine = abs(mpmath.sin(mpmath.pi * (x - mpmath.floor(x))))
    return mpmath.log(mpmath.pi / sine) - mpmath.loggamma(1 - x)


def reflected(order, x):
    """The terms of the reflection, which cancel for even orders: that of the mirrored argument, and the cotangent's."""
    if order % 2 == 1 or x >= 0:
        return 0
    mirrored = psi(order, 1 - x)
    return max(abs(mirrored), abs(mirrored - psi(order, x)))


def reflected_logarithm(x):
    return max(1, abs(mpmath.loggamma(-x))) if x < 0 else 0


def hard_sigmoid(x):
    """By its definition: PyTorch's derivative in double precision is that of single precision."""
    inside = torch.where((x > -3) & (x < 3), (x + 3) / 6, torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x)))
    return torch.where(torch.isnan(x), x, inside)


reference('exp', rule='ulp', mp=mpmath.exp)(unary(torch.exp))
reference('exp2', rule='ulp', mp=lambda x: mpmath.mpf(2) ** x)(unary(torch.exp2))
reference('expm1', rule='ulp', mp=mpmath.expm1)(unary(torch.expm1))
reference('log', rule='ulp', mp=mpmath.log)(unary(torch.log))
reference('log2', rule='ulp', mp=lambda x: mpmath.log(abs(x), 2))(unary(torch.log2))
reference('log10', rule='ulp', mp=lambda x: mpmath.log10(abs(x)))(unary(torch.log10))
reference('log1p', rule='ulp', mp=lambda x: mpmath.log1p(x))(unary(torch.log1p))
reference('sin', rule='ulp', mp=mpmath.sin)(unary(torch.sin))
reference('cos', rule='ulp', mp=mpmath.cos)(unary(torch.cos))
reference('tan', rule='ulp', mp=mpmath.tan)(unary(torch.tan))
reference('asin', rule='ulp', mp=mpmath.asin)(unary(torch.asin))
reference('acos', rule='ulp', mp=mpmath.acos)(unary(torch.acos))
reference('atan', rule='ulp', mp=mpmath.atan)(unary(torch.atan))
reference('sinh', rule='ulp', mp=mpmath.sinh)(unary(torch.sinh))
reference('cosh', rule='ulp', mp=mpmath.cosh)(unary(torch.cosh))
reference('tanh', rule='ulp', mp=mpmath.tanh)(unary(torch.tanh))
reference('asinh', rule='ulp', mp=mpmath.asinh)(unary(torch.asinh))
reference('acosh', rule='ulp', mp=mpmath.acosh)(unary(torch.acosh))
reference('atanh', rule='ulp', mp=mpmath.atanh)(unary(torch.atanh))
reference('rsqrt', rule='ulp', mp=lambda x: 1 / mpmath.sqrt(x))(unary(torch.rsqrt))
reference('erf', rule='ulp', mp=mpmath.erf)(unary(torch.erf))
reference('erfc', rule='ulp', mp=mpmath.erfc)(unary(torch.erfc))
reference('lgamma', rule='ulp', mp=log_gamma, scale=reflected_logarithm)(unary(torch.lgamma))
reference('digamma', rule='ulp', mp=lambda x: psi(0, x), scale=lambda x: reflected(0, x))(unary(torch.digamma))
reference('polygamma', rule='ulp', mp=psi, scale=reflected)(lambda order, x: torch.polygamma(order, x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())))
reference('sinc', rule='ulp', mp=lambda x: mpmath.sincpi(x))(unary(torch.sinc))
reference('sigmoid', rule='ulp', mp=lambda x: 1 / (1 + mpmath.exp(-x)))(unary(torch.sigmoid))
reference('logSigmoid', rule='ulp', mp=lambda x: -mpmath.log1p(mpmath.exp(-x)) if x > -1e6 else x)(unary(lambda x: BySigmoid.apply(F.logsigmoid(x.detach()), x, -1)))
reference('silu', rule='ulp', mp=lambda x: x / (1 + mpmath.exp(-x)))(unary(F.silu))
reference('softplus', rule='ulp', mp=lambda x: mpmath.log1p(mpmath.exp(x)) if x < 1e6 else x)(unary(lambda x: BySigmoid.apply(torch.logaddexp(x.detach(), torch.zeros_like(x)), x, 1)))
reference('softsign', rule='ulp', mp=lambda x: x / (1 + abs(x)))(unary(F.softsign))
reference('mish', rule='ulp', mp=lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))) if x < 1e4 else x)(unary(F.mish))
reference('hardSigmoid', rule='ulp')(unary(lambda x: hard_sigmoid(x)))
reference('hardSwish', rule='ulp')(unary(lambda x: x * hard_sigmoid(x)))
reference('selu', rule='ulp', mp=lambda x: mpmath.mpf('1.0507009873554804934193349852946') * (x if x > 0 else mpmath.mpf('1.6732632423543772848170429916717') * mpmath.expm1(x)))(unary(F.selu))
reference('deg2rad', rule='ulp', mp=lambda x: x * mpmath.pi / 180)(unary(torch.deg2rad))
reference('rad2deg', rule='ulp', mp=lambda x: x * 180 / mpmath.pi)(unary(torch.rad2deg))
reference('atan2', rule='ulp', mp=mpmath.atan2)(both(lambda y, x: Angle.apply(y, x)))
reference('hypot', rule='ulp', mp=mpmath.hypot)(both(lambda x, y: Length.apply(x, y)))
reference('logaddexp', rule='ulp', mp=lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))), scale=lambda x, y: abs(max(x, y)))(both(torch.logaddexp))
reference('cbrt', rule='ulp', mp=lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)))(unary(lambda x: cbrt(x)))


def scale_of(x, y):
    """A power of two that brings the greater of two numbers near 1, in two factors."""
    most = torch.maximum(x.detach().abs(), y.detach().abs()).double()
    exponent = -torch.frexp(torch.where(torch.isfinite(most), most, 1)).exponent
    half = exponent.div(2, rounding_mode='floor')
    return torch.ldexp(torch.ones_like(most), half).to(x.dtype), torch.ldexp(torch.ones_like(most), exponent - half).to(x.dtype)


class Angle(torch.autograd.Function):
    """PyTorch's derivative squares, and so leaves the range in double precision."""

    @staticmethod
    def forward(context, y, x):
        context.save_for_backward(y, x)
        return torch.atan2(y, x)

    @staticmethod
    def backward(context, grad):
        y, x = context.saved_tensors
        if x.dtype != torch.float64:
            squares = x * x + y * y
            inverse = torch.where(squares == 0, 0, 1 / squares)
            return grad * x * inverse, -grad * y * inverse
        a, b = scale_of(x, y)
        y, x = y * a * b, x * a * b
        squares = x * x + y * y
        at_origin = squares == 0  # where PyTorch's is 0
        return torch.where(at_origin, 0, grad * (x / squares) * a * b), torch.where(at_origin, 0, -grad * (y / squares) * a * b)


class Length(torch.autograd.Function):
    """PyTorch divides by rounded lengths, which are no numbers of many digits where they are denormal."""

    @staticmethod
    def forward(context, x, y):
        context.save_for_backward(x, y)
        return torch.hypot(x, y)

    @staticmethod
    def backward(context, grad):
        x, y = context.saved_tensors
        if x.dtype == torch.float64:
            a, b = scale_of(x, y)
            x, y = x * a * b, y * a * b
        length = torch.hypot(x, y)
        return grad * (x / length), grad * (y / length)


class BySigmoid(torch.autograd.Function):
    """A value whose derivative is `sigmoid`, which is differentiated as PyTorch's is, to within an ulp of 1."""

    @staticmethod
    def forward(context, value, x, side):
        context.save_for_backward(x)
        context.side = side
        return value.clone()

    @staticmethod
    def backward(context, grad):
        (x,) = context.saved_tensors
        return None, grad * torch.sigmoid(context.side * x), None


class CubeRoot(torch.autograd.Function):
    """PyTorch has none; SciPy's, with the derivative of the definition."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return torch.from_numpy(np.asarray(special.cbrt(x.double().numpy()))).to(x.dtype)

    @staticmethod
    def backward(context, grad):
        (x,) = context.saved_tensors
        root = CubeRoot.apply(x)
        return grad / (3 * root * root)


def cbrt(x):
    return CubeRoot.apply(x)


@reference('leakyRelu', rule='ulp', mp=lambda x, o={}: x if x > 0 else x * o.get('slope', 0.01))
def leaky_relu(x, o={}):
    return F.leaky_relu(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()), o.get('slope', 0.01))


@reference('elu', rule='ulp', mp=lambda x, o={}: x if x > 0 else mpmath.expm1(x) * o.get('alpha', 1.0))
def elu(x, o={}):
    return F.elu(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()), o.get('alpha', 1.0))


def share(x, o={}):
    """gelu, where the share of x does not cancel."""
    if o.get('approximate', 'none') == 'tanh':
        return x / (1 + mpmath.exp(-2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf('0.044715') * x**3)))
    return x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


@reference('gelu', rule='ulp', mp=share)
def gelu(x, o={}):
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    if x.dtype != torch.float64:
        return F.gelu(x, approximate=o.get('approximate', 'none'))
    # In which PyTorch's shares of x cancel.
    if o.get('approximate', 'none') == 'tanh':
        return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return x * torch.erfc(x * -math.sqrt(0.5)) / 2


@reference('pow', rule='ulp', mp=mpmath.power)
def power(x, y):
    given, x, y = y, tensor(x), tensor(y)
    dtype = torch.result_type(x, y)
    if dtype == torch.bool:
        return x | ~y
    if dtype.is_floating_point:
        # A number has no errors, and stays whole; of small ones PyTorch makes products, quotients and roots.
        is_large = isinstance(given, int) and abs(given) > 4
        return torch.pow(x.to(dtype), given if is_large else y.to(dtype))
    # Wide, since an exponent may be no number of the dtype. With negative ones the reciprocal truncated, which
    # PyTorch refuses for plain numbers.
    x, y = torch.broadcast_tensors(x.to(dtype).to(torch.int64), y.to(torch.int64))
    sign = torch.where((x == -1) & (y % 2 != 0), -1, torch.where(x.abs() == 1, 1, 0))
    return torch.where(y >= 0, torch.pow(x, y.clamp(min=0)), sign).to(dtype)
