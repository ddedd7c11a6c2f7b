"""Where Kaon decides otherwise than PyTorch, and why: each with the rule that tells such an element."""

import math

import torch

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


greater = {'max', 'maximum', 'fmax', 'cummax', 'maxPool'}
lesser = {'min', 'minimum', 'fmin', 'cummin'}


@convention('Of two zeros, +0 is the greater one, as in IEEE 754-2019 and in JavaScript; PyTorch takes whichever it meets first.')
def zeros_in_order(operator, case, part, about):
    if part != 'y' or about.get('actual') != 0 or about.get('expected') != 0:
        return False
    sign = math.copysign(1, about['actual'])
    return operator in greater and sign > 0 or operator in lesser and sign < 0 or operator in ('clip', 'relu', 'relu6')


@convention('`sign` and `heaviside` of NaN are NaN, as in NumPy; PyTorch says 0.')
def step_at_nan(operator, case, part, about):
    x = operands(about)
    return operator in ('sign', 'heaviside') and part == 'y' and len(x) > 0 and x[0] != x[0] and about['actual'] != about['actual']


@convention('Where an operand is NaN there is no derivative to be right about: Kaon gives what its formula gives, which is NaN or what flows past the element, and PyTorch what its masks let through.')
def derivative_at_nan(operator, case, part, about):
    if part not in 'gs' or not values(part, about):
        return False
    if any(isinstance(x, float) and math.isnan(x) for x in operands(about)):
        return True
    # Operands that broadcast have no element of their own for each of the result.
    return operator in ('fmax', 'fmin', 'maximum', 'minimum') and 'nan' in case.label and not operands(about)


@convention('The derivative of a length at zero, where it has a kink, is 0, as that of `abs`, `norm` and `std`: PyTorch divides 0 by 0.')
def length_at_zero(operator, case, part, about):
    return operator == 'hypot' and part in 'gs' and all(x == 0 for x in operands(about)) and about['actual'] == 0


@convention('Activations take their limits at -Infinity, which is 0; PyTorch multiplies -Infinity by 0 in some and not in others (`silu`, `gelu`, `mish`, `hardSwish`). Where `hardSwish` has become 0, it is +0.')
def limit_of_activation(operator, case, part, about):
    x = operands(about)
    if part not in 'ygs' or operator not in ('gelu', 'mish', 'silu', 'hardSwish') or len(x) != 1 or about['actual'] != 0:
        return False
    return x[0] == -math.inf or operator == 'hardSwish' and x[0] <= -3


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


@convention('A key that a query does not see has no influence on it, also where its elements are NaN or infinite; PyTorch multiplies them by 0.')
def unseen_keys(operator, case, part, about):
    if operator not in ('attention', 'attentionGradient') or part not in 'ygs' or not values(part, about):
        return False
    causal = any(isinstance(arg, dict) and arg.get('causal') for arg in case.args)
    some = any(not torch.isfinite(each).all() for each in case.inputs if each.dtype.is_floating_point)
    return causal and some and about['expected'] != about['expected']


@convention('Where two infinities tie, `logaddexp` shares the gradient as it does between finite numbers that tie; PyTorch subtracts the infinities.')
def tie_of_infinities(operator, case, part, about):
    x = operands(about)
    return operator == 'logaddexp' and part in 'gs' and len(x) == 2 and x[0] == x[1] and math.isinf(x[0])


@convention('On a bound that is an array, the gradient of `clip` passes to the clipped array alone, as on a bound that is a number; PyTorch halves it there.')
def on_a_bound(operator, case, part, about):
    return operator == 'clip' and part in 'gs' and values(part, about)


@convention('Convolutions and their adjoints are products with zeros outside: NaN and infinite elements times these zeros are NaN.')
def zeros_outside(operator, case, part, about):
    if operator not in ('conv', 'convTranspose', 'convWeightGradient') or not values(part, about):
        return False
    some = any(not torch.isfinite(each).all() for each in case.inputs if each.dtype.is_floating_point)
    return some and isinstance(about['actual'], float) and math.isnan(about['actual'])


@convention('Arrays of rank 0 are arrays: they take part in promotion like all others, as in NumPy 2; plain numbers do not.')
def rank_zero(operator, case, part, about):
    return part == 'dtype' and any(each.ndim == 0 for each in case.inputs) and len(case.inputs) > 0


@convention('There is no int16: what PyTorch promotes to it (uint8 with int8) becomes int32.')
def no_int16(operator, case, part, about):
    return part == 'dtype' and about['expected'] == torch.int16 and about['actual'] == torch.int32


@convention('Boxes whose corners are NaN or infinite have no area, and those beyond the range no overlap that could be compared.')
def boxes_without_area(operator, case, part, about):
    return operator in ('nonMaxSuppression', 'keptBoxes') and any(word in case.label for word in ('nan', 'infinite', 'huge', 'tiny'))
