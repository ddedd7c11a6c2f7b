"""Elements that go elsewhere, arrays made of nothing but their shape, and the adjoints of both."""

import math

import torch

from table import reference

from .common import axes_of, pair

dtypes = {'bool': torch.bool, 'uint8': torch.uint8, 'int8': torch.int8, 'int32': torch.int32, 'int64': torch.int64, 'bfloat16': torch.bfloat16, 'float16': torch.float16, 'float32': torch.float32, 'float64': torch.float64}  # fmt: skip


def one_dtype(arrays):
    dtype = arrays[0].dtype
    for each in arrays:
        dtype = torch.promote_types(dtype, each.dtype)
    return [each.to(dtype) for each in arrays]


def positions_of(move, g, shape):
    """The adjoint of what only moves elements: `g` added at the number of the element that stands there."""
    count = math.prod(shape)
    # 0 stands for what comes in from outside.
    numbers = move(torch.arange(1, count + 1).reshape(shape))
    wide = g if g.dtype.is_floating_point else g.to(torch.int64)
    found = torch.zeros(count + 1, dtype=wide.dtype).index_add(0, numbers.reshape(-1), wide.reshape(-1))[1:].reshape(shape)
    return found > 0 if g.dtype == torch.bool else found.to(g.dtype)


reference('reshape')(lambda x, shape: x.reshape(shape))
reference('flatten')(lambda x: x.reshape(-1))
reference('expandDims')(lambda x, axes: expanded(x, axes))
reference('squeeze')(lambda x, axes=None: x.squeeze() if axes is None else x.squeeze(tuple(pair(axes, 1))))
reference('transpose')(lambda x, axes=None: x.permute(list(axes if axes is not None else reversed(range(x.ndim)))))
reference('swapaxes')(torch.swapaxes)
reference('moveaxis')(torch.movedim)
reference('broadcastTo')(lambda x, shape: x.broadcast_to(shape))
reference('stretchTo')(lambda x, shape, op: x.broadcast_to(shape))
reference('concat')(lambda arrays, axis=0: torch.cat(one_dtype(arrays), axis))
reference('stack')(lambda arrays, axis=0: torch.stack(one_dtype(arrays), axis))
reference('tile')(lambda x, repeats: torch.tile(x, tuple(pair(repeats, 1))))
reference('repeat')(lambda x, count, axis=None: torch.repeat_interleave(x, count, axis))
reference('flip')(lambda x, axes=None: x.flip(axes_of(axes, x.ndim)))
reference('roll')(lambda x, shifts, axes=None: torch.roll(x, shifts, axes))
reference('rot90')(lambda x, k=1, axes=(0, 1): torch.rot90(x, k, tuple(axes)))
reference('tril')(torch.tril)
reference('triu')(torch.triu)
reference('diagonal')(torch.diagonal)
reference('diagonalAdjoint', rule='noise')(lambda g, shape, *where: positions_of(lambda x: torch.diagonal(x, *where), g, shape))
reference('fill')(lambda shape, value, dtype='float32': torch.full(shape, value, dtype=dtypes[dtype]))
reference('fullLike')(lambda x, value, o={}: torch.full(o.get('shape') or x.shape, value, dtype=dtypes[o['dtype']] if 'dtype' in o else x.dtype))
reference('zerosLike')(lambda x, o={}: torch.zeros(o.get('shape') or x.shape, dtype=dtypes[o['dtype']] if 'dtype' in o else x.dtype))
reference('onesLike')(lambda x, o={}: torch.ones(o.get('shape') or x.shape, dtype=dtypes[o['dtype']] if 'dtype' in o else x.dtype))
reference('dimLike')(lambda x, dim, o={}: torch.full([], dim, dtype=dtypes[o['dtype']] if 'dtype' in o else x.dtype))
reference('shapeOf')(lambda x: torch.tensor(x.shape, dtype=torch.int64))
reference('sliceAdjoint', rule='noise')(lambda g, shape, indices: positions_of(lambda x: sliced(x, *indices), g, shape))
reference('padAdjoint', rule='noise', once=False)(lambda g, shape, widths, mode: positions_of(lambda x: padded(x, widths, {'mode': mode}), g, shape))


def expanded(x, axes):
    axes = pair(axes, 1)
    rank = x.ndim + len(axes)
    for axis in sorted(each % rank for each in axes):
        x = x.unsqueeze(axis)
    return x


@reference('slice')
def sliced(x, *indices):
    rest = x.ndim - sum(each is not None and each != '...' for each in indices)
    axis = 0
    for each in indices:
        if each is None:
            x = x.unsqueeze(axis)
            axis += 1
        elif each == '...':
            axis += rest
        elif each == ':':
            axis += 1
        elif isinstance(each, int):
            if not -x.shape[axis] <= each < x.shape[axis]:
                raise IndexError(each)
            x = x.select(axis, each)
        else:
            start, stop, step = [*each, None, None][:3] if len(each) < 3 else each
            at = range(x.shape[axis])[slice(start, stop, step)]
            x = x.index_select(axis, torch.tensor(list(at), dtype=torch.int64))
            axis += 1
    return x


@reference('split')
def split(x, sections, axis=0):
    if isinstance(sections, int):
        if x.shape[axis] % sections:
            raise ValueError('does not divide')
        return list(x.tensor_split(sections, axis))
    return list(x.tensor_split(sections, axis))


@reference('pad')
def padded(x, widths, o={}):
    mode = o.get('mode', 'constant')
    pairs = [[widths, widths]] * x.ndim if isinstance(widths, int) else [widths] * x.ndim if isinstance(widths[0], int) else widths
    for axis, (before, after) in enumerate(pairs):
        extent = x.shape[axis]
        if mode == 'constant':
            value = torch.tensor(o.get('value', 0)).to(x.dtype)
            x = torch.cat([value.expand(*[before if k == axis else n for k, n in enumerate(x.shape)]), x, value.expand(*[after if k == axis else n for k, n in enumerate(x.shape)])], axis)
            continue
        index = torch.arange(-before, extent + after)
        if extent == 0 and before + after > 0:
            raise ValueError('nothing to pad from')
        if mode == 'edge':
            index = index.clamp(0, extent - 1)
        elif mode == 'wrap':
            index = index % extent
        else:
            period = max(1, 2 * (extent - 1))
            index = index % period
            index = torch.where(index >= extent, period - index, index)
        x = x.index_select(axis, index)
    return x


@reference('shift')
def shift(x, count, axis=-1):
    extent = x.shape[axis]
    moved = torch.zeros_like(x)
    kept = max(0, extent - abs(count))
    if kept == 0:
        return moved
    return torch.cat([moved.narrow(axis, 0, extent - kept), x.narrow(axis, 0, kept)] if count > 0 else [x.narrow(axis, -count, kept), moved.narrow(axis, 0, extent - kept)], axis)


@reference('meshgrid')
def meshgrid(arrays, o={}):
    return [each * 1 if each.dtype != torch.bool else each for each in torch.meshgrid(*arrays, indexing=o.get('indexing', 'xy'))]


@reference('eye')
def eye(rows, columns=None, o={}):
    return (torch.arange(rows)[:, None] + o.get('k', 0) == torch.arange(columns if columns is not None else rows)[None]).to(dtypes[o.get('dtype', 'float32')])


@reference('iota')
def iota(length, o={}):
    return (torch.arange(length, dtype=torch.float64) * o.get('step', 1) + o.get('start', 0)).to(dtypes[o.get('dtype', 'float32')])
