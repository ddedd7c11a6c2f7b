import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { collectGarbage } from '../../support/garbage.js';
import { refuses } from '../support.js';

/** How many traces a function keeps. */
const capacity = 64;

const scaled = (x: kn.NDArray, by: number): kn.NDArray => x.mul(by);

test('a function keeps so many traces; the one that was not used for the longest time goes first', () => {
  const f = kn.hybridize(scaled, { verify: 'off' });
  const x = kn.ones([1]);
  for (let i = 0; i < capacity; i++) f(x, i);
  f(x, 0); // used again: 1 is the oldest now
  f(x, capacity);
  let { traces, evicted, misses } = f.explain();
  assert.deepEqual([traces.length, evicted, misses.length], [capacity, 1, capacity + 1]);
  f(x, 0);
  assert.equal(f.explain().misses.length, capacity + 1, '0 is still there');
  assert.equal(f(x, 1).item(), 1);
  ({ traces, evicted, misses } = f.explain());
  assert.deepEqual([traces.length, evicted, misses.length], [capacity, 2, capacity + 2]);
});

test('the limit is one for all calls, whether they differ in sizes or otherwise', () => {
  const f = kn.hybridize((x: kn.NDArray, by: number) => x.mul(by).mul(x.shape[0]), {
    verify: 'off',
  });
  for (let by = 0; by < 12; by++) {
    for (let n = 1; n < 9; n++)
      assert.equal(
        f(kn.ones([n]), by)
          .sum()
          .item(),
        by * n * n,
      );
  }
  const { traces, evicted } = f.explain();
  assert.deepEqual([traces.length, traces.length + evicted], [capacity, 12 * 8]);
});

test('a static argument that is new at each call is named, with what to do', () => {
  const f = kn.hybridize((x: kn.NDArray, { step }: { step: number }) => x.mul(step));
  for (let step = 0; step < 200; step++) f(kn.ones([1]), { step });
  const { traces, misses, forgotten, advice, evicted } = f.explain();
  assert.deepEqual([traces.length, misses.length + forgotten, evicted], [capacity, 200, 136]);
  assert.ok(misses.length <= 128);
  assert.equal(advice.length, 1);
  assert.match(advice[0], /value of argument 1\.step was new 199 times/);
  assert.match(advice[0], /pass argument 1\.step as an array/);
  assert.match(String(f.explain()), /advice: value of argument 1\.step[^]*kn\.array/);
  const g = kn.hybridize((x: kn.NDArray, h: (y: kn.NDArray) => kn.NDArray) => h(x));
  for (let i = 0; i < 5; i++) g(kn.ones([1]), (y) => y.mul(2));
  assert.match(g.explain().advice[0], /pass the same function as argument 1 each time/);
  const h = kn.hybridize(scaled);
  for (let i = 0; i < 50; i++) h(kn.ones([1]), i % 3);
  assert.deepEqual(h.explain().advice, [], 'three values are no habit');
});

test('an evicted trace frees its graph, its code and what it captured', async () => {
  const f = kn.hybridize((x: kn.NDArray, use: () => kn.NDArray) => x.add(use()));
  const early: WeakRef<object>[] = [];
  // In a function of its own: a frame that waits would keep its variables.
  const callOnce = (i: number): void => {
    const captured = kn.full([64], i);
    const use = (): kn.NDArray => captured;
    assert.equal(
      f(kn.zeros([1]), use)
        .sum()
        .item(),
      64 * i,
    );
    const { program } = f.graphFor(kn.zeros([1]), use);
    early.push(new WeakRef(captured), new WeakRef(program), new WeakRef(use));
  };
  for (let i = 0; i < 10; i++) callOnce(i);
  await collectGarbage();
  const alive = (): number => early.filter((each) => each.deref() !== undefined).length;
  assert.ok(alive() > 0, 'traces that are kept hold what they captured');
  for (let i = 0; i < capacity; i++) f(kn.zeros([1]), () => kn.ones([1]).mul(i));
  await collectGarbage();
  assert.equal(alive(), 0);
  assert.equal(f.explain().evicted, 10);
});

test('a budget of traces stops the call that would need one more, before anything runs', () => {
  let runs = 0;
  const state = kn.zeros([]);
  const f = kn.hybridize(
    (x: kn.NDArray, mode: string) => {
      runs++;
      state.assign(state.add(1));
      return mode === 'double' ? x.mul(2) : x.mul(3);
    },
    { maxTraces: 2, verify: 'off', name: 'step' },
  );
  const x = kn.ones([2]);
  f(x, 'double');
  f(x, 'triple');
  const before = runs;
  const error = refuses(
    () => f(x.astype('int32'), 'double'),
    kn.TraceError,
    'one trace more than maxTraces allows',
    'at most 2 traces',
    'dtype of argument 0: float32 -> int32',
    'pass argument 0 with one dtype, or raise maxTraces',
    'step: 2 traces, 0 hits, 2 misses',
  );
  assert.match(error.source ?? '', /trace-cache\.test/);
  assert.deepEqual([runs, state.item(), f.explain().misses.length], [before, 2, 2]);
  assert.deepEqual(f(x, 'triple').tolist(), [3, 3]);
  assert.equal(state.item(), 3);
  refuses(() => f.graphFor(kn.ones([3]), 'double'), kn.TraceError, 'axis 0: 2 -> 3');
});

test('a budget counts a trace for all sizes once', () => {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(2).sum(), { maxTraces: 3 });
  for (let n = 0; n < 20; n++) assert.equal(f(kn.ones([n])).item(), 2 * n);
  assert.equal(f.explain().traces.length, 3);
});

test('a call that fails to trace leaves nothing', () => {
  const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => x.add(y));
  for (let n = 2; n < 8; n++) {
    refuses(() => f(kn.ones([n]), kn.ones([n + 1])), kn.ShapeError, 'broadcast');
  }
  const { traces, misses, hits } = f.explain();
  assert.deepEqual([traces.length, misses.length, hits], [0, 0, 0]);
  for (let n = 2; n < 8; n++) f(kn.ones([n]), kn.ones([n]));
  refuses(() => f(kn.ones([7]), kn.ones([8])), kn.ShapeError, 'broadcast');
  for (let n = 8; n < 12; n++) f(kn.ones([n]), kn.ones([n]));
  assert.equal(f.explain().traces.length, 3, 'a mistake does not spoil what was generalized');
});
