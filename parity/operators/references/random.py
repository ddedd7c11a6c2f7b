"""Random numbers from the published generator, in NumPy's integers; distributions by SciPy."""

import numpy as np
import torch
from scipy import special

from table import reference

from .movement import dtypes


def words(state, shape):
    """Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, SC 2011): two words for every element."""
    seed, counter = (int(each) & (2**64 - 1) for each in state.tolist())
    low, high = (lambda n: np.uint32(n & 0xFFFFFFFF)), (lambda n: np.uint32(n >> 32))
    keys = [low(seed), high(seed) ^ high(counter)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    with np.errstate(over='ignore'):
        x = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.uint32) + keys[0]
        y = np.full_like(x, low(counter)) + keys[1]
        for turn in range(20):
            x = x + y
            by = np.uint32([13, 15, 26, 6, 17, 29, 16, 24][turn % 8])
            y = ((y << by) | (y >> (np.uint32(32) - by))) ^ x
            if turn % 4 == 3:
                step = turn // 4 + 1
                x = x + keys[step % 3]
                y = y + keys[(step + 1) % 3] + np.uint32(step)
    return x.reshape(shape), y.reshape(shape)


@reference('randomBits')
def random_bits(state, shape):
    return torch.from_numpy(words(state, shape)[0].view(np.int32).copy())


bits = {'float16': 11, 'bfloat16': 8, 'float32': 24, 'float64': 53}


@reference('randomUniform', rule='noise')
def random_uniform(state, shape, o={}):
    first, second = words(state, shape)
    dtype, low, high = o.get('dtype', 'float32'), o.get('low', 0), o.get('high', 1)
    digits = bits[dtype]
    if digits <= 32:
        part = (first >> np.uint32(32 - digits)).astype(np.float64) * 2.0**-digits
    else:
        part = ((first >> np.uint32(5)).astype(np.float64) * 2.0**26 + (second >> np.uint32(6))) * 2.0**-53
    return torch.from_numpy(np.asarray(part * (high - low) + low)).to(dtypes[dtype])


@reference('randomInteger')
def random_integer(state, shape, o):
    first, second = words(state, shape)
    low, high = o.get('low', 0), o['high']
    value = ((first >> np.uint32(1)).astype(np.int64) << 32) | second.astype(np.int64)
    return torch.from_numpy(np.asarray(value % (high - low) + low)).to(dtypes[o.get('dtype', 'int32')])


@reference('randomNormal', rule='noise')
def random_normal(state, shape, o={}):
    first, second = words(state, shape)
    dtype = o.get('dtype', 'float32')
    rest = (first & np.uint32(0x7FFFFFFF)).astype(np.float64)
    if dtype == 'float64':
        probability = (rest * 2.0**21 + (second >> np.uint32(11)) + 0.5) * 2.0**-53
    else:
        probability = (rest + 0.5) * 2.0**-32
    magnitude = special.ndtri(probability)
    value = np.where(first >= 2**31, magnitude, -magnitude)
    return torch.from_numpy(np.asarray(value * o.get('std', 1) + o.get('mean', 0))).to(dtypes[dtype])
