import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { rule, type ImportRules } from './rule.js';

/** The operands of an optimizer: rate, update count, then each kind of tensor for all parameters. */
function updated(
  node: ImportedNode,
  kinds: number,
  step: (rate: Value, count: Value, tensors: readonly Value[]) => readonly Value[],
): readonly Value[] {
  const [rate, count, ...all] = node.values();
  const parameters = all.length / kinds;
  if (!Number.isInteger(parameters)) throw node.refuse('the operands do not go together');
  const results = Array.from({ length: parameters }, (_, k) =>
    step(
      rate,
      count,
      Array.from({ length: kinds }, (_, kind) => all[kind * parameters + k]),
    ),
  );
  const outputs = results[0]?.length ?? 0;
  return Array.from({ length: outputs }, (_, kind) => results.map((each) => each[kind])).flat();
}

function adagrad(node: ImportedNode): readonly Value[] {
  const { attributes } = node;
  const decay = attributes.float('decay_factor', 0);
  const epsilon = attributes.float('epsilon', 1e-6);
  const weightDecay = attributes.float('norm_coefficient', 0);
  return updated(node, 3, (rate, count, [x, given, squares]) => {
    const now = ops.div(rate, ops.add(ops.mul(ops.cast(count, rate.type.dtype), decay), 1));
    const gradient = ops.add(given, ops.mul(x, weightDecay));
    const sum = ops.add(squares, ops.square(gradient));
    const step = ops.div(ops.mul(gradient, now), ops.add(ops.sqrt(sum), epsilon));
    return [ops.sub(x, step), sum];
  });
}

function adam(node: ImportedNode): readonly Value[] {
  const { attributes } = node;
  const alpha = attributes.float('alpha', 0.9);
  const beta = attributes.float('beta', 0.999);
  const epsilon = attributes.float('epsilon', 1e-6);
  const before = attributes.float('norm_coefficient', 0);
  const after = attributes.float('norm_coefficient_post', 0);
  return updated(node, 4, (rate, count, [x, given, first, second]) => {
    const gradient = ops.add(given, ops.mul(x, before));
    const mean = ops.add(ops.mul(first, alpha), ops.mul(gradient, 1 - alpha));
    const squares = ops.add(ops.mul(second, beta), ops.mul(ops.square(gradient), 1 - beta));
    const times = ops.cast(count, x.type.dtype);
    const power = (base: number): Value => ops.pow(ops.fullLike(times, base), times);
    const corrected = ops.div(
      ops.mul(rate, ops.sqrt(ops.sub(1, power(beta)))),
      ops.sub(1, power(alpha)),
    );
    const adjusted = ops.where(ops.greater(count, 0), corrected, rate);
    const moved = ops.sub(x, ops.div(ops.mul(mean, adjusted), ops.add(ops.sqrt(squares), epsilon)));
    return [ops.mul(moved, 1 - after), mean, squares];
  });
}

function momentum(node: ImportedNode): readonly Value[] {
  const { attributes } = node;
  const alpha = attributes.float('alpha', 0.9);
  const beta = attributes.float('beta', 1);
  const weightDecay = attributes.float('norm_coefficient', 0);
  const isNesterov = attributes.string('mode', 'standard') === 'nesterov';
  return updated(node, 3, (rate, count, [x, given, velocity]) => {
    const gradient = ops.add(given, ops.mul(x, weightDecay));
    const factor = ops.where(ops.greater(count, 0), beta, ops.onesLike(rate));
    const next = ops.add(ops.mul(velocity, alpha), ops.mul(gradient, factor));
    const direction = isNesterov ? ops.add(gradient, ops.mul(next, alpha)) : next;
    return [ops.sub(x, ops.mul(direction, rate)), next];
  });
}

export const training: ImportRules = {
  Adagrad: rule(adagrad),
  Adam: rule(adam),
  Momentum: rule(momentum),
};
