import * as kn from '../../src/index.js';
import { languages } from './data.js';

/** Reads a name character by character; logits of the language it is written in. */
export class NameReader extends kn.nn.HybridBlock {
  embed: kn.nn.Embedding;
  cell: kn.nn.LSTMCell;
  classify: kn.nn.Dense = new kn.nn.Dense(languages.length);

  constructor(alphabet: number, size: number) {
    super();
    this.embed = new kn.nn.Embedding(alphabet, 24);
    this.cell = new kn.nn.LSTMCell(size);
  }

  override forward(characters: kn.NDArray): kn.NDArray {
    const length = characters.shape[1];
    const letters = this.embed.call(characters);
    let states = this.cell.beginState(1); // broadcasts: nothing here depends on the number of names
    let mean: kn.NDArray | null = null;
    for (let time = 0; time < length; time++) {
      const [output, next] = this.cell.call(letters.slice(':', time), states);
      states = next;
      mean = mean === null ? output : mean.add(output);
    }
    return this.classify.call(mean!.div(length));
  }
}
