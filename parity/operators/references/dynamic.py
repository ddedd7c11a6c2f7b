"""Results whose sizes the data decides, and places that it decides."""

import math

import numpy as np
import torch

from table import reference

from .common import pair


@reference('booleanMask')
def boolean_mask(x, mask):
    mask = mask if isinstance(mask, torch.Tensor) else torch.tensor(mask)
    if mask.dtype != torch.bool:
        raise TypeError('no mask')
    if mask.ndim == 0:
        return x.unsqueeze(0) if mask else x.unsqueeze(0)[:0]
    return x[mask]


reference('nonzero')(lambda x: torch.nonzero(x))
reference('unravelIndex')(lambda positions, shape: torch.stack(torch.unravel_index(positions.to(torch.int64), shape), -1) if shape else torch.zeros(*positions.shape, 0, dtype=torch.int64))


@reference('countedPositions')
def counted_positions(counts, rows):
    all = [i for i, n in enumerate(counts.tolist()) for _ in range(max(0, int(n)))][:rows]
    return torch.tensor(all + [0] * (rows - len(all)), dtype=torch.int32)


@reference('repeatEach')
def repeat_each(x, counts, axis=None):
    counts = counts.to(torch.int64) if isinstance(counts, torch.Tensor) else torch.tensor(counts)
    flat = x.reshape(-1) if axis is None else x
    axis = 0 if axis is None else axis
    counts = counts.expand(flat.shape[axis]) if counts.ndim == 0 else counts
    return torch.repeat_interleave(flat, counts, axis)


@reference('unique')
def unique(x, o={}):
    """NumPy's, with NaNs that equal one another, which along an axis are not equal there."""
    axis = o.get('axis')
    rows = x.reshape(-1, 1) if axis is None else x.movedim(axis, 0).reshape(x.shape[axis], -1)
    keys = [tuple(numbered(value) for value in row) for row in rows.detach().tolist()]
    order = sorted(range(len(keys)), key=lambda i: keys[i])
    first, inverse, counts = [], [0] * len(keys), []
    for i in order:
        if not first or keys[i] != keys[first[-1]]:
            first.append(i)
            counts.append(0)
        inverse[i] = len(first) - 1
        counts[-1] += 1
    index = torch.tensor(first, dtype=torch.int64)
    whole = torch.tensor(inverse, dtype=torch.int64)
    values = x.reshape(-1)[index] if axis is None else x.index_select(axis, index)
    asked = {'returnIndex': index, 'returnInverse': whole.reshape(x.shape) if axis is None else whole, 'returnCounts': torch.tensor(counts, dtype=torch.int64)}
    return [values, *[each for option, each in asked.items() if o.get(option)]]


def numbered(value):
    """Ordered with NaN last."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


@reference('argsortRows')
def argsort_rows(x):
    keys = [tuple(numbered(value) for value in row) for row in x.tolist()]
    return torch.tensor(sorted(range(len(keys)), key=lambda i: keys[i]), dtype=torch.int64)


@reference('runStarts')
def run_starts(x, order):
    extent = x.shape[0]
    rows = [[numbered(value) for value in x[min(max(i + extent if i < 0 else i, 0), extent - 1)].reshape(-1).tolist()] for i in order.tolist()]
    return torch.tensor([i == 0 or row != rows[i - 1] for i, row in enumerate(rows)], dtype=torch.bool)


def begins(x, extents, start, axes):
    """Where a block begins, as in JAX: negative starts count from the end, and it is moved to lie within."""
    starts = start.reshape(-1).tolist() if isinstance(start, torch.Tensor) else pair(start, 1)
    axes = list(range(x.ndim)) if axes is None else pair(axes, 1)
    place = []
    for s, axis in zip(starts, axes):
        extent, size = x.shape[axis], extents[axis]
        if size > extent:
            raise ValueError('larger than the array')
        place.append((axis % x.ndim, min(max(int(s) + extent if s < 0 else int(s), 0), extent - size)))
    return place


@reference('dynamicSlice')
def dynamic_slice(x, start, sizes, axes=None):
    sizes = pair(sizes, 1)
    which = list(range(x.ndim)) if axes is None else pair(axes, 1)
    extents = list(x.shape)
    for axis, size in zip(which, sizes):
        extents[axis] = size
    for axis, at in begins(x, extents, start, axes):
        x = x.narrow(axis, at, extents[axis])
    return x


@reference('updateSlice')
def update_slice(x, update, start, axes=None):
    update = update if isinstance(update, torch.Tensor) else torch.tensor(update)
    place = dict(begins(x, list(update.shape), start, axes))
    inside = torch.zeros(x.shape, dtype=torch.bool)
    inside[tuple(slice(place.get(k, 0), place.get(k, 0) + update.shape[k]) for k in range(x.ndim))] = True
    return torch.masked_scatter(x, inside, update.to(x.dtype))


reference('extents')(lambda sizes, o={}: torch.zeros(pair(sizes.tolist(), 1), dtype=torch.bool))


@reference('completedSizes')
def completed_sizes(sizes, count):
    # Where another size is 0 nothing can be left: any number is refused by who compares the counts.
    rest = math.prod(n for n in sizes.tolist() if n != -1) or 1
    return torch.tensor([count // rest if n == -1 else n for n in sizes.tolist()], dtype=sizes.dtype if sizes.dtype == torch.int64 else torch.int32)


reference('openExtents')(lambda sizes, count: torch.zeros(completed_sizes(sizes, count).tolist(), dtype=torch.bool))


def overlap(a, b):
    """The part of their union that two boxes share, each given by two opposite corners."""
    def ends(box, k):
        return min(box[k], box[k + 2]), max(box[k], box[k + 2])

    area = lambda box: math.prod(high - low for low, high in (ends(box, 0), ends(box, 1)))  # noqa: E731
    shared = 1
    for k in (0, 1):
        (low, high), (left, right) = ends(a, k), ends(b, k)
        shared *= max(0, min(high, right) - max(low, left))
    union = area(a) + area(b) - shared
    return shared / union if area(a) > 0 and area(b) > 0 and union > 0 else 0


def kept(boxes, scores, order, o):
    found, places = [], []
    for i in order:
        enough = scores[i] > o.get('scoreThreshold', -math.inf)
        room = o.get('maxOutputSize') is None or len(found) < o['maxOutputSize']
        stays = enough and room and all(overlap(boxes[i], boxes[j]) <= o.get('iouThreshold', 0.5) for j in found)
        found += [i] if stays else []
        places.append(stays)
    return found, places


@reference('keptBoxes')
def kept_boxes(boxes, scores, order, o={}):
    n = len(scores)
    order = [min(max(i, 0), n - 1) for i in order.tolist()]
    return torch.tensor(kept(boxes.tolist(), scores.tolist(), order, o)[1], dtype=torch.bool)


@reference('nonMaxSuppression')
def non_max_suppression(boxes, scores, o={}):
    order = torch.argsort(scores, descending=True, stable=True).tolist()
    return torch.tensor(kept(boxes.tolist(), scores.tolist(), order, o)[0], dtype=torch.int64)


@reference('withSizes')
def with_sizes(x, shape, op):
    return x
