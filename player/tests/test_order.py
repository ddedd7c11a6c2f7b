"""Order of the examples."""

import numpy as np

from kaon_player.data.order import batch_rows, permutation


def splitmix(state: int) -> "list[int]":
    """The generator as published (Steele, Lea, Flood 2014), on Python's integers."""
    mask, found = (1 << 64) - 1, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(z ^ (z >> 31))
    return found


def test_generator_is_the_published_one() -> None:
    # Values that are published for the seed 1234567.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert splitmix(1234567)[:4] == published


def test_permutation_is_fisher_yates_from_the_end() -> None:
    order = list(range(6))
    for i, number in zip(range(5, 0, -1), splitmix(3 * 2**32 + 2), strict=True):
        j = int((number >> 11) * 2.0**-53 * (i + 1))
        order[i], order[j] = order[j], order[i]
    assert permutation(6, 3, 2).tolist() == order


def test_epochs_have_every_example_at_most_once() -> None:
    for epoch in range(3):
        rows = np.concatenate([batch_rows(10, 3, 7, epoch * 3 + step) for step in range(3)])
        assert len(set(rows.tolist())) == 9
        assert set(rows.tolist()) <= set(range(10))
    assert permutation(10, 7, 0).tolist() != permutation(10, 7, 1).tolist()
    assert permutation(10, 7, 0).tolist() != permutation(10, 8, 0).tolist()
    assert permutation(1, 0, 0).tolist() == [0]


def test_large_seeds_wrap_around() -> None:
    assert sorted(permutation(5, 2**40, 2).tolist()) == list(range(5))
    assert permutation(5, 2**40, 2).tolist() == permutation(5, 0, 2).tolist()  # modulo 2^64
