import * as kn from '../../src/index.js';
import { languages } from './data.js';

/** Reads names character by character; logits of the languages they are written in. */
export class NameReader extends kn.nn.HybridBlock {
  embed: kn.nn.Embedding;
  recurrent: kn.nn.LSTM;
  classify: kn.nn.Dense = new kn.nn.Dense(languages.length);

  constructor(alphabet: number, size: number) {
    super();
    this.embed = new kn.nn.Embedding(alphabet, 24);
    this.recurrent = new kn.nn.LSTM(size);
  }

  /** Takes character numbers (batch, time) and how many of them each name has. */
  override forward(characters: kn.NDArray, lengths: kn.NDArray): kn.NDArray {
    const [outputs] = this.recurrent.call(this.embed.call(characters), { lengths });
    // Behind the end of a name there are zeros, so the sum over time is that over its characters.
    return this.classify.call(outputs.sum(1).div(lengths.expandDims(1)));
  }
}
