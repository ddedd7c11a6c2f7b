import * as kn from '../../src/index.js';
import { writeJob } from '../../src/scale.js';
import { Transformer } from '../attention/model.js';
import { stepAsWritten, type Training } from '../support/training.js';
import { type Excerpts, excerptsOf, readText, type Text } from './text.js';

/** Sizes of the training. */
export interface TextTrainingOptions {
  readonly size?: number;
  /** Characters of an excerpt. */
  readonly length?: number;
  /** Excerpts of a step. */
  readonly batch?: number;
  /** Excerpts to learn from; all unless said. */
  readonly excerpts?: number;
}

/** A transformer that learns to go on with a text, character by character. */
export interface TextTraining {
  readonly text: Text;
  readonly training: Training<Excerpts, Transformer>;
  readonly step: kn.Hybridized<(batch: Excerpts) => { readonly loss: kn.NDArray }>;
  /** What it learns from, and what only measures it. */
  readonly data: Excerpts;
  readonly held: Excerpts;
  readonly batch: number;
  /** Steps of an epoch. */
  readonly epoch: number;
}

/** A fresh training, the same each time. */
export function makeTraining(options: TextTrainingOptions = {}): TextTraining {
  const { size = 32, length = 64, batch = 32 } = options;
  kn.random.seed(11);
  const text = readText();
  const all = excerptsOf(text, length).tokens;
  const count = Math.min(options.excerpts ?? all.shape[0] - batch, all.shape[0] - batch);
  const data = { tokens: all.slice([0, count]) };
  const held = { tokens: all.slice([all.shape[0] - batch, all.shape[0]]) };
  const net = new Transformer({
    size,
    heads: 4,
    layers: 2,
    capacity: length,
    vocabulary: text.alphabet.length,
  }).initialize();
  net.call(kn.zeros([1, 1], { dtype: 'int32' })); // sizes become known
  const training: Training<Excerpts, Transformer> = {
    net,
    optimizer: new kn.optim.Adam(net.parameters(), { learningRate: 0.005 }),
    loss: ({ tokens }) => {
      const logits = net.call(tokens.slice(':', [0, -1]));
      return kn.nn.loss.softmaxCrossEntropy(logits, tokens.slice(':', [1])).mean();
    },
  };
  const step = kn.hybridize((given: Excerpts) => ({ loss: stepAsWritten(training, given) }));
  return { text, training, step, data, held, batch, epoch: Math.floor(count / batch) };
}

/** One epoch on this machine; the mean loss. */
export function trainHere({ step, data, batch, epoch }: TextTraining): number {
  const losses = Array.from({ length: epoch }, (_, k) =>
    Number(step({ tokens: data.tokens.slice([k * batch, (k + 1) * batch]) }).loss.item()),
  );
  return losses.reduce((sum, loss) => sum + loss, 0) / epoch;
}

/**
 * Writes the rest of the training as a job for eight devices, four along the data and two along the model:
 * projections are divided as Megatron divides them (Shoeybi et al., 2019), all else is whole on each device.
 */
export async function writeTextJob(
  folder: string,
  { training, step, data, held, batch, epoch }: TextTraining,
  steps: number = 4 * epoch,
): Promise<void> {
  const evaluate = kn.hybridize((given: Excerpts) => ({ loss: training.loss(given) }));
  await writeJob(folder, {
    step: step.graphFor(held),
    evaluate: evaluate.graphFor(held),
    data: { ...data },
    evaluateData: { ...held },
    evaluateEvery: Math.max(1, Math.floor(steps / 4)),
    batch,
    steps,
    mesh: { data: 4, model: 2 },
    rules: [
      ['perceptron\\.layers\\.0\\.weight', ['model', null]],
      ['perceptron\\.layers\\.1\\.weight', [null, 'model']],
    ],
    checkpoint: { every: 50 },
  });
}

/** Goes on with a beginning, drawing each character from its probabilities at a temperature. */
export function sample(
  { text: { alphabet }, training: { net } }: TextTraining,
  beginning: string,
  length: number,
  temperature: number = 0.7,
): string {
  const numbers = [...beginning].map((character) => alphabet.indexOf(character));
  for (let k = 0; k < length; k++) {
    const logits = net.call(kn.array([numbers.slice(-net.capacity)], { dtype: 'int32' }));
    const next = kn.random.categorical(logits.slice(0, -1).div(temperature));
    numbers.push(Number(next.item()));
  }
  return numbers.map((number) => alphabet[number]).join('');
}
