import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Program, type Value } from '../../../src/ir/program.js';
import { reshape, slice } from '../../../src/ops/index.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { numbersOf, sizeOf } from '../../support/arrays.js';
import { floats } from '../../support/programs.js';

/* Parts of arrays in other shapes, simplified or not, have the elements of the part in order. */

test('a part in another shape has its elements in order', () => {
  let moved = 0;
  const cases = fc
    .record({
      shape: fc.array(fc.integer({ min: 1, max: 3 }).map((k) => 2 * k), { minLength: 1, maxLength: 3 }),
      axis: fc.nat(2),
      bounds: fc.tuple(fc.nat(6), fc.nat(6)),
      cuts: fc.array(fc.nat(3), { maxLength: 4 }),
    })
    .map(({ shape, axis: any, bounds: [a, b], cuts }) => {
      const axis = any % shape.length;
      const extent = shape[axis];
      const [start, stop] = [Math.min(a, b), Math.max(a, b) + 1].map((bound) => Math.min(bound, extent));
      const part = shape.with(axis, Math.max(stop - start, 0));
      return { shape, axis, start, stop, to: factored(sizeOf(part), cuts) };
    });
  fc.assert(
    fc.property(cases, ({ shape, axis, start, stop, to }) => {
      const program = new Program();
      const x = program.variable('x', { dtype: 'float32', shape });
      const part = slice(x, ...shape.map((_, at): [number, number] | ':' => (at === axis ? [start, stop] : ':')));
      program.setOutputs([{ name: 'y', value: reshape(part, to) }]);
      const simplest = runPipeline(program, passes);
      moved += Number(isPart(simplest.outputs[0].value));
      const elements = Array.from({ length: sizeOf(shape) }, (_, k) => k);
      const behind = sizeOf(shape.slice(axis + 1));
      const expected = elements.filter((k) => {
        const index = Math.floor(k / behind) % shape[axis];
        return index >= start && index < stop;
      });
      for (const each of [program, simplest]) {
        const [y] = compile(each, { target: 'interpreter' }).run([floats(shape, elements)]);
        assert.deepEqual(y.shape, to);
        assert.deepEqual(numbersOf(y), expected);
      }
    }),
    { seed: 31, numRuns: 300 },
  );
  assert.ok(moved > 50 && moved < 250, `${moved} of 300 are parts of reshapes`);
}); // prettier-ignore

/** A shape of so many elements, by factors of it that the cuts choose. */
function factored(size: number, cuts: readonly number[]): readonly number[] {
  const shape: number[] = [];
  let left = size;
  for (const cut of cuts) {
    const factor = cut + 1;
    if (left === 0 || left % factor !== 0) continue;
    shape.push(factor);
    left /= factor;
  }
  return [...shape, left];
}

function isPart({ program, node }: Value): boolean {
  const made = program.node(node);
  return made.kind === 'call' && made.op === slice.declaration;
}
