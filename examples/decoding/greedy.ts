import * as kn from '../../src/index.js';
import { end } from './data.js';
import type { Speller } from './model.js';

/** Names that were spelled, one a language. */
export interface Spelled {
  /** int32[time, names]: as many rows as the longest of them needed, ends behind a shorter one. */
  readonly characters: kn.NDArray;
  /** The log probability of each name: float32[names]. */
  readonly score: kn.NDArray;
}

/**
 * Spells names in some languages, int32[names], each time with the most probable character, until all have
 * come to their end, or to `longest` characters.
 */
export function spellGreedily(speller: Speller, languages: kn.NDArray, longest: number): Spelled {
  const [characters, { score }] = kn.whileLoop(
    ({ isDone }) => isDone.logicalNot().any(),
    ({ last, state, score, isDone }) => {
      const [logits, next] = speller.step(last, state);
      const best = logits.argmax(-1).astype('int32');
      const character = kn.where(isDone, end, best);
      return [
        character,
        {
          last: character,
          state: next,
          score: kn.where(isDone, score, score.add(logits.max(-1))),
          isDone: character.equal(end),
        },
      ];
    },
    {
      last: kn.fullLike(languages, end),
      state: speller.beginState(languages),
      score: kn.zerosLike(languages, { dtype: 'float32' }),
      isDone: kn.zerosLike(languages, { dtype: 'bool' }),
    },
    { maxIterations: longest },
  );
  return { characters, score };
}

/** Greedy spelling as a block, so that it becomes a graph with all that it needs. */
export class GreedySpeller extends kn.nn.HybridBlock {
  speller: Speller;
  readonly #longest: number;

  constructor(speller: Speller, longest: number) {
    super();
    this.speller = speller;
    this.#longest = longest;
  }

  override forward(languages: kn.NDArray): Spelled {
    return spellGreedily(this.speller, languages, this.#longest);
  }
}
