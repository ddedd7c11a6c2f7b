"""Functions of elements: powers, logarithms, angles, error and gamma functions, activations."""

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
    """mpmath counts up from a negative operand, one by one."""
    if x < -50:
        raise NotImplementedError
    return mpmath.psi(order, x)


def log_gamma(x):
    if x < -50:
        raise NotImplementedError
    return mpmath.log(abs(mpmath.gamma(x))) if x < 10 else mpmath.loggamma(x)


def hard_sigmoid(x):
    """By its definition: PyTorch's derivative in double precision is that of single precision."""
    inside = torch.where((x > -3) & (x < 3), (x + 3) / 6, torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x)))
    return torch.where(torch.isnan(x), x, inside)


reference('exp', rule='ulp', mp=mpmath.exp)(unary(torch.exp))
reference('exp2', rule='ulp', mp=lambda x: mpmath.mpf(2) ** x)(unary(torch.exp2))
reference('expm1', rule='ulp', mp=mpmath.expm1)(unary(torch.expm1))
reference('log', rule='ulp', mp=mpmath.log)(unary(torch.log))
reference('log2', rule='ulp', mp=lambda x: mpmath.log(x, 2))(unary(torch.log2))
reference('log10', rule='ulp', mp=mpmath.log10)(unary(torch.log10))
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
reference('lgamma', rule='ulp', mp=log_gamma)(unary(torch.lgamma))
reference('digamma', rule='ulp', mp=lambda x: psi(0, x))(unary(torch.digamma))
reference('polygamma', rule='ulp', mp=psi)(lambda order, x: torch.polygamma(order, x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())))
reference('sinc', rule='ulp', mp=lambda x: mpmath.sincpi(x))(unary(torch.sinc))
reference('sigmoid', rule='ulp', mp=lambda x: 1 / (1 + mpmath.exp(-x)))(unary(torch.sigmoid))
reference('logSigmoid', rule='ulp', mp=lambda x: -mpmath.log1p(mpmath.exp(-x)) if x > -1e6 else x)(unary(F.logsigmoid))
reference('silu', rule='ulp', mp=lambda x: x / (1 + mpmath.exp(-x)))(unary(F.silu))
reference('softplus', rule='ulp', mp=lambda x: mpmath.log1p(mpmath.exp(x)) if x < 1e6 else x)(unary(lambda x: torch.logaddexp(x, torch.zeros_like(x))))
reference('softsign', rule='ulp', mp=lambda x: x / (1 + abs(x)))(unary(F.softsign))
reference('mish', rule='ulp', mp=lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))) if x < 1e4 else x)(unary(F.mish))
reference('hardSigmoid', rule='ulp')(unary(lambda x: hard_sigmoid(x)))
reference('hardSwish', rule='ulp')(unary(lambda x: x * hard_sigmoid(x)))
reference('selu', rule='ulp', mp=lambda x: mpmath.mpf('1.0507009873554804934193349852946') * (x if x > 0 else mpmath.mpf('1.6732632423543772848170429916717') * mpmath.expm1(x)))(unary(F.selu))
reference('deg2rad', rule='ulp', mp=lambda x: x * mpmath.pi / 180)(unary(torch.deg2rad))
reference('rad2deg', rule='ulp', mp=lambda x: x * 180 / mpmath.pi)(unary(torch.rad2deg))
reference('atan2', rule='ulp', mp=None)(both(torch.atan2))
reference('hypot', rule='ulp', mp=mpmath.hypot)(both(torch.hypot))
reference('logaddexp', rule='ulp', mp=lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))))(both(torch.logaddexp))
reference('cbrt', rule='ulp', mp=lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)))(unary(lambda x: cbrt(x)))


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


@reference('leakyRelu', rule='ulp')
def leaky_relu(x, o={}):
    return F.leaky_relu(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()), o.get('slope', 0.01))


@reference('elu', rule='ulp')
def elu(x, o={}):
    return F.elu(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()), o.get('alpha', 1.0))


@reference('gelu', rule='ulp')
def gelu(x, o={}):
    return F.gelu(x if x.dtype.is_floating_point else x.to(torch.get_default_dtype()), approximate=o.get('approximate', 'none'))


@reference('pow', rule='ulp', mp=lambda *o: mpmath.power(o[1], o[0]) if len(o) == 2 and isinstance(o[0], (int, float)) else mpmath.power(*o))
def power(x, y):
    x, y = tensor(x), tensor(y)
    dtype = torch.result_type(x, y)
    if dtype == torch.bool:
        return x | ~y
    if dtype.is_floating_point or not y.numel() or y.min() >= 0:
        return torch.pow(x, y)
    # Integers with negative exponents: as the reciprocal truncated; PyTorch refuses plain numbers.
    x, y = torch.broadcast_tensors(x.to(dtype).to(torch.int64), y.to(torch.int64))
    sign = torch.where((x == -1) & (y % 2 != 0), -1, torch.where(x.abs() == 1, 1, 0))
    return torch.where(y >= 0, torch.pow(x, y.clamp(min=0)), sign).to(dtype)
