"""Folds over axes, and running ones."""

import torch

from table import reference

from .common import axes_of


def folded(function, empty=None):
    """A fold over one flattened axis as one over any axes."""

    def run(x, axis=None, o={}):
        axes = axes_of(axis, x.ndim)
        rest = [each for each in range(x.ndim) if each not in axes]
        count = 1
        for each in axes:
            count *= x.shape[each]
        flat = x.permute([*rest, *axes]).reshape(*[x.shape[each] for each in rest], count)
        result = function(flat, o)
        if o.get('keepdims'):
            result = result.reshape([1 if each in axes else x.shape[each] for each in range(x.ndim)])
        return result

    return run


def floating(x):
    return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())


reference('sum', rule='noise')(folded(lambda x, o: x.sum(-1)))
reference('mean', rule='noise', mean=True)(folded(lambda x, o: floating(x).mean(-1)))
reference('nansum', rule='noise')(folded(lambda x, o: x.nansum(-1)))
reference('nanmean', rule='noise', mean=True)(folded(lambda x, o: floating(x).nanmean(-1)))
reference('prod', rule='noise', once=False)(folded(lambda x, o: product(x)))
reference('all')(folded(lambda x, o: (x != 0).all(-1)))
reference('any')(folded(lambda x, o: (x != 0).any(-1)))
reference('countNonzero')(folded(lambda x, o: (x != 0).sum(-1)))
reference('max', selects=True)(folded(lambda x, o: x.any(-1) if x.dtype == torch.bool else extreme(x, torch.amax)))
reference('min', selects=True)(folded(lambda x, o: x.all(-1) if x.dtype == torch.bool else extreme(x, torch.amin)))
reference('var', rule='noise', once=False, mean=True)(folded(lambda x, o: variance(floating(x), o)))
reference('std', rule='noise', once=False)(folded(lambda x, o: deviation(floating(x), o)))
reference('logsumexp', rule='noise', once=False)(folded(lambda x, o: log_sum_exp(floating(x))))
reference('norm', rule='noise', once=False)(folded(lambda x, o: torch.linalg.vector_norm(floating(x), order(o), -1)))


def extreme(x, fold):
    """Ties share the gradient, as those of `amax` do; NaN is the extreme, and what is beside it gets nothing, as from `max(axis)`."""
    if not x.dtype.is_floating_point or x.shape[-1] == 0:
        return fold(x, -1)
    best = fold(x.detach(), -1, keepdim=True)
    attains = (x.detach() == best) | (torch.isnan(x.detach()) & torch.isnan(best))
    return Chosen.apply(x, best.squeeze(-1), attains)


class Chosen(torch.autograd.Function):
    """Values, and from which elements, in equal parts, they are."""

    @staticmethod
    def forward(context, x, value, chosen):
        context.save_for_backward(chosen)
        return value.clone()

    @staticmethod
    def backward(context, grad):
        (chosen,) = context.saved_tensors
        return torch.where(chosen, (grad / chosen.sum(-1)).unsqueeze(-1), 0), None, None


def log_sum_exp(x):
    """By the shifted terms, of which the gradient are the shares: PyTorch's takes e to the rounded result."""
    if x.shape[-1] == 0:
        return torch.logsumexp(x, -1)
    most = x.detach().amax(-1, keepdim=True)
    most = torch.where(torch.isfinite(most), most, 0)
    return torch.log(torch.exp(x - most).sum(-1)) + most.squeeze(-1)


def wide(x):
    return x if x.dtype.is_floating_point else x.to(torch.int64)


def product(x):
    """Factor by factor: PyTorch's derivative divides by the factors, and so loses those beside NaN and infinity."""
    result = torch.ones_like(wide(x).sum(-1))
    for factor in wide(x).unbind(-1):
        result = result * factor
    return result


def running_product(x, axis):
    rows = []
    for factor in wide(x).unbind(axis):
        rows.append(factor if not rows else rows[-1] * factor)
    return torch.stack(rows, axis) if rows else wide(x) * 1


def order(o):
    """Infinity travels as null in an attribute's JSON."""
    ord = o.get('ord', 2)
    return float('inf') if ord is None else ord


def variance(x, o):
    return torch.var(x, -1, correction=o.get('correction', 0))


def deviation(x, o):
    return torch.std(x, -1, correction=o.get('correction', 0))


def position(function):
    def run(x, axis=None, o={}):
        keep = o.get('keepdims', False)
        x = x.to(torch.uint8) if x.dtype == torch.bool else x
        # The first of equal elements: PyTorch promises none of them, a stable order does.
        flat = x.reshape(-1) if axis is None else x.movedim(axis, -1)
        if flat.shape[-1] == 0:
            raise ValueError('there is no element')
        nan = torch.isnan(flat) if flat.dtype.is_floating_point else torch.zeros_like(flat, dtype=torch.bool)
        best = function(torch.where(nan, 0, flat) if nan.any() else flat, -1, keepdim=True)
        hit = torch.where(nan.any(-1, keepdim=True), nan, flat == (best if not nan.any() else function(torch.where(nan, function(flat[~nan], -1) if (~nan).any() else 0, flat), -1, keepdim=True)))
        found = hit.to(torch.uint8).argmax(-1)
        if axis is None:
            return found.reshape([1] * x.ndim) if keep else found
        return found.unsqueeze(axis) if keep else found

    return run


reference('argmax')(position(torch.amax))
reference('argmin')(position(torch.amin))


def running(function):
    """A running fold with Kaon's options: from the end, without the element itself, over the flattened array."""

    def run(x, axis=None, o={}):
        if isinstance(axis, dict):
            axis, o = None, axis
        x = x.reshape(-1) if axis is None else x
        axis = 0 if axis is None else axis
        if x.ndim == 0:
            raise ValueError('there is no axis')
        x = x.flip(axis) if o.get('reverse') else x
        result = function(x, axis, o)
        return result.flip(axis) if o.get('reverse') else result

    return run


def moved(x, axis, first):
    """One place further; `first` comes in."""
    if x.shape[axis] == 0:
        return x
    return torch.cat([torch.full_like(x.narrow(axis, 0, 1), first), x.narrow(axis, 0, x.shape[axis] - 1)], axis)


reference('cumsum', rule='noise', once=False)(running(lambda x, axis, o: torch.cumsum(moved(x, axis, 0) if o.get('exclusive') else x, axis)))
reference('cumprod', rule='noise', once=False)(running(lambda x, axis, o: running_product(moved(x, axis, 1) if o.get('exclusive') else x, axis)))
reference('cummax', selects=True)(running(lambda x, axis, o: torch.cummax(x, axis).values))
reference('cummin', selects=True)(running(lambda x, axis, o: torch.cummin(x, axis).values))


def extreme_position(function):
    def run(x, axis, o={}):
        if o.get('reverse'):
            return x.shape[axis] - 1 - function(x.flip(axis), axis).indices.flip(axis)
        return function(x, axis).indices

    return run


reference('cummaxPosition')(extreme_position(torch.cummax))
reference('cumminPosition')(extreme_position(torch.cummin))


@reference('recurrence', rule='noise', once=False)
def recurrence(a, b, axis=-1, o={}):
    a, b = a.movedim(axis, 0), b.movedim(axis, 0)
    if o.get('reverse'):
        a, b = a.flip(0), b.flip(0)
    rows = []
    for factor, term in zip(a, b):
        both = torch.logical_or if a.dtype == torch.bool else torch.add
        rows.append(term if not rows else both(factor * rows[-1], term))
    y = torch.stack(rows) if rows else a * b
    return (y.flip(0) if o.get('reverse') else y).movedim(0, axis)
