"""Order of the examples: a permutation for each epoch, from the seed of the job."""

import functools

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1


def _draws(seed: int, count: int) -> list[float]:
    """Uniform numbers in [0, 1) of the generator splitmix64."""
    # Done on whole columns: its state is a counter.
    state = np.uint64(seed & _MASK) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    numbers: list[float] = ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53).tolist()
    return numbers


@functools.lru_cache(maxsize=2)
def permutation(count: int, seed: int, epoch: int) -> npt.NDArray[np.int64]:
    """Order of an epoch: Fisher-Yates from the end. A function of the seed and the epoch alone."""
    order = list(range(count))
    for i, draw in zip(range(count - 1, 0, -1), _draws(seed * 2**32 + epoch, max(count - 1, 0)), strict=True):
        j = int(draw * (i + 1))
        order[i], order[j] = order[j], order[i]
    result = np.array(order, dtype=np.int64)
    result.flags.writeable = False
    return result


def batch_rows(count: int, batch: int, seed: int, step: int) -> npt.NDArray[np.int64]:
    """Examples of a step's batch; what an epoch has beyond whole batches is dropped."""
    batches = count // batch
    epoch, index = divmod(step, batches)
    return permutation(count, seed, epoch)[index * batch : (index + 1) * batch]
