import * as kn from '../../src/index.js';
import type { SpellingBatch } from './data.js';

export interface SpellerSizes {
  /** How many characters there are, with the end. */
  readonly alphabet: number;
  readonly languages: number;
  /** The size of the recurrent state. */
  readonly size: number;
}

/** Spells names, character by character, in the language it is told. */
export class Speller extends kn.nn.HybridBlock {
  readonly alphabet: number;
  embed: kn.nn.Embedding;
  begin: kn.nn.Embedding;
  cell: kn.nn.GRUCell;
  predict: kn.nn.Dense;

  constructor({ alphabet, languages, size }: SpellerSizes) {
    super();
    this.alphabet = alphabet;
    this.embed = new kn.nn.Embedding(alphabet, 24);
    this.begin = new kn.nn.Embedding(languages, size);
    this.cell = new kn.nn.GRUCell(size, { inputs: 24 });
    this.predict = new kn.nn.Dense(alphabet, { inputs: size });
  }

  /** What is known before the first character: a state for each language, (names, size). */
  beginState(languages: kn.NDArray): kn.NDArray {
    return this.begin.call(languages);
  }

  /** After one more character (names): log probabilities of the next one (names, alphabet), and the state. */
  step(characters: kn.NDArray, state: kn.NDArray): [logits: kn.NDArray, state: kn.NDArray] {
    const [output, [next]] = this.cell.call(this.embed.call(characters), [state]);
    return [this.predict.call(output).logSoftmax(), next];
  }

  /** Log probabilities of each character of names that are known, (time, names, alphabet). */
  override forward({ languages, before }: Pick<SpellingBatch, 'languages' | 'before'>): kn.NDArray {
    const [logits] = kn.foreach(
      (characters, state) => this.step(characters, state),
      before,
      this.beginState(languages),
    );
    return logits;
  }
}
