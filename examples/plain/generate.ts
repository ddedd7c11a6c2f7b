import * as kn from '../../src/index.js';
import { end } from '../attention/data.js';
import type { Transformer } from '../attention/model.js';

/** `generate` in plain control flow. */
export function generatePlainly(
  model: Transformer,
  prompts: kn.NDArray,
  lengths: kn.NDArray,
): kn.NDArray {
  'use graph';
  let token = prompts.slice(':', 0);
  let caches = model.emptyCaches(token);
  let isDone = kn.zerosLike(lengths, { dtype: 'bool' });
  const written: kn.NDArray[] = [];
  for (let position = 0; position < model.capacity - 1; position++) {
    if (isDone.all()) break;
    const [logits, kept] = model.step(token, kn.array(position, { dtype: 'int32' }), caches);
    caches = kept;
    const isGiven = lengths.greater(position + 1);
    const predicted = kn.where(isDone, end, logits.argmax(-1).astype('int32'));
    token = kn.where(isGiven, prompts.take(position + 1, { axis: 1 }), predicted);
    isDone = isGiven.logicalNot().logicalAnd(token.equal(end));
    written.push(token);
  }
  return kn.stack(written).transpose();
}

/** Plain generation as a block, so that it becomes a graph with all that it needs. */
export class PlainGenerator extends kn.nn.HybridBlock {
  model: Transformer;

  constructor(model: Transformer) {
    super();
    this.model = model;
  }

  override forward(prompts: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
    return generatePlainly(this.model, prompts, lengths);
  }
}
