import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

test('calls, hits and misses add up, and costs are measured', () => {
  const f = kn.hybridize((x: kn.NDArray, by: number) => x.mul(by), { name: 'scale' });
  const x = kn.ones([2]);
  for (let i = 0; i < 3; i++) f(x, 2);
  for (let i = 0; i < 4; i++) f(x, 3);
  const { name, traces, hits, misses, evicted, forgotten, advice } = f.explain();
  assert.deepEqual([name, hits, evicted, forgotten, advice], ['scale', 5, 0, 0, []]);
  assert.deepEqual(
    traces.map(({ id, signature, operators, captured, calls, symbols }) => ({
      id, signature, operators, captured, calls, symbols,
    })),
    [2, 3].map((by, id) => ({
      id,
      signature: `(float32[2], ${by})`,
      operators: 1,
      captured: [],
      calls: by === 2 ? 3 : 4,
      symbols: [],
    })),
  ); // prettier-ignore
  assert.deepEqual(misses.map(({ trace }) => trace), [0, 1]); // prettier-ignore
  for (const { milliseconds, firstRunMilliseconds } of [...traces, ...misses]) {
    assert.ok(milliseconds > 0);
    assert.ok(firstRunMilliseconds! > 0);
  }
});

test('a graph that was only asked for has not run', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(2));
  f.graphFor(kn.ones([2]));
  const { traces, misses, hits } = f.explain();
  assert.deepEqual([traces[0].calls, traces[0].firstRunMilliseconds, hits], [0, null, 0]);
  assert.equal(misses[0].firstRunMilliseconds, null);
  assert.match(misses[0].source ?? '', /explain\.test/);
  f(kn.ones([2]));
  assert.equal(f.explain().hits, 1);
  assert.ok(f.explain().misses[0].firstRunMilliseconds! > 0);
});

test('data is a snapshot, and a budget can be asserted on it', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.sum());
  f(kn.ones([2]));
  const before = f.explain();
  for (let n = 3; n < 30; n++) f(kn.ones([n]));
  assert.deepEqual([before.traces.length, before.hits, before.traces[0].calls], [1, 0, 1]);
  assert.ok(f.explain().misses.length <= 3);
});

test('the symbols of a trace for all sizes, and what keeps sizes from becoming symbols, are told', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(2));
  for (let n = 2; n < 8; n++) f(kn.ones([n, 3]));
  const { traces, misses } = f.explain();
  assert.deepEqual(traces.map(({ symbols }) => symbols), [[], [], ['n0']]); // prettier-ignore
  assert.deepEqual([misses[2].symbols, misses[2].obstacle], [['n0'], null]);
  assert.equal(traces[2].signature, '(float32[n0, 3])');
  const g = kn.hybridize((x: kn.NDArray) => x.mul(x.shape[0]));
  for (let n = 2; n < 8; n++) g(kn.ones([n]));
  const reads = g.explain();
  assert.equal(reads.misses.length, 6);
  assert.match(reads.misses[2].obstacle ?? '', /reads the size of argument 0, axis 0 as a number/);
  assert.match(reads.advice[0], /size of argument 0, axis 0 was new 5 times: .*dynamic/);
  // That 2 * floor(n / 2) is n is required by now, but nothing concludes from it.
  const h = kn.hybridize((x: kn.NDArray) => x.reshape([2, -1]).flatten().add(x));
  for (let n = 1; n < 6; n++) h(kn.ones([4 * n]));
  assert.match(h.explain().misses[2].obstacle ?? '', /add: .* at .*explain\.test/);
});

test('the text is a table for people', () => {
  class Net extends kn.nn.HybridBlock {
    fc: kn.nn.Dense = new kn.nn.Dense(4);
    forward(x: kn.NDArray, train: boolean): kn.NDArray {
      return train ? this.fc.call(x) : this.fc.call(x).relu();
    }
  }
  const net = new Net();
  net.initialize().hybridize();
  for (let n = 2; n < 7; n++) net.call(kn.ones([n, 3]), true);
  net.call(kn.ones([2, 3]), false);
  const lines = String(net.explain()).split('\n');
  assert.equal(lines[0], 'Net: 4 traces, 2 hits, 4 misses');
  const [traces, misses] = [lines.slice(2, 7), lines.slice(8, 13)];
  assert.match(
    traces[0],
    /^trace {2}signature +operators +captured +calls +trace ms +first run ms {2}tier$/,
  );
  assert.match(
    traces[3],
    /^ {4}2 {2}\(float32\[n0, 3\], true\) +\d+ +2 +3 +\d+\.\d +\d+\.\d {2}wasm$/,
  );
  assert.match(misses[0], /^miss {2}because of +from +to +trace ms +first run ms +at$/);
  assert.match(misses[1], /nothing alike/);
  assert.match(
    misses[3],
    /size of argument 0, axis 0, now any size: n0 +3 +4 .*explain\.test\.ts:\d+:\d+$/,
  );
  assert.match(misses[4], /value of argument 1 and \d more|value of argument 1 +true +false/);
  // Every column starts or ends where its title does.
  for (const rows of [traces, misses]) {
    const end = rows[0].indexOf('trace ms') + 'trace ms'.length;
    for (const row of rows.slice(1)) assert.match(row.slice(0, end), /\d\.\d$/);
  }
});

test('a function that was never called has nothing to tell', () => {
  const f = kn.hybridize(function named(x: kn.NDArray) {
    return x;
  });
  assert.equal(String(f.explain()), 'named: 0 traces, 0 hits, 0 misses');
  class Net extends kn.nn.HybridBlock {
    forward(x: kn.NDArray): kn.NDArray {
      return x;
    }
  }
  assert.equal(String(new Net().explain()), 'Net: 0 traces, 0 hits, 0 misses');
});
