import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { settings } from '../support/settings.js';
import { baseOf } from './calls.js';
import { everyCallable, type Finding } from './campaign.js';
import { drive } from './drive.js';

/*
 * Everything published is called with wrong arguments: the answer is a result or an error of Kaon's, and nothing
 * is changed after an error. A call is its number and the seed.
 */

const seed = settings.seed ?? (settings.isLong ? Date.now() % 1_000_000 : 1);
const calls = settings.calls ?? (settings.isLong ? 200_000 : 3000);

const lines = (findings: readonly Finding[]): string =>
  findings
    .slice(0, 50)
    .map(({ number, call, fault }) => `${number} ${call}: ${fault}`)
    .join('\n');

test('what is published is read off the declarations', () => {
  const all = everyCallable();
  const paths = new Set(all.map(({ path }) => path));
  for (const path of ['add', 'nn.Dense', 'NDArray#sum', 'NDArray#assign', 'StaticGraph.fromJSON', 'onnx.toOnnx', 'optim.Optimizer#step', 'data.Loader', 'random.seed', 'autograd.record']) assert.ok(paths.has(path), path); // prettier-ignore
  assert.ok(all.length > 550, `${all.length} callables`);
  const dense = all.find(({ path }) => path === 'nn.Dense');
  assert.ok(dense?.parameters[1].options.includes('activation'));
  const without = all.filter((each) => baseOf(each) === undefined).map(({ path }) => path);
  assert.deepEqual(without.filter((path) => !/^NDArray#\w+$/.test(path)), []); // prettier-ignore
});

test('right calls return', async () => {
  const findings = await drive({ from: 0, to: 0, seed, isRight: true });
  assert.equal(lines(findings), '');
});

test(`${calls} wrong calls end in typed errors, and change nothing (seed ${seed})`, async () => {
  const parts = settings.isLong ? availableParallelism() : 1;
  const size = Math.ceil(calls / parts);
  const orders = Array.from({ length: parts }, (_, k) => ({
    from: k * size,
    to: Math.min(calls, (k + 1) * size),
    seed,
  }));
  const findings = await Promise.all(orders.map((order) => drive(order)));
  assert.equal(lines(findings.flat()), '');
});
