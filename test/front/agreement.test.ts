import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import { arrayType } from '../../src/front/core/array-type.js';
import { arrayOf } from '../../src/front/core/ndarray.js';
import * as kn from '../../src/index.js';
import * as operators from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { elementsOf } from '../support/programs.js';
import {
  bindSizes,
  generator,
  sampleArrays,
  type SampleCase,
  sampleCases,
  sampleOperands,
} from '../support/samples.js';
import { near, refuses } from './support.js';

/*
 * The law of the front floor: a call gives bitwise the same, whether it runs now, when its result is
 * read, or in a compiled graph.
 */

const calls = operators as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => unknown>
>;

/** Every array in a result: its type and its elements. */
function contents(result: unknown): unknown[] {
  if (result instanceof kn.NDArray) return [result.dtype, result.shape, elementsOf(result)];
  return Object.values(result as object).map(contents);
}

/** Compares what programs write as several calls, which add in another order: up to a few roundings. */
function sameButForOrder(actual: unknown, expected: unknown): void {
  assert.ok(actual instanceof kn.NDArray && expected instanceof kn.NDArray);
  assert.equal(actual.dtype, expected.dtype);
  assert.deepEqual(actual.shape, expected.shape);
  near(Array.from(actual.dataSync(), Number), Array.from(expected.dataSync(), Number), 1e-6);
}

/** The arguments of a sample, and the arrays among them. */
function bind({ sample }: SampleCase, index: number): { args: unknown[]; arrays: kn.NDArray[] } {
  const random = generator(index);
  const sizes = bindSizes(sample, () => 1 + Math.floor(4 * random()));
  const arrays = sampleOperands(sample, sizes, random).map(({ storage, shape }) =>
    arrayOf(arrayType(storage.dtype, shape), storage.host),
  );
  const places = sampleArrays(sample);
  let next = 0;
  const place = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    return places.includes(value as never) ? arrays[next++] : value;
  };
  return { args: sample.args.map(place), arrays };
}

/** The gradients of the squares of a call's results, from a recorded run of `run`. */
function gradients(
  run: () => readonly kn.NDArray[],
  arrays: readonly kn.NDArray[],
): readonly number[][] {
  for (const array of arrays) array.attachGrad();
  const results = kn.autograd.record(() =>
    run()
      .filter(({ dtype }) => isFloat(dtype))
      .map((result) => result.square().sum()),
  );
  return kn.autograd.grad(results, arrays).map((grad) => Array.from(grad.dataSync(), Number));
}

const cases = sampleCases(registry.values());

for (const [index, one] of cases.entries()) {
  const { declaration, label } = one;
  test(`${label} is the same eagerly, deferred and hybridized`, () => {
    const { args } = bind(one, index);
    const call = (): unknown => calls[declaration.name](...args);
    const eager = call();
    const captured = kn.hybridize(call);
    for (const result of [kn.deferredCompute(call), captured(), captured()]) {
      if (declaration.inPrograms === undefined) assert.deepEqual(contents(result), contents(eager));
      else sameButForOrder(result, eager);
    }
  });
}

for (const [index, one] of cases.entries()) {
  const { declaration, label } = one;
  const hasFloats = sampleArrays(one.sample).some(({ dtype }) => isFloat(dtype));
  if (declaration.gradient === 'none' || !hasFloats) continue;
  test(`the gradient of ${label} is the same eagerly and hybridized`, () => {
    const { args, arrays } = bind(one, index);
    const floats = arrays.filter(({ dtype }) => isFloat(dtype));
    const call = (): kn.NDArray[] => {
      const result = calls[declaration.name](...args);
      return result instanceof kn.NDArray ? [result] : Object.values(result as object);
    };
    if (!call().some(({ dtype }) => isFloat(dtype))) {
      for (const run of [call, kn.hybridize(call)]) {
        refuses(() => gradients(run, floats), kn.ArgumentError, 'nothing to differentiate');
      }
      return;
    }
    near(gradients(kn.hybridize(call), floats), gradients(call, floats), 1e-4);
  });
}
