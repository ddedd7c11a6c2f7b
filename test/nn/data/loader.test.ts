import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const numbers = (length: number): kn.data.Dataset<number> => ({ length, get: (index) => index });
const list = { collate: (samples: readonly number[]) => [...samples] };

async function drain<B>(loader: AsyncIterable<B>): Promise<B[]> {
  const batches: B[] = [];
  for await (const batch of loader) batches.push(batch);
  return batches;
}

test('batches come in order, the last one smaller unless dropped', async () => {
  assert.deepEqual(await drain(new kn.data.Loader(numbers(5), { batchSize: 2, ...list })), [
    [0, 1],
    [2, 3],
    [4],
  ]);
  const dropping = new kn.data.Loader(numbers(5), { batchSize: 2, dropLast: true, ...list });
  assert.deepEqual(await drain(dropping), [
    [0, 1],
    [2, 3],
  ]);
  assert.deepEqual(await drain(new kn.data.Loader(numbers(0), { batchSize: 2, ...list })), []);
});

test('shuffling is a permutation that depends on seed and epoch only', async () => {
  const loader = (): kn.data.Loader<number, number[]> =>
    new kn.data.Loader(numbers(50), { batchSize: 7, shuffle: true, seed: 3, ...list });
  const one = loader();
  const first = (await drain(one)).flat();
  const second = (await drain(one)).flat();
  assert.deepEqual(
    [...first].sort((x, y) => x - y),
    Array.from({ length: 50 }, (_, i) => i),
  );
  assert.notDeepEqual(first, second);
  const other = loader();
  assert.deepEqual((await drain(other)).flat(), first);
  assert.deepEqual((await drain(other)).flat(), second);
});

test('a loader resumes where another stood, whatever was fetched ahead', async () => {
  const make = (): kn.data.Loader<number, number[]> =>
    new kn.data.Loader(numbers(20), { batchSize: 3, shuffle: true, prefetch: 3, ...list });
  const whole = [...(await drain(make()))];
  const interrupted = make();
  const seen: number[][] = [];
  for await (const batch of interrupted) {
    seen.push(batch);
    if (seen.length === 3) break;
  }
  const resumed = make();
  resumed.loadState(JSON.parse(JSON.stringify(interrupted.state())) as kn.data.LoaderState);
  assert.deepEqual([...seen, ...(await drain(resumed))], whole);
  assert.throws(() => resumed.loadState({ seed: 0, epoch: 0, batch: 99 }), kn.FormatError);
});

test('an abort signal ends iteration with its reason', async () => {
  const controller = new AbortController();
  const loader = new kn.data.Loader(numbers(10), {
    batchSize: 1,
    signal: controller.signal,
    ...list,
  });
  await assert.rejects(async () => {
    for await (const [sample] of loader) if (sample === 2) controller.abort(new Error('enough'));
  }, /enough/);
  assert.equal(loader.state().batch, 3);
});

test('an abort signal does not wait for a sample that is on its way', async () => {
  const controller = new AbortController();
  let deliver!: (sample: number) => void;
  const dataset = { length: 2, get: () => new Promise<number>((resolve) => (deliver = resolve)) };
  const loader = new kn.data.Loader(dataset, {
    batchSize: 1,
    signal: controller.signal,
    ...list,
  });
  const next = loader[Symbol.asyncIterator]().next();
  await Promise.resolve();
  controller.abort(new Error('enough'));
  await assert.rejects(next, /enough/);
  deliver(1);
  assert.deepEqual(loader.state(), { seed: 0, epoch: 0, batch: 0 });
});

test('a failing sample rejects at its own turn', async () => {
  const dataset = {
    length: 4,
    get: (index: number) => (index === 2 ? Promise.reject(new Error('broken')) : index),
  };
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const batch of new kn.data.Loader(dataset, { batchSize: 1, prefetch: 3, ...list }))
      seen.push(...batch);
  }, /broken/);
  assert.deepEqual(seen, [0, 1]);
});

test('progress is told after every batch', async () => {
  const told: string[] = [];
  const progress = ({ epoch, batch, batches }: kn.data.LoaderProgress): void =>
    void told.push(`${epoch}:${batch}/${batches}`);
  await drain(new kn.data.Loader(numbers(3), { batchSize: 2, progress, ...list }));
  assert.deepEqual(told, ['0:1/2', '0:2/2']);
});

test('arrays are batched by row, in records and lists', async () => {
  const dataset = new kn.data.ArrayDataset({
    x: kn.arange(6).reshape([3, 2]),
    y: kn.array([7, 8, 9]),
  });
  const batches = await drain(new kn.data.Loader(dataset, { batchSize: 2 }));
  assert.deepEqual(batches.map(({ x, y }) => [x.tolist(), y.tolist()]), [
    [[[0, 1], [2, 3]], [7, 8]],
    [[[4, 5]], [9]],
  ]); // prettier-ignore
  assert.deepEqual(kn.data.collate([dataset.get(2), dataset.get(0)]).x.tolist(), [
    [4, 5],
    [0, 1],
  ]);
  assert.throws(() => new kn.data.ArrayDataset([kn.zeros([2]), kn.zeros([3])]), kn.ShapeError);
});

test('counts that are none are refused', () => {
  assert.throws(() => new kn.data.Loader(numbers(1), { batchSize: 0 }), kn.ArgumentError);
  assert.throws(
    () => new kn.data.Loader(numbers(1), { batchSize: 1, prefetch: -1 }),
    kn.ArgumentError,
  );
});
