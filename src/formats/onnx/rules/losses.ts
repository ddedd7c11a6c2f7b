import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { rule, type ImportRules } from './rule.js';

/** Loss of each position from log-probabilities, `[N, C, ...]`, and classes, `[N, ...]`. */
function likelihoodLoss(node: ImportedNode, logs: Value): Value {
  node.expectRank(1, node.rank(0) - 1);
  const target = ops.cast(node.value(1), 'int64');
  const ignored = node.attributes.int('ignore_index', null);
  const isIgnored = ignored === null ? null : ops.equal(target, ignored);
  const classes = isIgnored === null ? target : ops.where(isIgnored, 0, target);
  const picked = ops.squeeze(ops.gather(logs, ops.expandDims(classes, 1), 1), 1);
  const given = node.optional(2);
  const each = given === null ? ops.onesLike(picked) : ops.take(given, classes, { axis: 0 });
  const weight = isIgnored === null ? each : ops.where(isIgnored, 0, each);
  const loss = ops.neg(ops.mul(picked, weight));
  const reduction = node.attributes.string('reduction', 'mean');
  switch (reduction) {
    case 'none':
      return loss;
    case 'sum':
      return ops.sum(loss);
    case 'mean':
      return given === null && isIgnored === null
        ? ops.mean(loss)
        : ops.div(ops.sum(loss), ops.sum(weight));
    default:
      throw node.refuse('no such reduction', 'none, sum or mean', reduction);
  }
}

export const losses: ImportRules = {
  NegativeLogLikelihoodLoss: rule((node) => likelihoodLoss(node, node.value(0))),
  SoftmaxCrossEntropyLoss: rule((node) => {
    const logs = ops.logSoftmax(node.value(0), 1);
    return [likelihoodLoss(node, logs), logs];
  }),
};
