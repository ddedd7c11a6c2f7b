import * as kn from '../../src/index.js';
import { end } from './data.js';
import type { Speller } from './model.js';

export interface BeamOptions {
  /** How many beginnings of names are kept at each step. */
  readonly width: number;
  readonly longest: number;
  /**
   * How much longer names are favored. The score of a name of `n` characters, the end included, is its
   * log probability divided by `((5 + n) / 6) ** lengthPenalty`. Default 0: the log probability.
   * Source: Wu et al., Google's Neural Machine Translation System, 2016, equation 14.
   */
  readonly lengthPenalty?: number;
}

/** The best names that were found, the best one first. */
export interface Found {
  /** int32[width, time], ends behind shorter ones. */
  readonly characters: kn.NDArray;
  /** float32[width]; minus infinity where fewer names than that are possible. */
  readonly scores: kn.NDArray;
}

/**
 * Searches for the best name in a language, int32[]: at each step, of all beginnings that are one
 * character longer than those that were kept, the most probable ones are. A name that has come to its end
 * stays as it is as long as it is among them. The search is over when all names are, or after `longest`
 * characters.
 */
export function searchBeam(speller: Speller, language: kn.NDArray, options: BeamOptions): Found {
  const { width, longest, lengthPenalty = 0 } = options;
  // A finished name goes on in one way: with an end that costs nothing.
  const onlyEnd = kn.where(kn.arange(speller.alphabet).equal(end), 0, -Infinity);

  const [steps, found] = kn.whileLoop(
    ({ score, isDone }) => isDone.logicalOr(score.equal(-Infinity)).logicalNot().any(),
    ({ last, state, score, length, isDone }) => {
      const [logits, next] = speller.step(last, state);
      const costs = kn.where(isDone.expandDims(1), onlyEnd, logits);
      const best = kn.topK(score.expandDims(1).add(costs).reshape([-1]), width);
      const parent = best.indices.floorDivide(speller.alphabet);
      const character = best.indices.mod(speller.alphabet).astype('int32');
      const wasDone = isDone.take(parent, { axis: 0 });
      return [
        { parent, character },
        {
          last: character,
          state: next.take(parent, { axis: 0 }),
          score: best.values,
          length: length.take(parent, { axis: 0 }).add(wasDone.logicalNot()),
          isDone: character.equal(end),
        },
      ];
    },
    {
      last: kn.full([width], end, { dtype: 'int32' }),
      state: speller.beginState(language).expandDims(0).tile([width, 1]),
      score: kn.where(kn.arange(width).equal(0), 0, -Infinity), // one empty name to begin with
      length: kn.zeros([width], { dtype: 'int32' }),
      isDone: kn.zeros([width], { dtype: 'bool' }),
    },
    { maxIterations: longest },
  );

  const penalty = found.length.add(5).div(6).pow(lengthPenalty);
  const ranked = kn.topK(found.score.div(penalty), width);
  // From the last characters back to the first ones, each time to the beam that a name was continued from.
  const [characters] = kn.foreach(
    ({ parent, character }, beam) => [character.take(beam), parent.take(beam)],
    steps,
    ranked.indices,
    { reverse: true },
  );
  return { characters: characters.transpose(), scores: ranked.values };
}

/** Beam search as a block, so that it becomes a graph with all that it needs. */
export class BeamSpeller extends kn.nn.HybridBlock {
  speller: Speller;
  readonly #options: BeamOptions;

  constructor(speller: Speller, options: BeamOptions) {
    super();
    this.speller = speller;
    this.#options = options;
  }

  override forward(language: kn.NDArray): Found {
    return searchBeam(this.speller, language, this.#options);
  }
}
