import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateDim } from '../../src/base/dim/index.js';
import { bytesOf } from '../../src/base/dtype.js';
import { bindShapes, bindTypes } from '../../src/ir/bind.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Executable, Operand } from '../../src/runtime/execution/executable.js';
import { defaultTier } from '../../src/runtime/execution/tiers.js';
import {
  bindSizes,
  generator,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { dealt, settings } from '../support/settings.js';
import { assertReached } from '../support/tiers.js';
import { differenceOf, marginsOf } from './margins.js';

/** The elements as text that tells every bit apart but those of NaN. */
function elements({ storage }: Operand): string {
  return [...(storage.host as Iterable<number | bigint>)]
    .map((value) => (Object.is(value, -0) ? '-0' : String(value)))
    .join(' ');
}

/** Sizes that break things: nothing, one, and a few that are no multiple of any vector. */
const choices = [0, 1, 2, 3, 5, 7, 11];

/** Native code takes a compiler some time: once for known sizes, and once for all of them. */
const isNative = defaultTier() === 'native';
const wanted = isNative ? [11] : settings.isLong ? choices : [0, 1, 7, 11];

/** Runs on the tier that the process asks for: where that is native code, nothing else will do. */
function runAsWanted(executable: Executable, operands: readonly Operand[]): readonly Operand[] {
  const results = executable.run(operands);
  if (isNative) assertReached(executable.tiers());
  return results;
}

for (const sampleCase of dealt(sampleCases(registry.values()))) {
  const { sample, label } = sampleCase;

  test(`${label}: wasm computes what the interpreter defines, at the inferred types`, () => {
    const random = generator(label.length + sample.args.length);
    for (const base of wanted) {
      const sizes = bindSizes(sample, () =>
        base < 2 ? base : choices[Math.floor(random() * choices.length)],
      );
      const program = sampleProgram(sampleCase, { sizes });
      const operands = sampleOperands(sample, sizes, random);
      const expected = compile(program, { target: 'interpreter' }).run(operands);
      // Only where sums round as the interpreter's do are results equal in every bit.
      const strict = { target: 'wasm', tier: 'wasm', relaxed: false } as const;
      const actual = compile(program, strict).run(operands);
      const usual = runAsWanted(compile(program, { target: 'wasm' }), operands);
      const margins = marginsOf(sampleCase, program, operands);
      program.outputs.forEach(({ value: { type } }, i) => {
        // A dimension that the data decides is checked by rank and total size only.
        const known = type.shape.every((dim) => typeof dim === 'number');
        if (known) assert.deepEqual(actual[i].shape, type.shape);
        assert.equal(actual[i].shape.length, type.shape.length);
        assert.equal(actual[i].storage.dtype, type.dtype);
        const length = actual[i].shape.reduce((a, b) => a * b, 1);
        assert.equal(actual[i].storage.host.byteLength, length * bytesOf(type.dtype));
        assert.equal(
          elements(actual[i]),
          elements(expected[i]),
          `sizes ${JSON.stringify([...sizes])}`,
        );
        const found = differenceOf(usual[i], expected[i], margins[i]);
        assert.equal(found, null, `sizes ${JSON.stringify([...sizes])}`);
      });
      if (sizes.size === 0) break;
    }
  });

  if (bindSizes(sample, () => 2).size > 0) {
    test(`${label}: symbolic dimensions give what static ones give`, () => {
      const symbolic = sampleProgram(sampleCase);
      const executable = compile(symbolic, { target: 'wasm' });
      const random = generator(label.length);
      for (const size of [0, 1, 2, 5]) {
        const sizes = bindSizes(sample, () => size);
        const operands = sampleOperands(sample, sizes, random);
        const known = sampleProgram(sampleCase, { sizes });
        const fixed = compile(known, { target: 'wasm', tier: 'wasm' }).run(operands);
        const free = runAsWanted(executable, operands);
        const margins = marginsOf(sampleCase, known, operands);
        const given = bindTypes(
          symbolic.inputs.map(({ type }, i) => ({ name: `x${i}`, type })),
          operands.map(({ shape, storage }) => ({ shape, dtype: storage.dtype })),
        );
        // What only the data decides follows from the results; all of them have to agree on it.
        const results = symbolic.outputs.map(({ name, value: { type } }, i) => {
          return { name, declared: type.shape, actual: free[i].shape };
        });
        const bindings = bindShapes(results, undefined, given);
        symbolic.outputs.forEach(({ value: { type } }, i) => {
          assert.deepEqual(free[i].shape, fixed[i].shape);
          assert.deepEqual(
            type.shape.map((dim) => evaluateDim(dim, bindings)),
            fixed[i].shape,
          );
          assert.equal(differenceOf(free[i], fixed[i], margins[i]), null, `size ${size}`);
        });
      }
    });
  }
}
