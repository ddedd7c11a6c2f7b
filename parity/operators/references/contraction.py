"""Products, convolutions and windows."""

import itertools
import math

import torch
import torch.nn.functional as F

from table import reference

from .common import pair
from .movement import positions_of


def exact(function):
    """Integers of any width, which PyTorch's products do not all take: wide, and wrapped at the end."""

    def run(*operands):
        arrays = [each for each in operands if isinstance(each, torch.Tensor)]
        dtype = arrays[0].dtype
        for each in arrays:
            dtype = torch.promote_types(dtype, each.dtype)
        if dtype.is_floating_point:
            return function(*[each.to(dtype) if isinstance(each, torch.Tensor) else each for each in operands])
        wide = [each.to(torch.int64) if isinstance(each, torch.Tensor) else each for each in operands]
        return function(*wide).to(dtype)

    return run


reference('matmul', rule='noise', once=False)(exact(torch.matmul))


@reference('turnedProduct', rule='noise', once=False)
def turned_product(x, y, sides):
    def turned(each, is_turned):
        return each.transpose(-1, -2) if is_turned else each

    return exact(torch.matmul)(turned(x, sides['left']), turned(y, sides['right']))


@reference('einsum', rule='noise', once=False)
def einsum(equation, *operands):
    return exact(lambda *each: torch.einsum(equation, *each))(*operands)


def spans(size, kernel, strides, dilation, padding):
    """Padding as pairs."""
    count = len(size)
    if padding == 'same':
        wanted = [math.ceil(s / t) for s, t in zip(size, strides)]
        total = [max(0, (n - 1) * t + (k - 1) * d + 1 - s) for n, t, k, d, s in zip(wanted, strides, kernel, dilation, size)]
        return [(each // 2, each - each // 2) for each in total]
    if padding == 'valid':
        return [(0, 0)] * count
    return [tuple(each) if isinstance(each, list) else (each, each) for each in pair(padding, count)]


def bordered(x, pads, value=0):
    flat = [n for before, after in reversed(pads) for n in (before, after)]
    return F.pad(x, flat, value=value)


def options(x, kernel, o):
    count = len(kernel)
    strides = pair(o.get('strides', 1), count)
    dilation = pair(o.get('dilation', 1), count)
    return strides, dilation, spans(list(x.shape[2:]), kernel, strides, dilation, o.get('padding', 0))


def convolve(x, w, strides, dilation, groups):
    return [F.conv1d, F.conv2d, F.conv3d][x.ndim - 3](x, w, stride=strides, dilation=dilation, groups=groups)


def in_double(function):
    """Integers, of which these products are exact in double precision, wrapped at the end."""

    def run(x, w, o={}):
        dtype = torch.promote_types(x.dtype, w.dtype)
        if dtype.is_floating_point:
            return function(x.to(dtype), w.to(dtype), o)
        if max([each.abs().max().item() if each.numel() else 0 for each in (x.double(), w.double())]) > 2**20:
            return whole(function, x, w, o).to(dtype)
        return function(x.double(), w.double(), o).to(torch.int64).to(dtype)

    return run


def whole(function, x, w, o):
    """Products of large integers, from 16 bits of each at a time."""
    result = 0
    for i in range(4):
        for j in range(4 - i):
            low = ((x.to(torch.int64) >> (16 * i)) & 0xFFFF).double()
            high = ((w.to(torch.int64) >> (16 * j)) & 0xFFFF).double()
            result = result + (function(low, high, o).to(torch.int64) << (16 * (i + j)))
    return result


def conv_(x, w, o={}):
    strides, dilation, pads = options(x, list(w.shape[2:]), o)
    return convolve(bordered(x, pads), w, strides, dilation, o.get('groups', 1))


def conv_transpose_(x, w, o={}):
    """The adjoint of `conv`, which it is by definition: the derivative of that by its operand."""
    kernel = list(w.shape[2:])
    count = len(kernel)
    strides, dilation = pair(o.get('strides', 1), count), pair(o.get('dilation', 1), count)
    places = x.shape[2:]
    if o.get('padding') == 'same':
        size = [n * t for n, t in zip(places, strides)]
    else:
        pads = spans(list(places), kernel, strides, dilation, o.get('padding', 0))
        extra = pair(o.get('outputPadding', 0), count)
        size = [(n - 1) * t - a - b + d * (k - 1) + 1 + e for n, t, (a, b), d, k, e in zip(places, strides, pads, dilation, kernel, extra)]
    groups = o.get('groups', 1)
    pads = spans(size, kernel, strides, dilation, o.get('padding', 0))
    function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][count - 1]
    whole = function(x, w, stride=strides, dilation=dilation, groups=groups)
    for axis, ((before, _), extent) in enumerate(zip(pads, size), 2):
        after = before + extent - whole.shape[axis]
        if after > 0:
            whole = bordered(whole, [(0, after if k == axis else 0) for k in range(2, whole.ndim)])
        whole = whole.narrow(axis, before, extent)
    return whole


reference('conv', rule='noise', once=False)(in_double(conv_))
reference('convTranspose', rule='noise', once=False)(in_double(conv_transpose_))


@reference('convWeightGradient', rule='noise', once=False)
def conv_weight_gradient(x, g, o={}):
    """From the windows of x, by hand: differentiable in both."""

    def run(x, g, o):
        kernel = o['kernel']
        strides, dilation, pads = options(x, kernel, o)
        groups = o.get('groups', 1)
        all = windows(bordered(x, pads), kernel, strides, dilation, list(g.shape[2:]))
        n, channels = x.shape[:2]
        all = all.reshape(n, groups, channels // groups, math.prod(kernel), -1)
        given = g.reshape(n, groups, g.shape[1] // groups, -1)
        found = torch.einsum('ngckp,ngop->gock', all, given)
        return found.reshape(g.shape[1], channels // groups, *kernel)

    return in_double(run)(x, g, o)


def windows(x, kernel, strides, dilation, counts=None):
    """[..., *size] as [..., *kernel, *count]."""
    rank = len(kernel)
    lead = x.ndim - rank
    for k in range(rank):
        axis = lead + k
        size = x.shape[axis]
        count = (size - dilation[k] * (kernel[k] - 1) - 1) // strides[k] + 1 if counts is None else counts[k]
        count = max(0, count)
        index = torch.arange(kernel[k])[:, None] * dilation[k] + torch.arange(count)[None] * strides[k]
        taken = x.index_select(axis, index.reshape(-1)).unflatten(axis, (kernel[k], count))
        # The place goes behind all kernels: [..., kernel, count, rest] to [..., kernel, rest, count].
        x = taken.movedim(axis + 1, -1)
    return x


def lowest_of(dtype):
    return -math.inf if dtype.is_floating_point else 0 if dtype in (torch.bool, torch.uint8) else torch.iinfo(dtype).min


def sliding(x, kernel, o={}):
    kernel = [kernel] * (x.ndim - 2) if isinstance(kernel, int) else kernel
    rank = len(kernel)
    strides, dilation = pair(o.get('strides', 1), rank), pair(o.get('dilation', 1), rank)
    pads = spans(list(x.shape[-rank:]), kernel, strides, dilation, o.get('padding', 0))
    value = 0
    if o.get('outside') == 'lowest':
        value = lowest_of(x.dtype)
    return windows(bordered(x, pads, value), kernel, strides, dilation)


reference('slidingWindows')(sliding)


@reference('slidingWindowsAdjoint', rule='noise', once=False)
def sliding_adjoint(g, size, o):
    rank = len(o['kernel'])
    shape = [*g.shape[: g.ndim - 2 * rank], *size]
    return positions_of(lambda x: sliding(x, o['kernel'], o), g, shape)


def greatest(flat):
    """The first maximum along axis 2, where NaN is the greatest."""
    if not flat.dtype.is_floating_point:
        return flat.any(2) if flat.dtype == torch.bool else flat.amax(2)
    nan = torch.isnan(flat)
    best = torch.where(nan, math.inf, flat.detach()).amax(2, keepdim=True)
    first = torch.where(nan.any(2, keepdim=True), nan, flat == best).to(torch.uint8).argmax(2, keepdim=True)
    return flat.gather(2, first).squeeze(2)


def pool_options(x, kernel, o):
    count = x.ndim - 2
    kernel = pair(kernel, count)
    strides = pair(o.get('strides', kernel), count)
    dilation = pair(o.get('dilation', 1), count)
    pads = spans(list(x.shape[2:]), kernel, strides, dilation, o.get('padding', 0))
    if o.get('ceilMode'):
        wider = []
        for size, k, t, d, (before, after) in zip(x.shape[2:], kernel, strides, dilation, pads):
            span = d * (k - 1) + 1
            n = math.ceil((size + before + after - span) / t) + 1
            n -= (n - 1) * t >= size + before
            wider.append((before, max(after, (n - 1) * t + span - size - before)))
        return kernel, strides, dilation, pads, wider
    return kernel, strides, dilation, pads, pads


@reference('maxPool', selects=True)
def max_pool(x, kernel, o={}):
    kernel, strides, dilation, _, pads = pool_options(x, kernel, o)
    all = windows(bordered(x, pads, lowest_of(x.dtype)), kernel, strides, dilation)
    flat = all.flatten(2, 1 + len(kernel))
    return greatest(flat)


@reference('avgPool', rule='noise', once=False)
def avg_pool(x, kernel, o={}):
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    kernel, strides, dilation, inside, pads = pool_options(x, kernel, o)
    all = windows(bordered(x, pads), kernel, strides, dilation).flatten(2, 1 + len(kernel))
    ones = torch.ones(1, 1, *x.shape[2:], dtype=x.dtype)
    if o.get('countIncludePad', True):
        beyond = [(wide[0] - near[0], wide[1] - near[1]) for wide, near in zip(pads, inside)]
        ones = bordered(bordered(ones, inside, 1), beyond)
    else:
        ones = bordered(ones, pads)
    counts = windows(ones, kernel, strides, dilation).flatten(2, 1 + len(kernel)).sum(2)
    return all.sum(2) / counts


def adaptive_size(x, size):
    sizes = size if isinstance(size, list) else [size] * (x.ndim - 2)
    return [n if m is None else m for n, m in zip(x.shape[2:], sizes)]


@reference('adaptiveAvgPool', rule='noise', once=False)
def adaptive_avg_pool(x, size):
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    pool = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d][x.ndim - 3]
    return pool(x, adaptive_size(x, size))


@reference('adaptiveMaxPool', selects=True)
def adaptive_max_pool(x, size):
    # Not PyTorch's operator: it takes no integers, and the last NaN of a bin.
    size = adaptive_size(x, size)
    bins = [
        tuple(slice(q * n // m, -(-(q + 1) * n // m)) for q, n, m in zip(index, x.shape[2:], size))
        for index in itertools.product(*map(range, size))
    ]
    return torch.stack([greatest(x[(..., *bin)].flatten(2)) for bin in bins], 2).unflatten(2, size)


@reference('exchangeBins')
def exchange_bins(x, bins, o={}):
    rank = len(bins)
    lead = x.shape[: x.ndim - 2 * rank]
    value = 0
    if o.get('outside') == 'lowest':
        value = lowest_of(x.dtype)
    extents = x.shape[x.ndim - rank :]
    widths = [max(-(-(q + 1) * n // m) - q * n // m for q in range(m)) for n, m in zip(extents, bins)]
    cells = []
    for r, q in itertools.product(itertools.product(*map(range, widths)), itertools.product(*map(range, bins))):
        p = [i * n // m + k for i, k, n, m in zip(q, r, extents, bins)]
        inside = all(at < -(-(i + 1) * n // m) for at, i, n, m in zip(p, q, extents, bins))
        slots = [i - at * m // n for at, i, n, m in zip(p, q, extents, bins)]
        cells.append(x[(..., *slots, *p)] if inside else torch.full(lead, value, dtype=x.dtype))
    return torch.stack(cells, len(lead)).unflatten(len(lead), (*widths, *bins))


@reference('windowCounts')
def window_counts(x, o, margin):
    kernel, strides, dilation = o['kernel'], o['strides'], o['dilation']
    ones = torch.ones(1, 1, *x.shape[-len(kernel):], dtype=torch.float64)
    margins = [tuple(each) for each in margin]
    pads = [tuple(each) for each in o['padding']]
    rest = [(p[0] - m[0], p[1] - m[1]) for p, m in zip(pads, margins)]
    all = windows(bordered(bordered(ones, margins, 1), rest), kernel, strides, dilation)
    return all.flatten(2, 1 + len(kernel)).sum(2)[0, 0].to(x.dtype)
