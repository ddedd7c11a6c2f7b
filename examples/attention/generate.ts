import * as kn from '../../src/index.js';
import { end } from './data.js';
import type { Transformer } from './model.js';

/**
 * Continues sequences until all have come to their end, or to the capacity. `prompts` are int32[batch,
 * capacity], of which the first `lengths`, int32[batch], are given. Each step feeds one token a sequence,
 * a given one or the one that has just been predicted, and attends to the cache of those before it.
 * Returns the tokens behind the first one: int32[batch, time], ends behind shorter answers.
 */
export function generate(model: Transformer, prompts: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
  const first = prompts.slice(':', 0);
  const [written] = kn.whileLoop(
    ({ isDone }) => isDone.all().logicalNot(),
    ({ position, caches, token, isDone }) => {
      const [logits, kept] = model.step(token, position, caches);
      const next = position.add(1);
      const isGiven = lengths.greater(next);
      const predicted = kn.where(isDone, end, logits.argmax(-1).astype('int32'));
      const following = kn.where(isGiven, prompts.take(next, { axis: 1 }), predicted);
      return [
        following,
        {
          position: next,
          caches: kept,
          token: following,
          isDone: isGiven.logicalNot().logicalAnd(following.equal(end)),
        },
      ];
    },
    {
      position: kn.array(0, { dtype: 'int32' }),
      caches: model.emptyCaches(first),
      token: first,
      isDone: kn.zerosLike(lengths, { dtype: 'bool' }),
    },
    { maxIterations: model.capacity - 1 },
  );
  return written.transpose();
}

/** Generation as a block, so that it becomes a graph with all that it needs. */
export class Generator extends kn.nn.HybridBlock {
  model: Transformer;

  constructor(model: Transformer) {
    super();
    this.model = model;
  }

  override forward(prompts: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
    return generate(this.model, prompts, lengths);
  }
}
