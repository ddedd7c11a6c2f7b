import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { dtypes, promoteAll, type WeakKind } from '../../src/base/dtype.js';

/*
 * What TypeScript makes of users' code. The assertions on types are checked when this file is compiled; that the
 * dtypes which they name are those of the arrays is checked when it runs.
 */

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only where the type of the value is `T` itself. */
function hasType<T>() {
  return <V>(_value: V, ..._isSame: Same<V, T> extends true ? [] : [never]): void => undefined;
}

/** An array whose dtype is, to TypeScript and in fact, the one named. */
function has<const D extends kn.DType>(dtype: D) {
  return <V extends kn.NDArray>(
    array: V,
    ..._isSame: Same<V, kn.NDArray<D>> extends true ? [] : [never]
  ): void => assert.equal(array.dtype, dtype);
}

const floats = kn.array([1.5, 2.5]);
const doubles = kn.zeros([2], { dtype: 'float64' });
const ints = kn.array([3, 4], { dtype: 'int32' });
const longs = kn.array([1n, 2n]);
const flags = kn.array([true, false]);
/** As users annotate parameters: nothing is known of the dtype. */
const unknown: kn.NDArray = kn.ones([2]);

test('creation', () => {
  has('float32')(floats);
  has('float64')(doubles);
  has('int32')(ints);
  has('int64')(longs);
  has('bool')(flags);
  has('float32')(kn.arange(3));
  has('int32')(kn.arange(0, 6, 2, { dtype: 'int32' }));
  has('float32')(kn.full([2], 7));
  has('bool')(kn.full([2], true));
  has('float64')(kn.array(new Float64Array(2)));
  has('uint8')(kn.array([1], { dtype: 'uint8', shape: [1, 1] }));
  has('int32')(kn.random.randint(0, 3, [2]));
  has('bool')(kn.random.bernoulli([2]));
  has('int64')(kn.random.categorical(floats));
  has('float32')(kn.zerosLike(floats));
  has('int8')(kn.zerosLike(floats, { dtype: 'int8' }));
  has('float16')(floats.astype('float16'));
});

test('reading: an element, all of them, nested lists', async () => {
  hasType<number>()(floats.sum().item());
  hasType<bigint>()(longs.max().item());
  hasType<boolean>()(flags.any().item());
  hasType<number | bigint | boolean>()(unknown.max().item());
  hasType<number>()(unknown.mean().item());
  hasType<Float32Array>()(floats.dataSync());
  hasType<BigInt64Array>()(longs.dataSync());
  hasType<Float32Array>()(floats.astype('bfloat16').dataSync());
  const data: Int32Array = await ints.data();
  assert.ok(data instanceof Int32Array);
  hasType<kn.NestedList<number>>()(floats.tolist());
  hasType<kn.NestedList<bigint>>()(longs.tolist());
  assert.deepEqual(
    [floats.dataSync(), longs.dataSync(), flags.dataSync(), doubles.dataSync()].map((each) => each.constructor),
    [Float32Array, BigInt64Array, Uint8Array, Float64Array],
  ); // prettier-ignore
  assert.deepEqual([typeof floats.sum().item(), typeof longs.max().item()], ['number', 'bigint']);
});

test('dtypes flow through operators', () => {
  has('bool')(floats.greater(0));
  has('bool')(kn.logicalNot(ints));
  has('int64')(floats.argmax());
  has('int64')(kn.nonzero(flags));
  has('int64')(flags.sum());
  has('float32')(flags.mean());
  has('float32')(ints.exp());
  has('float64')(doubles.exp());
  has('int32')(ints.reshape([2, 1]).transpose().max(0));
  has('float32')(ints.div(2));
  const { values, indices } = doubles.topK(1);
  has('float64')(values);
  has('int64')(indices);
  has('int32')(kn.split(ints, 2)[0]);
  has('int64')(kn.unique(floats, { returnCounts: true }).counts);
  has('float32')(floats.clip(0, 1));
  has('float32')(kn.where(flags, floats, 0));
  has('float32')(kn.nn.loss.mse(floats, floats).astype('float32'));
  hasType<number>()(kn.nn.loss.mse(unknown, unknown).item());
});

test('promotion, of arrays and of plain numbers', () => {
  has('float32')(floats.add(1));
  has('float32')(floats.add(ints));
  has('float64')(ints.mul(doubles));
  has('int32')(ints.add(1));
  has('float32')(ints.add(0.5));
  has('int64')(flags.add(1));
  has('int64')(ints.add(1n));
  has('float64')(floats.add(new Float64Array(2)));
  has('float32')(kn.add(1, floats));
  has('float32')(kn.add(1, 2));
  has('float32')(kn.matmul(kn.ones([2, 2]), floats));
  const count: number = 2;
  hasType<kn.NDArray<'int32' | 'float32'>>()(ints.add(count));
});

// The table of types is generated from `promoteAll`.
test('arithmetic promotes as the table of types has it', () => {
  const kinds: readonly (kn.DType | WeakKind)[] = [...dtypes, 'weak-bool', 'weak-int', 'weak-float'];
  const sample = (kind: kn.DType | WeakKind): kn.NDArray | number | boolean =>
    kind === 'weak-bool' ? true : kind === 'weak-int' ? 1 : kind === 'weak-float' ? 0.5 : kn.ones([1], { dtype: kind });
  for (const a of dtypes) {
    for (const b of kinds) assert.equal(kn.add(sample(a), sample(b)).dtype, promoteAll([a, b]), `${a} ${b}`);
  }
}); // prettier-ignore

test('lists of arrays and plain data', () => {
  has('float32')(kn.concat([floats, [2, 2]]));
  has('float32')(kn.concat([ints, [0.5]]).astype('float32'));
  has('float32')(kn.stack([floats, floats]));
  const explicit: kn.NDArray = kn.concat<kn.NDArray>([unknown, [2, 2]]);
  assert.equal(explicit.size, 4);
});

test('arrays of unknown dtype stand for all, and all for them', () => {
  const scale = (x: kn.NDArray): kn.NDArray => x.mul(2);
  const labels = (x: kn.NDArray<'int64'>): number => x.size;
  let state = kn.zeros([2]);
  state = scale(state);
  state = unknown;
  state = unknown.exp();
  state = state.add(unknown);
  for (const each of [floats, ints, flags, longs]) assert.equal(scale(each).size, 2);
  assert.equal(labels(longs) + labels(unknown), 4);
  // @ts-expect-error -- float32 is known not to be int64
  labels(floats);
  // @ts-expect-error -- nor is bool a float
  state = state.greater(0);
  const mixed = [floats, longs, flags];
  hasType<(number | bigint | boolean)[]>()(mixed.map((each) => each.max().item()));
  assert.deepEqual(mixed.map((each) => each.add(0).reshape([1, 2]).ndim), [2, 2, 2]); // prettier-ignore
  const [, total] = kn.foreach((row, s) => [[], s.add(row)], unknown, kn.zeros([]));
  hasType<number>()(total.item());
});

test('code that is generic in the dtype', () => {
  const norm = <D extends kn.DType>(x: kn.NDArray<D>): kn.NDArray<D> => x.reshape([-1]);
  has('int32')(norm(ints));
  const f = kn.hybridize((x: kn.NDArray<'float32'>) => x.greater(1));
  has('bool')(f(floats));
});

// What is refused is only compiled.
export function refused(): void {
  // @ts-expect-error -- no such dtype
  kn.zeros([2], { dtype: 'float' });
  // @ts-expect-error -- a shape is no text
  floats.reshape('2');
  // @ts-expect-error -- an operand is no text either
  floats.add('1');
  // @ts-expect-error -- options by their names
  floats.sum(0, { keepDims: true });
  // @ts-expect-error -- bigint and number do not mix
  void (longs.max().item() + 1);
  // @ts-expect-error -- the names of operators are known
  void new kn.nn.Lambda('rely');
}
