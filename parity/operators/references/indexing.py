"""Elements by position, and positions by element."""

import torch
import torch.nn.functional as F

from table import reference

from .movement import dtypes, positions_of


def positions(indices):
    return indices.to(torch.int64) if isinstance(indices, torch.Tensor) else torch.tensor(indices, dtype=torch.int64)


def checked(index, extent):
    if index.numel() and (index.min() < -extent or index.max() >= extent):
        raise IndexError('outside')
    return index % extent if extent else index


@reference('take')
def take(x, indices, o={}):
    index, axis, mode = positions(indices), o.get('axis'), o.get('mode', 'error')
    flat = x.reshape(-1) if axis is None else x
    axis = 0 if axis is None else axis % x.ndim
    extent = flat.shape[axis]
    if extent == 0 and index.numel() > 0:
        raise IndexError('nothing to take')
    index = index % extent if mode == 'wrap' and extent else index.clamp(0, extent - 1) if mode == 'clip' else checked(index, extent)
    return flat.index_select(axis, index.reshape(-1)).reshape(*flat.shape[:axis], *index.shape, *flat.shape[axis + 1 :])


reference('takeAdjoint', rule='noise', once=False)(lambda g, indices, shape, o={}: positions_of(lambda x: take(x, indices, o), g, shape))
reference('gather')(lambda x, indices, axis=-1: x.gather(axis, checked(positions(indices), x.shape[axis])))


def cut(x, index, axis):
    return [slice(0, n) if k != axis % x.ndim else slice(None) for k, n in enumerate(index.shape)]


def same_dtype(x, updates):
    return updates.to(x.dtype) if isinstance(updates, torch.Tensor) else torch.tensor(updates).to(x.dtype)


@reference('scatterAdd', rule='noise', once=False)
def scatter_add(x, indices, updates, axis=-1):
    updates = same_dtype(x, updates)
    index = checked(positions(indices), x.shape[axis])
    if x.dtype == torch.bool:
        return x.to(torch.int64).scatter_add(axis, index, updates.to(torch.int64)) > 0
    return x.scatter_add(axis, index, updates)


@reference('scatter')
def scatter(x, indices, updates, axis=-1):
    """The last of several updates stays, which PyTorch does not promise: an order of numbers says which it is."""
    updates = same_dtype(x, updates)
    index = checked(positions(indices), x.shape[axis])
    if updates.numel() == 0:
        return x * 1 if x.dtype != torch.bool else x
    number = torch.arange(1, index.numel() + 1).reshape(index.shape)
    last = torch.zeros(x.shape, dtype=torch.int64).scatter_reduce(axis, index, number, 'amax')
    return torch.where(last > 0, updates.reshape(-1)[(last - 1).clamp(min=0)], x)


def order(x, axis, descending):
    """NaN is the greatest; equal elements keep their order."""
    x = x.detach()
    x = x.to(torch.uint8) if x.dtype == torch.bool else x
    return torch.argsort(x, dim=axis, descending=descending, stable=True)


@reference('argsort')
def argsort(x, axis=-1, o={}):
    if x.ndim == 0:
        raise ValueError('no axis')
    return order(x, axis, o.get('descending', False))


@reference('sort', selects=True)
def sort(x, axis=-1, o={}):
    return x.gather(axis, argsort(x, axis, o))


@reference('argselect')
def argselect(x, k, axis=-1, o={}):
    return order(x, axis, o.get('descending', False)).narrow(axis, 0, k)


@reference('topK', selects=True)
def top_k(x, k, axis=-1, o={}):
    index = order(x, axis, o.get('largest', True)).narrow(axis, 0, k)
    return [x.gather(axis, index), index]


@reference('searchsorted')
def searchsorted(sorted, values, o={}):
    if sorted.dtype == torch.bool:
        sorted, values = sorted.to(torch.uint8), values.to(torch.uint8)
    return torch.searchsorted(sorted, values, side=o.get('side', 'left'))


@reference('oneHot')
def one_hot(indices, depth, o={}):
    return (positions(indices).unsqueeze(-1) == torch.arange(depth)).to(dtypes[o.get('dtype', 'float32')])


@reference('classPosition')
def class_position(labels, classes, o={}):
    ignored = o.get('ignoreIndex')
    counts = torch.ones_like(labels, dtype=torch.bool) if ignored is None else labels != ignored
    return torch.where(counts, labels.to(torch.int32), -1)
