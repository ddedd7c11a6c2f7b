"""Kaon's results beside those of the references."""

import math

import numpy as np
import torch

import bounds
from conventions import convention_of
from evaluate import converted, evaluate, filled


def judge_case(operator, operands, entry, case):
    """What is to be said of a case: for every result and part 'right', or what differs."""
    differentiated = [k for k, each in enumerate(case.inputs) if each.dtype.is_floating_point]
    own = attempt(lambda: in_own_dtypes(operands, entry, case, differentiated))
    torch.set_default_dtype(torch.float64)
    exact = attempt(lambda: in_double(operands, entry, case, differentiated))
    torch.set_default_dtype(torch.float32)
    if case.refusal is not None:
        both = isinstance(exact, Exception) or isinstance(own, Exception)
        return {'id': case.id, 'refused': 'both' if both else 'Kaon', 'label': case.label, **case.refusal}
    if isinstance(exact, Exception) and is_nothing(case):
        return {'id': case.id, 'label': case.label, 'refused': None, 'results': len(case.results), 'found': [difference(operator, case, 'y', 0, result, 'convention', 'no elements', reason=of_nothing) for result in case.results]}
    if isinstance(exact, Exception):
        return {'id': case.id, 'label': case.label, 'refused': 'reference', 'message': f'{type(exact).__name__}: {exact}'[:300]}
    native = None if isinstance(own, Exception) else own
    found = []
    for result in case.results:
        for part, expected in zip('ygs', exact):
            actual = result.parts[part]
            if len(actual) != len(expected):
                found.append(difference(operator, case, part, 0, result, 'wrong', f'{len(actual)} arrays, not {len(expected)}'))
                continue
            for k, (a, e) in enumerate(zip(actual, expected)):
                n = native['ygs'.index(part)][k] if native is not None else None
                whole = Whole(operator, operands, entry, case, differentiated, part, k)
                found += compare(whole, result, a, e, n)
    return {'id': case.id, 'label': case.label, 'refused': None, 'results': sum(len(r.tiers) for r in case.results), 'found': found}


of_nothing = 'Operands without elements are operands: the results are empty, or zeros; PyTorch refuses them in some operators.'


def is_nothing(case):
    """Whether there is an operand without elements, and nothing but zeros in what came out."""
    results = [each for result in case.results for part in result.parts.values() for each in part]
    return any(each.numel() == 0 for each in case.inputs) and all(not each.numel() or bool((each == 0).all()) for each in results)


def attempt(run):
    try:
        return run()
    except Exception as error:
        return error


def in_own_dtypes(operands, entry, case, differentiated):
    inputs = converted(case.inputs, operands, False)
    return evaluate(entry, case.args, inputs, case.heads, differentiated, min(case.order, 1)) if case.order < 2 else evaluate(entry, case.args, inputs, case.heads, differentiated, 2)


def in_double(operands, entry, case, differentiated):
    inputs = converted(case.inputs, operands, True)
    return evaluate(entry, case.args, inputs, [head.double() for head in case.heads], differentiated, case.order)


def difference(operator, case, part, index, result, kind, what, **more):
    return {'kind': kind, 'part': part, 'index': index, 'tiers': result.tiers, 'what': what, **more}


class Whole:
    """One array of a case's results, and what bounds its error."""

    def __init__(self, operator, operands, entry, case, differentiated, part, k):
        self.operator, self.operands, self.entry, self.case = operator, operands, entry, case
        self.differentiated, self.part, self.k = differentiated, part, k
        self.found = None

    def rule(self):
        return self.entry.rule if self.part == 'y' else 'noise'

    def bound(self, value, dtype):
        rule = self.rule()
        if rule == 'exact':
            return np.zeros_like(value)
        if rule == 'ulp':
            return bounds.of_elements(value, dtype)
        return bounds.of_condition(value, self.sensitivity(), self.terms(value), dtype)

    def terms(self, value):
        most = max([each.numel() for each in self.case.inputs + self.case.heads] + [1])
        return max(1, most / max(1, value.size)) if self.entry.once else most

    def sensitivity(self):
        if self.found is None:
            self.found = self.measured()
        return self.found

    def measured(self):
        case, count = self.case, len(self.case.inputs)
        # Ties break where operands are disturbed: what only selects is disturbed in what enters.
        steady = self.entry.selects

        def run(arrays):
            inputs = [a if b is None else b for a, b in zip(given, arrays[:count])]
            parts = evaluate(self.entry, case.args, inputs, arrays[count:], self.differentiated, case.order)
            return parts['ygs'.index(self.part)][self.k].double()

        torch.set_default_dtype(torch.float64)
        try:
            given = converted(case.inputs, self.operands, True)
            heads = [head.double() for head in case.heads]
            inputs = [None] * count if steady else given
            least = bounds.least_normal([each.dtype for each in case.inputs])
            return bounds.sensitivity(run, [*inputs, *heads], torch.Generator().manual_seed(1), least, not steady)
        finally:
            torch.set_default_dtype(torch.float32)


def rounded(value, dtype):
    """The nearest number of a dtype, ties to even, rounded once."""
    if dtype == torch.float64:
        return value
    digits, _ = bounds.formats[dtype]
    with np.errstate(all='ignore'):
        step = bounds.ulp(value, dtype)
        near = np.where(np.isfinite(value), np.round(value / step) * step, value)
        most = torch.finfo(dtype).max
        near = np.where(np.abs(near) > most, np.copysign(np.inf, value), near)
        return np.where(near == 0, np.copysign(0.0, value), near)


def compare(whole, result, actual, expected, native):
    """The differences of one array, of each kind the first."""
    case, operator = whole.case, whole.operator
    told = lambda kind, what, **more: difference(operator, case, whole.part, whole.k, result, kind, what, **more)  # noqa: E731
    found = []
    if tuple(actual.shape) != tuple(expected.shape):
        reason = convention_of(operator, case, 'shape', {})
        return [told('wrong' if reason is None else 'convention', f'shape {list(actual.shape)}, not {list(expected.shape)}', reason=reason)]
    if native is not None and whole.part == 'y' and actual.dtype != native.dtype:
        reason = convention_of(operator, case, 'dtype', {'actual': actual.dtype, 'expected': native.dtype})
        found.append(told('wrong' if reason is None else 'convention', f'dtype {actual.dtype}, not {native.dtype}', reason=reason))
    if actual.dtype.is_floating_point != expected.dtype.is_floating_point and not found:
        return [*found, told('wrong', f'dtype {actual.dtype}, not {expected.dtype}')]
    if not actual.dtype.is_floating_point:
        a, e = (each.detach().to(torch.int64).numpy() for each in (actual, expected))
        return [*found, *sorted_out(whole, told, a != e, a, e, None)]
    dtype = actual.dtype
    a, e = actual.double().numpy(), expected.detach().double().numpy()
    n = native.detach().double().numpy() if native is not None and native.shape == actual.shape else None
    near = rounded(e, dtype)
    with np.errstate(all='ignore'):
        same = (a == near) | (np.isnan(a) & np.isnan(near))
        if whole.part == 'y' and whole.rule() != 'noise':
            exact_zero = (a == 0) & (e == 0)
            same &= ~exact_zero | (np.signbit(a) == np.signbit(e))
        if same.all():
            return found
        off = np.abs(a - e)
        # Two roundings are near whatever the condition is.
        close = same | (off <= 2 * bounds.ulp(e, dtype)) & (a != e) & (whole.rule() == 'noise') | (off == 0) & (whole.rule() == 'noise')
        if not close.all() and whole.rule() != 'exact':
            allowed = whole.bound(e, dtype)
            most = torch.finfo(dtype).max
            beyond = np.isinf(a) & np.isfinite(e) & (np.sign(a) == np.sign(e)) & (np.abs(e) + allowed >= most)
            zeros = (a == 0) & (e == 0)
            close |= ((off <= allowed) & ~zeros) | beyond | (zeros & same)
            if whole.rule() == 'noise':
                close |= beyond_range(whole, a, e, dtype)
    if whole.entry.mp is not None and not close.all():
        close |= proven(whole, a, ~close, dtype)
    return [*found, *sorted_out(whole, told, ~close, a, e, n)]


def beyond_range(whole, a, e, dtype):
    """Where terms add up beyond the range in some order, infinite, NaN and finite sums are equally right."""
    most = torch.finfo(torch.float32 if dtype == torch.bfloat16 else dtype).max
    finite = all(bool(torch.isfinite(each).all()) for each in whole.case.inputs if each.dtype.is_floating_point)
    if not finite:
        # Of infinite terms the order decides whether one is left or they cancel to NaN.
        return ~np.isfinite(e) & ~np.isfinite(a) if whole.part != 'y' else np.zeros(a.shape, bool)
    if not np.isfinite(e).all() and whole.rule() == 'noise':
        # The reference itself has left the range of double precision.
        return ~np.isfinite(e) & (~np.isfinite(a) | (dtype == torch.float64))
    terms = max(1, whole.terms(e))
    sums = np.abs(e) + math.sqrt(terms) * whole.sensitivity()
    return ~np.isfinite(a) & (sums * (terms if whole.entry.mean else 1) >= most / 2)


def operands_at(whole, shape):
    """The operands of every element, where there is one of each."""
    given = converted(whole.case.inputs, whole.operands, True)
    try:
        return [np.broadcast_to(each.double().numpy() if each.dtype.is_floating_point else each.numpy(), shape) for each in given]
    except ValueError:
        return None


def differences(function, x, k, order):
    """A central difference of first or second order in one operand, by a step that no pole is as near as."""
    import mpmath

    step = (min(abs(x[k]), 1) if x[k] else mpmath.mpf(2) ** -1200) * mpmath.mpf(2) ** -120
    at = lambda by: function(*[each + by if i == k else each for i, each in enumerate(x)])  # noqa: E731
    if order == 1:
        return (at(step) - at(-step)) / (2 * step)
    return (at(step) - 2 * at(0) + at(-step)) / step**2


def proven(whole, actual, doubtful, dtype):
    """The elements that PyTorch's double precision finds wrong and mpmath right: values, and derivatives."""
    right = np.zeros(actual.shape, bool)
    case, order = whole.case, 'ygs'.index(whole.part)
    shape = tuple(np.broadcast_shapes(*[tuple(each.shape) for each in case.inputs]))
    given = operands_at(whole, shape)
    heads = [head.double().numpy() for head in case.heads[:order]]
    if given is None or len(heads) < order or order > 1 and len(given) > 1 or any(head.shape != shape for head in heads):
        return right
    k = whole.differentiated[whole.k] if order > 0 else 0
    # Of an operand that is broadcast, every place takes part in one element of the gradient.
    own = tuple(case.inputs[k].shape) if order > 0 else shape
    places = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape)
    sensitivity = None if order == 0 else whole.sensitivity()
    for index in np.argwhere(doubtful & ~np.isnan(actual))[:200]:
        index = tuple(index)
        here = np.ravel_multi_index(index, own) if own else 0
        terms = [term(whole, [each[place].item() for each in given], [head[place].item() for head in heads], k) for place in map(tuple, np.argwhere(places == here))]
        if None in terms:
            continue
        value, scale = sum(value for value, _ in terms), max(scale for _, scale in terms)
        if order > 0:
            allowed = float(bounds.of_condition(np.asarray(float(value)), sensitivity[index], len(terms), dtype))
        elif whole.rule() == 'exact':
            right[index] = actual[index] == rounded(np.asarray(float(value)), dtype)
            continue
        else:
            allowed = float(bounds.of_elements(np.asarray(max(abs(float(value)), float(scale))), dtype, wider(whole, given, index)))
        if not np.isfinite(actual[index]):
            right[index] = float(value) == actual[index] or abs(float(value)) + allowed > torch.finfo(dtype).max
        else:
            right[index] = abs(actual[index] - value) <= allowed
    return right


def term(whole, x, heads, k):
    """One element in mpmath, times what enters, and the scale of its errors; None where it has no answer."""
    import mpmath

    entry, order = whole.entry, len(heads)
    size = max([abs(math.frexp(each)[1]) for each in map(float, x) if math.isfinite(each)] + [0])
    with mpmath.workprec(500 + 3 * size):
        function = lambda *each: entry.mp(*filled(whole.case.args, each))  # noqa: E731
        operands = [mpmath.mpf(each) for each in x]
        try:
            value = function(*operands) if order == 0 else differences(function, operands, k, order)
            scale = 0 if entry.scale is None or order > 0 else entry.scale(*filled(whole.case.args, operands))
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, NotImplementedError, mpmath.libmp.NoConvergence):
            return None
        for head in heads:
            value *= mpmath.mpf(head)
        return (value, scale) if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None


def wider(whole, given, index):
    """Left of 0 powers of a cotangent have more of its error: decision 5 gives `polygamma` 4 ulp there for each order."""
    if whole.operator != 'polygamma' or given[0][index] >= 0:
        return 1
    return 4 * whole.case.args[0] / bounds.ulps


def sorted_out(whole, told, wrong, a, e, n):
    """Elements that differ: as far off as PyTorch's own, differing by convention, or wrong."""
    if not wrong.any():
        return []
    if n is not None:
        with np.errstate(all='ignore'):
            as_theirs = (a == n) | (np.isnan(a) & np.isnan(n)) | (np.abs(a - e) <= 2 * np.abs(n - e))
            if whole.part == 'y' and whole.rule() != 'noise':
                as_theirs &= ~((a == 0) & (n == 0)) | (np.signbit(a) == np.signbit(n))
    else:
        as_theirs = np.zeros_like(wrong)
    given = operands_at(whole, a.shape)
    found = {}
    for index in np.argwhere(wrong):
        index = tuple(index)
        x = None if given is None else [each[index].item() for each in given]
        about = {'index': index, 'actual': a[index].item(), 'expected': e[index].item(), 'torch': None if n is None else n[index].item(), 'operands': x, 'part': whole.part}
        reason = convention_of(whole.operator, whole.case, whole.part, about)
        kind = 'convention' if reason is not None else 'shared' if as_theirs[index] else 'wrong'
        key = (kind, reason)
        if key in found:
            found[key]['count'] += 1
        else:
            text = f"{about['actual']!r}, not {about['expected']!r}; PyTorch {about['torch']!r}; operands {x}; at {list(map(int, index))}"
            found[key] = told(kind, text, reason=reason, count=1)
    return list(found.values())
