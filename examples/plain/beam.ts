import * as kn from '../../src/index.js';
import type { BeamOptions, Found } from '../decoding/beam.js';
import { end } from '../decoding/data.js';
import type { Speller } from '../decoding/model.js';

/** `searchBeam` in plain control flow: what the steps found lies in tables of `longest` rows. */
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
  // Rows that no step fills lead back to the same beam and have the end.
  let parents = kn.arange(width, { dtype: 'int32' }).expandDims(0).tile([longest, 1]);
  let characters = kn.full([longest, width], end, { dtype: 'int32' });

  for (let step = 0; step < longest; step++) {
    if (!isDone.logicalOr(score.equal(-Infinity)).logicalNot().any()) break;
    const [logits, next] = speller.step(last, state);
    const costs = kn.where(isDone.expandDims(1), onlyEnd, logits);
    const best = kn.topK(score.expandDims(1).add(costs).reshape([-1]), width);
    const parent = best.indices.floorDivide(speller.alphabet).astype('int32');
    last = best.indices.mod(speller.alphabet).astype('int32');
    parents = parents.updateSlice(parent.expandDims(0), step, 0);
    characters = characters.updateSlice(last.expandDims(0), step, 0);
    length = length.take(parent, { axis: 0 }).add(isDone.take(parent, { axis: 0 }).logicalNot());
    state = next.take(parent, { axis: 0 });
    score = best.values;
    isDone = last.equal(end);
  }

  const penalty = length.add(5).div(6).pow(lengthPenalty);
  const ranked = kn.topK(score.div(penalty), width);
  let beam = ranked.indices.astype('int32');
  let done = 0;
  // From the last characters back to the first ones.
  for (const parent of parents.flip(0)) {
    const row = longest - 1 - done;
    const found = characters.take(row, { axis: 0 }).take(beam);
    characters = characters.updateSlice(found.expandDims(0), row, 0);
    beam = parent.take(beam);
    done++;
  }
  return { characters: characters.transpose(), scores: ranked.values };
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
