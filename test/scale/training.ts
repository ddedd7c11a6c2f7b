import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import * as kn from '../../src/index.js';

const { autograd, nn, optim } = kn;

export type Arrays = Readonly<Record<string, kn.NDArray>>;

/** A folder that the test leaves nothing of. */
export function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-job-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Rates over ten steps. */
export const rates: (step: number) => number = optim.schedule.cosine(0.05, { steps: 10 });

/** What a job is written from. */
export interface Training {
  readonly net: kn.nn.Sequential;
  readonly optimizer: kn.optim.Adam;
  readonly step: kn.Hybridized<(batch: Arrays) => { loss: kn.NDArray }>;
  readonly evaluate: kn.Hybridized<(batch: Arrays) => { loss: kn.NDArray }>;
}

/** A network with dropout, its optimizer, and captured steps over it. */
export function training(
  rate: number | ((step: number) => number) = rates,
  initialize: { readonly materialize?: boolean } = {},
): Training {
  const net = new nn.Sequential(
    new nn.Dense(8, { activation: 'tanh' }),
    new nn.Dropout(0.25),
    new nn.Dense(3),
  ).initialize(initialize);
  const optimizer = new optim.Adam(net.parameters(), { learningRate: rate });
  const lossOf = ({ x, y }: Arrays): kn.NDArray =>
    nn.loss.softmaxCrossEntropy(net.call(x), y).mean();
  const step = kn.hybridize((batch: Arrays) => {
    const loss = autograd.record(() => lossOf(batch));
    loss.backward();
    optimizer.step();
    return { loss };
  });
  const evaluate = kn.hybridize((batch: Arrays) => ({ loss: lossOf(batch) }));
  return { net, optimizer, step, evaluate };
}

/** Random examples of three classes. */
export const examples = (count: number): Arrays => ({
  x: kn.random.normal([count, 5]),
  y: kn.random.randint(0, 3, [count]),
});

export const rowsOf = (data: Arrays, rows: readonly number[]): Arrays => ({
  x: kn.take(data.x, rows, { axis: 0 }),
  y: kn.take(data.y, rows, { axis: 0 }),
});
