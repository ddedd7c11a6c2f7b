import * as kn from '../../src/index.js';
import type { BeamOptions, Found } from '../decoding/beam.js';
import { end } from '../decoding/data.js';
import type { Speller } from '../decoding/model.js';

/** `searchBeam` in plain control flow. */
export function searchBeamPlainly(
  speller: Speller,
  language: kn.NDArray,
  { width, longest, lengthPenalty = 0 }: BeamOptions,
): Found {
  'use graph';
  const onlyEnd = kn.where(kn.arange(speller.alphabet).equal(end), 0, -Infinity);
  let last = kn.full([width], end, { dtype: 'int32' });
  let state = speller.beginState(language).expandDims(0).tile([width, 1]);
  let score = kn.where(kn.arange(width).equal(0), 0, -Infinity);
  let length = kn.zeros([width], { dtype: 'int32' });
  let isDone = kn.zeros([width], { dtype: 'bool' });
  const parents: kn.NDArray[] = [];
  const characters: kn.NDArray[] = [];

  for (let step = 0; step < longest; step++) {
    if (!isDone.logicalOr(score.equal(-Infinity)).logicalNot().any()) break;
    const [logits, next] = speller.step(last, state);
    const costs = kn.where(isDone.expandDims(1), onlyEnd, logits);
    const best = kn.topK(score.expandDims(1).add(costs).reshape([-1]), width);
    const parent = best.indices.floorDivide(speller.alphabet);
    last = best.indices.mod(speller.alphabet).astype('int32');
    parents.push(parent);
    characters.push(last);
    state = next.take(parent, { axis: 0 });
    score = best.values;
    length = length.take(parent, { axis: 0 }).add(isDone.take(parent, { axis: 0 }).logicalNot());
    isDone = last.equal(end);
  }

  const penalty = length.add(5).div(6).pow(lengthPenalty);
  const ranked = kn.topK(score.div(penalty), width);
  // From the last characters back to the first ones, each time to the beam that a name was continued from.
  const steps = kn.stack([kn.stack(parents).astype('int32'), kn.stack(characters)], 1);
  let beam = ranked.indices.astype('int32');
  const found: kn.NDArray[] = [];
  for (const step of steps.flip(0)) {
    found.push(step.slice(1).take(beam));
    beam = step.slice(0).take(beam);
  }
  return { characters: kn.stack(found).flip(0).transpose(), scores: ranked.values };
}

/** Plain beam search as a block, so that it becomes a graph with all that it needs. */
export class PlainBeamSpeller extends kn.nn.HybridBlock {
  speller: Speller;
  readonly #options: BeamOptions;

  constructor(speller: Speller, options: BeamOptions) {
    super();
    this.speller = speller;
    this.#options = options;
  }

  override forward(language: kn.NDArray): Found {
    return searchBeamPlainly(this.speller, language, this.#options);
  }
}
