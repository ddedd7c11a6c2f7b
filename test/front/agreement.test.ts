import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayType } from '../../src/front/arraytype.js';
import { arrayOf } from '../../src/front/ndarray.js';
import * as kn from '../../src/index.js';
import * as operators from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { elementsOf } from '../support/programs.js';
import {
  bindSizes,
  generator,
  sampleArrays,
  sampleCases,
  sampleOperands,
} from '../support/samples.js';

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

for (const [index, { declaration, sample, label }] of sampleCases(registry.values()).entries()) {
  test(`${label} is the same eagerly, deferred and hybridized`, () => {
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
    const args = sample.args.map(place);
    const call = (): unknown => calls[declaration.name](...args);
    const eager = contents(call());
    assert.deepEqual(contents(kn.deferredCompute(call)), eager);
    const captured = kn.hybridize(call);
    assert.deepEqual([contents(captured()), contents(captured())], [eager, eager]);
  });
}
