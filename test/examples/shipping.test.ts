import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { carryOut } from '../../examples/shipping/carry-out.js';
import { compare, tolerance } from '../../examples/shipping/compare.js';
import { deploy } from '../../examples/shipping/deploy.js';
import { models } from '../../examples/shipping/models.js';
import { shipped } from '../../examples/shipping/shipped.js';
import { moduleInNode, ownImporter } from '../../examples/shipping/ways/index.js';
import { seeded } from '../../examples/support/random.js';
import * as kn from '../../src/index.js';

async function inFolder<R>(use: (folder: string) => Promise<R>): Promise<R> {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-shipping-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a transformer computes what eager code does, as a module and as an ONNX file', async () => {
  kn.random.seed(1);
  const model = models['transformer block'](seeded(1));
  const outcomes = await inFolder((folder) => carryOut(model, [moduleInNode, ownImporter], folder));
  for (const outcome of outcomes) {
    assert.equal(outcome.kind, 'ran', JSON.stringify(outcome));
    assert.ok(outcome.units.length === 3 && outcome.units.every((units) => units <= 1));
  }
});

test('a training step that leaves Kaon goes on from its own weights', async () => {
  kn.random.seed(1);
  const model = models['training step, digits'](seeded(1));
  const [outcome] = await inFolder((folder) => carryOut(model, [moduleInNode], folder));
  assert.deepEqual(outcome.kind === 'ran' ? outcome.problems : outcome, []);
  const losses = model.runs.map(({ expected }) => Number(Object.values(expected)[0].item()));
  assert.equal(new Set(losses).size, losses.length);
});

const scaled = (factor: number): ReturnType<typeof shipped> =>
  shipped((x: kn.NDArray) => x.mul(factor), [{ sizes: { n: 3 }, args: [kn.arange(3)] }], [['n']]); // prettier-ignore

test('a model is deployed in all forms, and a file that computes something else is found out', async () => {
  const right = await inFolder(async (folder) => {
    const deployed = await deploy(scaled(2), folder);
    for (const file of ['module/model.mjs', 'c/model.c', 'c/model.h']) {
      assert.ok(existsSync(join(folder, file)), file);
    }
    // Who executes it says how states are written.
    const models = ['onnx', 'plain onnx'].map((form) => join(folder, form, 'model.onnx'));
    assert.equal(models.filter((file) => existsSync(file)).length, 1);
    return deployed;
  });
  assert.ok(right.isRight, right.lines.join('\n'));
  assert.match(right.lines.join('\n'), /^ONNX: model\.onnx .*\n {2}executed by .*: computes what/);

  const wrong = { ...scaled(3), runs: scaled(2).runs };
  const found = await inFolder((folder) => deploy(wrong, folder));
  assert.ok(!found.isRight);
  assert.match(found.lines.join('\n'), /element 2 is 6 instead of 4/);
});

test('errors are counted in units of the tolerance, and what is no number of an error is a difference', () => {
  const expected = { y: kn.array([0, -8, NaN, Infinity]) };
  const found = (data: number[], shape = [4], dtype = 'float32'): ReturnType<typeof compare> =>
    compare(expected, { y: { dtype, shape, data } });
  assert.deepEqual(found([0, -8, NaN, Infinity]), { units: 0, problem: null });
  // The greatest finite element is 8.
  const half = found([4 * tolerance, -8, NaN, Infinity]);
  assert.ok(Math.abs(half.units - 0.5) < 1e-6 && half.problem === null);
  assert.ok(found([0, -8 - 16 * tolerance, NaN, Infinity]).problem !== null);
  assert.equal(found([0, -8, 1, Infinity]).units, Infinity);
  assert.equal(found([0, -8, NaN, 9]).units, Infinity);
  assert.match(found([0, -8, NaN, Infinity], [2, 2]).problem!, /shape \[2, 2\] instead of \[4\]/);
  assert.match(found([0, -8, NaN, Infinity], [4], 'float64').problem!, /float64 instead of/);
  assert.match(compare(expected, {}).problem!, /y: there is no such output/);
  const whole = { n: kn.array([1, 2], { dtype: 'int32' }) };
  const off = compare(whole, { n: { dtype: 'int32', shape: [2], data: [1, 3] } });
  assert.deepEqual(off.units, Infinity);
});
