import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { isInexact } from '../fuzz/facts.js';
import {
  bindSizes,
  generator,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';
import { differenceOf, mapped, type Margin, marginsOf, valuesOf } from './margins.js';

/*
 * The comparison of the laws of execution, on results that are wrong on purpose: margins must let every order
 * of summation through, and no fault that code could have.
 */

const sizesAt = 7;
/** Elements of each operand, and of each result, that are tampered with. */
const tampered = 6;

/** A few places of an array, spread over it. */
function placesIn({ storage: { length } }: Operand): number[] {
  const count = Math.min(length, tampered);
  return Array.from({ length: count }, (_, k) => Math.floor(((k + 0.5) * length) / count));
}

type Fault = (values: readonly number[], at: number) => number;
const faults: Readonly<Record<string, Fault>> = {
  'a term is left out': () => 0,
  'the neighbor is read': (values, at) => values[(at + 1) % values.length],
  'a term counts twice': (values, at) => 2 * values[at],
};

const hasFloats = ({ storage: { dtype, length } }: Operand): boolean =>
  isFloat(dtype) && length > 0;

const isSame = (a: Operand, b: Operand): boolean => differenceOf(a, b, null) === null;

function isNoticed(
  actual: readonly Operand[],
  expected: readonly Operand[],
  margins: readonly Margin[],
): boolean {
  return actual.some((result, i) => differenceOf(result, expected[i], margins[i]) !== null);
}

for (const sampleCase of sampleCases(registry.values())) {
  const { declaration, sample, label } = sampleCase;
  if (!isInexact(declaration.name)) continue;

  test(`${label}: margins hide no fault`, () => {
    const random = generator(label.length);
    const sizes = bindSizes(sample, () => sizesAt);
    const program = sampleProgram(sampleCase, { sizes });
    const executable = compile(program, { target: 'interpreter' });
    const operands = sampleOperands(sample, sizes, random);
    const expected = executable.run(operands);
    const margins = marginsOf(sampleCase, program, operands);
    let seen = 0;
    const hidden = new Set<string>();
    for (const fault of Object.values(faults)) {
      for (const [i, operand] of operands.entries()) {
        if (!hasFloats(operand)) continue;
        const values = valuesOf(operand);
        for (const at of placesIn(operand)) {
          const wrong = mapped(operand, (value, k) => (k === at ? fault(values, at) : value));
          const actual = executable.run(operands.map((one, k) => (k === i ? wrong : one)));
          if (actual.every((result, k) => isSame(result, expected[k]))) continue;
          seen++;
          if (!isNoticed(actual, expected, margins)) hidden.add(`operand ${i} at ${at}`);
        }
      }
    }
    for (const [i, result] of expected.entries()) {
      if (!isFloat(result.storage.dtype)) continue;
      const values = valuesOf(result);
      for (const at of placesIn(result)) {
        const other = (at + 1) % values.length;
        if (values[at] === values[other]) continue;
        seen++;
        const swapped = mapped(result, (value, k) => (k === at ? values[other] : k === other ? values[at] : value)); // prettier-ignore
        if (differenceOf(swapped, result, margins[i]) === null) hidden.add(`lanes ${at} and ${other} of result ${i}`); // prettier-ignore
      }
    }
    // Some results hardly depend on some of their terms: variances on what is about the mean.
    assert.ok(hidden.size <= 1, [...hidden].join('; '));
    if (operands.some(hasFloats)) assert.ok(seen > 0, 'nothing was wrong');
  });
}
