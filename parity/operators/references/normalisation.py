"""Softmax, normalisations, attention."""

import torch
import torch.nn.functional as F

from table import reference

from .common import axes_of


def floating(x):
    return x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())


reference('softmax', rule='noise', once=False)(lambda x, axis=-1: torch.softmax(floating(x), axis))
reference('logSoftmax', rule='noise', once=False)(lambda x, axis=-1: log_softmax(floating(x), axis))


def log_softmax(x, axis):
    """Term by term: next to 0 the logarithm of the sum has errors of an ulp of 1, in one operator as in several."""
    if x.numel() == 0:
        return x * 1
    far = x - x.detach().amax(axis, keepdim=True)
    return far - torch.log(torch.exp(far).sum(axis, keepdim=True))


def affine(rest):
    """gamma, beta and options, each of which may be absent."""
    rest = list(rest)
    o = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    gamma, beta = [*rest, None, None][:2]
    return gamma, beta, o


def scaled(normal, gamma, beta, shape):
    normal = normal if gamma is None else normal * gamma.reshape(shape)
    return normal if beta is None else normal + beta.reshape(shape)


def standard(x, axes, epsilon):
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / torch.sqrt(((x - mean) ** 2).mean(axes, keepdim=True) + epsilon)


def parameter_shape(x, axes):
    first = min(axes)
    return [x.shape[k] if k in axes else 1 for k in range(first, x.ndim)]


@reference('layerNorm', rule='noise', once=False)
def layer_norm(x, *rest):
    gamma, beta, o = affine(rest)
    x = floating(x)
    axes = axes_of(o.get('axes', [-1]), x.ndim)
    return scaled(standard(x, axes, o.get('epsilon', 1e-5)), gamma, beta, parameter_shape(x, axes))


@reference('rmsNorm', rule='noise', once=False)
def rms_norm(x, *rest):
    gamma, _, o = affine(rest)
    x = floating(x)
    axes = axes_of(o.get('axes', [-1]), x.ndim)
    return scaled(x / torch.sqrt((x * x).mean(axes, keepdim=True) + o.get('epsilon', 1e-5)), gamma, None, parameter_shape(x, axes))


@reference('l2Normalize', rule='noise', once=False)
def l2_normalize(x, *rest):
    rest = list(rest)
    o = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    axes = axes_of(rest[0] if rest else -1, x.ndim) if not (rest and rest[0] is None) else list(range(x.ndim))
    x = floating(x)
    squares = (x * x).sum(axes, keepdim=True)
    return x / torch.sqrt(torch.clamp(squares, min=o.get('epsilon', 1e-12) ** 2))


@reference('groupNorm', rule='noise', once=False)
def group_norm(x, groups, *rest):
    gamma, beta, o = affine(rest)
    x = floating(x)
    split = x.unflatten(1, (groups, x.shape[1] // groups))
    normal = standard(split, list(range(2, split.ndim)), o.get('epsilon', 1e-5)).flatten(1, 2)
    return scaled(normal, gamma, beta, [-1] + [1] * (x.ndim - 2))


@reference('instanceNorm', rule='noise', once=False)
def instance_norm(x, *rest):
    gamma, beta, o = affine(rest)
    x = floating(x)
    normal = standard(x, list(range(2, x.ndim)), o.get('epsilon', 1e-5))
    return scaled(normal, gamma, beta, [-1] + [1] * (x.ndim - 2))


def channel_shape(x, axis):
    return [x.shape[k] if k == axis % x.ndim else 1 for k in range(x.ndim)]


@reference('batchNorm', rule='noise', once=False)
def batch_norm(x, mean, variance, *rest):
    gamma, beta, o = affine(rest)
    x = floating(x)
    along = channel_shape(x, o.get('axis', 1))
    normal = (x - mean.reshape(along)) / torch.sqrt(variance.reshape(along) + o.get('epsilon', 1e-5))
    return scaled(normal, gamma, beta, along)


@reference('batchNormTraining', rule='noise', once=False)
def batch_norm_training(x, *rest):
    gamma, beta, o = affine(rest)
    x = floating(x)
    axis = o.get('axis', 1) % x.ndim
    axes = [k for k in range(x.ndim) if k != axis]
    mean = x.mean(axes)
    along = channel_shape(x, axis)
    variance = ((x - mean.reshape(along)) ** 2).mean(axes)
    epsilon = o.get('epsilon', 1e-5)
    if x.dtype != torch.float64 and x.numel() > x.shape[axis]:
        # What tells whether an error is shared is PyTorch's operator, whose derivative is not that of its parts.
        whole = F.batch_norm(x.movedim(axis, 1), None, None, gamma, beta, True, 0.1, epsilon)
        return [whole.movedim(1, axis), mean, variance]
    normal = (x - mean.reshape(along)) / torch.sqrt(variance.reshape(along) + epsilon)
    return [scaled(normal, gamma, beta, along), mean, variance]


@reference('attention', rule='noise', once=False)
def attention(q, k, v, o={}):
    q, k, v = floating(q), floating(k), floating(v)
    scale = o.get('scale')
    scores = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None and q.shape[-1] else scale or 1.0)
    mask = o.get('mask')
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if o.get('causal'):
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    return weights_of(scores) @ v


def weights_of(scores):
    """A query that sees no key has no weights."""
    weights = torch.softmax(scores, -1)
    if not scores.shape[-1]:
        return weights
    return torch.where((scores == -torch.inf).all(-1, keepdim=True), 0.0, weights)


@reference('attentionGradient', rule='noise', once=False)
def attention_gradient(q, k, v, g, mask, o):
    """From the derivative of softmax by hand, with all leading axes of g."""
    q, k, v, g = (floating(each) for each in (q, k, v, g))
    lead = g.shape[:-2]
    q, k, v = (each.expand(*lead, *each.shape[-2:]) for each in (q, k, v))
    factor = o.get('scale')
    factor = q.shape[-1] ** -0.5 if factor is None and q.shape[-1] else factor or 1.0
    scores = q @ k.transpose(-1, -2) * factor
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if o.get('causal'):
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    weights = weights_of(scores)
    flow = g @ v.transpose(-1, -2)
    inner = weights * (flow - (flow * weights).sum(-1, keepdim=True)) * factor
    return [inner @ k, inner.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ g]
