"""Where Kaon decides otherwise than PyTorch, and why: each with the rule that tells such an element."""

import functools
import math

import torch

from evaluate import promoted

conventions = []


def convention(reason):
    def register(holds):
        conventions.append((reason, holds))
        return holds

    return register


def convention_of(operator, case, part, about):
    """The reason for a difference, or None where it is one without a reason."""
    for reason, holds in conventions:
        if holds(operator, case, part, about):
            return reason
    return None


def values(part, about):
    return part in 'ygs' and 'actual' in about


def operands(about):
    return about.get('operands') or []


def isnan(x):
    return isinstance(x, float) and math.isnan(x)


greater = {'max', 'maximum', 'fmax', 'cummax', 'maxPool', 'adaptiveMaxPool', 'relu', 'relu6'}
lesser = {'min', 'minimum', 'fmin', 'cummin'}


@convention('Of two zeros, +0 is the greater one, as in IEEE 754-2019 and in JavaScript; PyTorch takes whichever it meets first.')
def zeros_in_order(operator, case, part, about):
    if part != 'y' or about.get('actual') != 0 or about.get('expected') != 0:
        return False
    sign = math.copysign(1, about['actual'])
    if operator == 'clip':
        x = operands(about)
        return len(x) > 0 and x[0] == 0 and any(each == 0 for each in [*x[1:], *[each for each in case.args[1:] if isinstance(each, (int, float))]])
    return operator in greater and sign > 0 or operator in lesser and sign < 0


@convention('`sign` and `heaviside` of NaN are NaN, as in NumPy; PyTorch says 0.')
def step_at_nan(operator, case, part, about):
    x = operands(about)
    return operator in ('sign', 'heaviside') and part == 'y' and len(x) > 0 and x[0] != x[0] and about['actual'] != about['actual']


@convention('The derivative at NaN is NaN where it is a product with the sign or the value of the element (`abs`, `copysign`, `elu`, `selu`, `norm`); PyTorch chooses a branch there.')
def slope_of_nan(operator, case, part, about):
    x = operands(about)
    return operator in ('abs', 'copysign', 'elu', 'selu', 'norm') and part in 'gs' and any(map(isnan, x)) and isnan(about['actual'])


@convention('NaN lies on no slope and within no bounds: nothing flows back to it from `relu`, `relu6`, `hardSigmoid`, `hardSwish` and `clip`; PyTorch compares the other way round.')
def nothing_to_nan(operator, case, part, about):
    x = operands(about)
    return operator in ('relu', 'relu6', 'hardSigmoid', 'hardSwish', 'clip') and part in 'gs' and any(map(isnan, x)) and about['actual'] == 0


@convention('`nanmean` leaves out NaN, so nothing flows back to it, also where there is nothing else; PyTorch multiplies 0 by the infinite share of none.')
def nothing_to_left_out(operator, case, part, about):
    x = operands(about)
    return operator == 'nanmean' and part in 'gs' and any(map(isnan, x)) and about['actual'] == 0 and isnan(about['expected'])


@convention('Where there is no value, there is no derivative: below 1 that of `acosh` is NaN, as the value is; PyTorch says what its formula gives.')
def slope_of_nothing(operator, case, part, about):
    x = operands(about)
    return operator == 'acosh' and part in 'gs' and len(x) == 1 and x[0] < 1 and isnan(about['actual'])


@convention('A negative base and an exponent next to 0 have no power. Its derivative by the base, which lowers the exponent by 1, rounds that to -1, and so is finite; PyTorch does the same with another overflow.')
def lowered_exponent(operator, case, part, about):
    x = operands(about)
    return operator == 'pow' and part == 'g' and len(x) == 2 and x[0] < 0 and 0 < abs(x[1]) < 2**-10 and isnan(about['expected'])


@convention('The derivative of a length at zero, where it has a kink, is 0, as that of `abs`, `norm` and `std`: PyTorch divides 0 by 0.')
def length_at_zero(operator, case, part, about):
    return operator == 'hypot' and part in 'gs' and all(x == 0 for x in operands(about)) and about['actual'] == 0


@convention('Activations and their derivatives take their limits at infinities: 0 at -Infinity, 1 for `softsign` and for the derivative of `gelu`, where PyTorch multiplies or divides infinities in some and not in others.')
def limit_of_activation(operator, case, part, about):
    x = operands(about)
    if part not in 'ygs' or len(x) != 1 or not math.isinf(x[0]) or not isnan(about['expected']):
        return False
    if operator == 'softsign':
        return about['actual'] == (math.copysign(1, x[0]) if part == 'y' else 0)
    if operator == 'gelu' and part == 'g' and x[0] > 0:
        return not isnan(about['actual'])
    return operator in ('gelu', 'mish', 'silu', 'hardSwish') and x[0] < 0 and about['actual'] == 0


@convention('Where the share of `gelu` with `tanh` is denormal, its derivative has the digits of that.')
def denormal_share(operator, case, part, about):
    x = operands(about)
    return operator == 'gelu' and part in 'gs' and len(x) == 1 and x[0] < 0 and 0 < abs(about['actual']) < 2.0**-1022


@convention('Where `hardSwish` has become 0 it is +0.')
def zero_of_hard_swish(operator, case, part, about):
    x = operands(about)
    return operator == 'hardSwish' and len(x) == 1 and x[0] <= -3 and about['actual'] == 0 and about['expected'] == 0


@convention('At their poles, which have no sign, `digamma` and `polygamma` are NaN, and so are their derivatives; PyTorch says infinity there in some orders and dtypes, and what is near the pole in others.')
def poles(operator, case, part, about):
    x = operands(about)
    at_pole = operator in ('digamma', 'polygamma', 'lgamma') and len(x) == 1 and x[0] <= 0 and x[0] == math.floor(x[0])
    return at_pole and about['actual'] != about['actual'] and (operator != 'lgamma' or part != 'y')


@convention('At Infinity derivatives of `polygamma` are 0, which is their limit; PyTorch says NaN.')
def limit_of_polygamma(operator, case, part, about):
    return operator in ('digamma', 'polygamma') and part in 'ygs' and operands(about) == [math.inf] and about['actual'] == 0


@convention('At the origin, around which angles turn, `atan2` has no derivative: it is NaN; PyTorch says 0.')
def angle_of_nothing(operator, case, part, about):
    x = operands(about)
    at_origin = len(x) == 2 and x[0] == 0 and x[1] == 0 or not x and any((each == 0).any() for each in case.inputs)
    return operator == 'atan2' and part in 'gs' and at_origin and about['actual'] != about['actual']


@convention('Causal attention leaves out keys that none of a block of queries sees, whatever their elements are, and the scores of keys that one of them does not see; PyTorch multiplies what is NaN or infinite there by 0.')
def unseen_keys(operator, case, part, about):
    if operator not in ('attention', 'attentionGradient') or part not in 'ygs' or not values(part, about):
        return False
    causal = any(isinstance(arg, dict) and arg.get('causal') for arg in case.args)
    some = any(not torch.isfinite(each).all() for each in case.inputs if each.dtype.is_floating_point)
    return causal and some and about['expected'] != about['expected']


@convention('Where scores of attention are so large that their roundings exceed 1, and the greatest of a query are no further apart than these, which of the keys has the weight is chance, in PyTorch as here.')
def weights_by_chance(operator, case, part, about):
    if operator not in ('attention', 'attentionGradient') or part not in 'ygs' or not values(part, about):
        return False
    q, k, mask = case.inputs[0], case.inputs[1], case.inputs[{'attention': 3, 'attentionGradient': 4}[operator] :]
    u = torch.finfo(torch.float64 if q.dtype == torch.float64 else torch.float32).eps / 2
    scores = q.double() @ k.double().transpose(-1, -2)
    errors = (q.double().abs() @ k.double().abs().transpose(-1, -2)) * u * (q.shape[-1] + 2)
    options = next((arg for arg in case.args if isinstance(arg, dict) and '$' not in arg), {})
    scale = options.get('scale') or max(q.shape[-1], 1) ** -0.5
    scores, errors = scores * scale, (errors * abs(scale)).amax(-1)
    for each in mask:
        scores = scores.masked_fill(~each, -torch.inf) if each.dtype == torch.bool else scores + each.double()
    if options.get('causal'):
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if scores.shape[-1] < 2:
        return False
    first, second = scores.topk(2).values.unbind(-1)
    return bool(((errors >= 1) & (first - second <= 2 * errors)).any())


@convention('At -0 `polygamma` of an even order is +Infinity, which is its limit from the left; PyTorch drops the sign of zeros.')
def pole_from_the_left(operator, case, part, about):
    x = operands(about)
    return operator == 'polygamma' and len(x) == 1 and x[0] == 0 and math.copysign(1, x[0]) < 0 and about['actual'] == -about['expected']


@convention('Where two infinities tie, `logaddexp` shares the gradient as it does between finite numbers that tie, and so do all of `logsumexp`, which gives one infinity all of it; PyTorch subtracts the infinities.')
def tie_of_infinities(operator, case, part, about):
    if part not in 'gs' or not values(part, about) or not isnan(about['expected']) or not math.isfinite(about['actual']):
        return False
    if operator == 'logsumexp':
        return operands(about) == [math.inf] or bool((case.inputs[0] == math.inf).any())
    if operator != 'logaddexp':
        return False
    x, y = torch.broadcast_tensors(*[each.double() for each in case.inputs])
    return bool(((x == y) & torch.isinf(x)).any())


@convention('On a bound the gradient of `clip` passes to the clipped array, which is within its bounds; PyTorch gives none there for numbers, and halves it for arrays.')
def on_a_bound(operator, case, part, about):
    if operator != 'clip' or part not in 'gs' or not values(part, about):
        return False
    x, *arrays = torch.broadcast_tensors(*[each.double() for each in case.inputs])
    numbers = [each for each in case.args[1:] if isinstance(each, (int, float))]
    bounds = [*arrays, *[torch.tensor(float(each)).to(case.inputs[0].dtype).double() for each in numbers]]
    on = sum((x == each).int() for each in bounds) > 0
    place = about['operands'] and about['index']
    return bool(on[place] if place and len(place) == on.ndim else on.any())


@convention('The spread of what lies so far apart that the sum of squares leaves the range is infinite, as in NumPy; PyTorch squares in double precision.')
def spread_beyond_range(operator, case, part, about):
    return operator == 'std' and part == 'y' and about.get('actual') == math.inf and about['expected'] ** 2 * case.inputs[0].numel() > 2.0**127


@convention('Adjoints of convolutions are products with zeros outside: NaN and infinite weights times these zeros are NaN.')
def zeros_outside(operator, case, part, about):
    if (operator, part) not in (('conv', 'g'), ('convTranspose', 'y')) or not values(part, about):
        return False
    return isnan(about['actual']) and not bool(torch.isfinite(case.inputs[1]).all())


@convention('Arrays of rank 0 are arrays: they take part in promotion like all others, as in NumPy 2; plain numbers do not.')
def rank_zero(operator, case, part, about):
    if part != 'dtype' or not any(each.ndim == 0 for each in case.inputs) or len(case.inputs) < 2:
        return False
    return about['actual'] == functools.reduce(promoted, [each.dtype for each in case.inputs])


@convention('`square` multiplies an element by itself, and the product of truth values is one; PyTorch squares them as integers, and multiplies them as truth values.')
def square_of_truth(operator, case, part, about):
    return operator == 'square' and part == 'dtype' and case.inputs[0].dtype == torch.bool and about['actual'] == torch.bool


@convention('There is no int16: what PyTorch promotes to it (uint8 with int8) becomes int32.')
def no_int16(operator, case, part, about):
    return part == 'dtype' and about['expected'] == torch.int16 and about['actual'] == torch.int32


@convention('Boxes with a corner that is NaN or infinite have no area, and overlap nothing.')
def boxes_without_area(operator, case, part, about):
    return operator in ('nonMaxSuppression', 'keptBoxes') and not bool(torch.isfinite(case.inputs[0]).all())
