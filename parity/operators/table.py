"""The table of references: for every operator a function of what its user writes."""

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Reference:
    """How an operator is computed elsewhere, and how near two right results are.

    rule: 'exact', the rounded result, to the bit; 'ulp', a function of each element, within the bound of
    decision 5; 'noise', what its condition allows (see bounds.py).
    selects: the gradient goes where the greatest, the sorted or the first element is, whatever its value.
    mp: the function of elements in mpmath, of the arguments that its user writes, where PyTorch has errors of its own.
    once: every element is a term of one result; otherwise each may be of all.
    mean: results are sums divided by the number of their terms, and sums may leave the range.
    scale: the greatest term of what cancels, in mpmath, which the ulp of decision 5 is that of; zero where nothing does.
    """

    run: Callable
    rule: str
    selects: bool
    mp: Callable | None
    once: bool
    mean: bool
    scale: Callable | None


table: dict[str, Reference] = {}


def reference(*names, rule='exact', selects=False, mp=None, once=True, mean=False, scale=None):
    """Registers a function for operators; the arguments are those of `Reference`."""

    def register(run):
        for name in names:
            table[name] = Reference(run, rule, selects, mp, once, mean, scale)
        return run

    return register
