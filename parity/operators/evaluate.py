"""References executed: values, gradients, gradients of gradients, in double precision or in a case's own dtypes."""

import torch


def common_dtype(inputs, operands):
    """What the operands are converted to before anything else; None where each stays as it is."""
    if operands not in ('promote', 'float') or not inputs:
        return None
    common = inputs[0].dtype
    for each in inputs[1:]:
        common = promoted(common, each.dtype)
    return torch.float32 if operands == 'float' and not common.is_floating_point else common


def promoted(a, b):
    """PyTorch's table; Kaon has no int16, and says int32."""
    both = torch.promote_types(a, b)
    return torch.int32 if both == torch.int16 else both


def converted(inputs, operands, exact):
    """Operands as a reference gets them: rounded as the conversion says, then in double precision if exact."""
    common = common_dtype(inputs, operands)
    given = [each if common is None else each.to(common) for each in inputs]
    return [in_double(each) if exact and each.dtype.is_floating_point else each.clone() for each in given]


def in_double(array):
    """Double precision that still tells whose it is: where infinities end depends on the dtype."""
    wide = array.double()
    wide.own = array.dtype
    return wide


def filled(args, arrays):
    def place(arg):
        if isinstance(arg, list):
            return [place(each) for each in arg]
        if isinstance(arg, dict) and '$' in arg:
            return arrays[arg['$']]
        return arg

    return [place(arg) for arg in args]


def evaluate(entry, args, inputs, heads, differentiated, order):
    """Lists of values, gradients and gradients of gradients; `differentiated` are the inputs that have them."""
    arrays = list(inputs)
    for k in differentiated if order > 0 else ():
        own = getattr(arrays[k], 'own', arrays[k].dtype)
        arrays[k] = arrays[k].detach().requires_grad_(True)
        arrays[k].own = own
    result = entry.run(*filled(args, arrays))
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    flowing = [each for each in values if each.dtype.is_floating_point]
    if order == 0 or not flowing:
        return values, [], []
    xs = [arrays[k] for k in differentiated]
    first = heads[: len(flowing)]
    grads = derivative(flowing, xs, first, order > 1)
    if order == 1:
        return values, grads, []
    return values, grads, derivative(grads, xs, heads[len(flowing) :], False)


def derivative(ys, xs, heads, again):
    live = [(y, head) for y, head in zip(ys, heads) if y.requires_grad]
    if not live:
        return [torch.zeros_like(x) for x in xs]
    found = torch.autograd.grad([y for y, _ in live], xs, [head.to(y.dtype) for y, head in live], create_graph=again, retain_graph=again, allow_unused=True)  # fmt: skip
    return [torch.zeros_like(x) if grad is None or grad._is_zerotensor() else grad for grad, x in zip(found, xs)]
