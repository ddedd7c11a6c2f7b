import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { toModule } from '../../src/artifact/index.js';
import * as kn from '../../src/index.js';
import { checkout } from '../support/sources.js';
import { corpus, unbounded } from './corpus.js';
import { bytesOf, stored } from './elements.js';

interface Result {
  readonly data: ArrayBufferView;
  readonly shape: readonly number[];
  readonly dtype: string;
}

interface Made {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly stateNames: readonly string[];
  run(feeds?: Readonly<Record<string, unknown>>): Readonly<Record<string, Result>>;
  getState(name: string): Result;
  setState(name: string, data: unknown): void;
}

let count = 0;

/** The module as Node loads it; each text once more, since modules keep their state. */
async function load(text: string): Promise<Made> {
  const url = `data:text/javascript,${encodeURIComponent(`${text}\n//${count++}`)}`;
  return (await import(url)) as Made;
}

for (const [name, make] of Object.entries({ ...corpus, ...unbounded })) {
  test(`${name}: the module computes what the graph computes, bit by bit`, async () => {
    kn.random.seed(5);
    const { graph, feeds, train = false } = make();
    const made = await load(toModule(graph, { train }));
    assert.deepEqual(made.inputNames, graph.inputNames);
    assert.deepEqual(made.outputNames, graph.outputNames);
    for (const feed of feeds) {
      const expected = graph.run(feed);
      const found = made.run(
        Object.fromEntries(Object.entries(feed).map(([key, array]) => [key, stored(array)])),
      );
      assert.deepEqual(Object.keys(found), Object.keys(expected));
      for (const [key, array] of Object.entries(expected)) {
        assert.deepEqual(found[key].shape, array.shape, key);
        assert.equal(found[key].dtype, array.dtype);
        assert.deepEqual(bytesOf(found[key].data), bytesOf(stored(array).data), key);
      }
    }
  });

  test(`${name}: a check passes and leaves the graph as it is`, () => {
    kn.random.seed(6);
    const { graph, feeds, train = false } = make();
    const before = JSON.stringify(graph.toJSON());
    const drawn = kn.random.normal([2]);
    kn.random.seed(6);
    make();
    toModule(graph, { train, check: feeds[0] });
    assert.deepEqual(kn.random.normal([2]).tolist(), drawn.tolist());
    assert.equal(JSON.stringify(graph.toJSON()), before);
  });
}

test('feeds are typed arrays, arrays with shapes, lists and numbers', async () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.sum(0).mul(y), {
    dynamic: [['n', null], null],
  });
  const { run } = await load(toModule(f.graphFor(kn.ones([2, 2]), kn.array(3))));
  const expected = Float32Array.of(8, 12);
  for (const x of [
    Float32Array.of(1, 2, 3, 4),
    { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] },
    [[1, 2], [3, 4]], // prettier-ignore
  ]) {
    assert.deepEqual(run({ input0: x, input1: 2 }).output.data, expected);
  }
});

test('TypeScript knows what a module takes and gives', () => {
  const f = kn.hybridize((x: kn.NDArray, n: kn.NDArray) => ({ y: x.mul(2), n: n.add(1) }));
  const graph = f.graphFor(kn.ones([2]), kn.array([1], { dtype: 'int64' }));
  const folder = mkdtempSync(join(tmpdir(), 'kaon-module-'));
  try {
    writeFileSync(join(folder, 'model.mjs'), toModule(graph));
    writeFileSync(
      join(folder, 'use.mts'),
      `import { getState, inputNames, run } from './model.mjs';
const { y, n } = run({ input0: [1, 2], input1: { data: BigInt64Array.of(3n), shape: [1] } });
export const data: Float32Array = y.data;
export const wide: BigInt64Array = n.data;
export const shape: number[] = y.shape;
export const names: readonly string[] = inputNames;
export const bytes: number = getState('w').data.byteLength;
// @ts-expect-error: another element type
export const wrong: Int32Array = y.data;
// @ts-expect-error: no such output
run({ input0: [1, 2], input1: [3n] }).z;
// @ts-expect-error: an input is missing
run({ input0: [1, 2] });
// @ts-expect-error: a string is no array
run({ input0: 'x', input1: [3n] });
`,
    );
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
    const flags = ['--noEmit', '--strict', '--allowJs', '--target', 'es2022', '--module', 'nodenext', '--types', '']; // prettier-ignore
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...flags, 'use.mts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('feeds that do not fit are refused by name', async () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.matmul(y), {
    dynamic: [
      ['n', 'k'],
      ['k', null],
    ],
  });
  const { run } = await load(toModule(f.graphFor(kn.ones([2, 3]), kn.ones([3, 4]))));
  const x = { data: new Float32Array(6), shape: [2, 3] };
  const y = { data: new Float32Array(12), shape: [3, 4] };
  assert.equal(run({ input0: x, input1: y }).output.data.byteLength, 32);
  const wrong: readonly [Readonly<Record<string, unknown>>, RegExp][] = [
    [{ input0: x }, /input1 is missing/],
    [{ input0: x, input1: y, z: y }, /no input z/],
    [{ input0: x, input1: { ...y, shape: [4, 3] } }, /input1, axis 1: expected 4, got 3|axis 0: expected 3, got 4/],
    [{ input0: x, input1: { ...y, shape: [12] } }, /expected \[\?, 4\], got \[12\]/],
    [{ input0: new Float32Array(6), input1: y }, /give \{ data, shape \}/],
    [{ input0: { data: new Float64Array(6), shape: [2, 3] }, input1: y }, /expected Float32Array/],
    [{ input0: [[1, 2, 3], [1, 2]], input1: y }, /differ in length/],
  ]; // prettier-ignore
  for (const [feeds, message] of wrong) assert.throws(() => run(feeds), message);
});

test('data that asks for what cannot be is refused, and the state is as it was', async () => {
  const seen = kn.array([0]);
  const f = kn.hybridize((x: kn.NDArray, a: kn.NDArray, b: kn.NDArray) => {
    seen.assign(seen.add(1));
    return kn.booleanMask(x, a).add(kn.booleanMask(x, b));
  });
  const mask = (...values: boolean[]): kn.NDArray => kn.array(values, { dtype: 'bool' });
  const graph = f.graphFor(kn.ones([3]), mask(true, true, true), mask(true, true, true));
  const made = await load(toModule(graph, { train: true }));
  const run = (a: readonly number[], b: readonly number[]): Result => {
    const [x, ...masks] = [Float32Array.of(1, 2, 4), Uint8Array.from(a), Uint8Array.from(b)];
    return made.run({ input0: x, input1: masks[0], input2: masks[1] }).output;
  };
  const [state] = made.stateNames;
  assert.deepEqual(run([1, 1, 0], [0, 1, 1]).data, Float32Array.of(3, 6));
  assert.deepEqual(run([1, 1, 0], [0, 0, 1]).data, Float32Array.of(5, 6));
  assert.throws(() => run([1, 1, 1], [0, 1, 1]), {
    name: 'RangeError',
    message: /do not broadcast\n {2}expected: equal extents.*\n {2}actual: {3}\[3\] and \[2\]\n/,
  });
  assert.deepEqual(run([0, 0, 0], [0, 0, 0]).shape, [0]);
  assert.deepEqual(made.getState(state).data, Float32Array.of(3));
});

test('a training step in a module trains: its weights are those that training here leaves', async () => {
  kn.random.seed(7);
  const { graph, feeds } = corpus['a training step']();
  const made = await load(toModule(graph, { train: true }));
  for (let epoch = 0; epoch < 5; epoch++) {
    for (const feed of feeds) {
      graph.run(feed);
      made.run(Object.fromEntries(Object.entries(feed).map(([key, x]) => [key, stored(x)])));
    }
  }
  assert.ok(graph.parameters.size > 8);
  for (const [name, parameter] of graph.parameters) {
    assert.deepEqual(bytesOf(made.getState(name).data), bytesOf(stored(parameter).data), name);
  }
  const [name] = graph.parameters.keys();
  const { data } = made.getState(name) as Result & { readonly data: Float32Array };
  made.setState(name, data.map(() => 2)); // prettier-ignore
  assert.ok((made.getState(name).data as Float32Array).every((value) => value === 2));
  assert.throws(() => made.getState('nothing'), /there is no state nothing/);
  assert.throws(() => made.setState(name, new Float32Array(0)), RangeError);
});

test('what cannot be a module is refused', () => {
  const { graph } = corpus['a training step']();
  assert.throws(() => toModule(graph), { name: 'ArgumentError', op: 'toModule' });
  const noisy = kn.hybridize((x: kn.NDArray) => x.add(kn.random.normal([3])));
  assert.throws(() => toModule(noisy.graphFor(kn.ones([3]))), {
    name: 'ArgumentError',
    actual: 'a graph that draws random numbers',
  });
});
