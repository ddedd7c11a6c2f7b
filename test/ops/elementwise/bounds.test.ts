import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { boundOf, bounds } from '../../../accuracy/reference/bounds.js';
import { distance, formats, ulpExponent } from '../../../accuracy/reference/formats.js';
import { forms } from '../../../accuracy/reference/forms.js';
import { measure, referenceOf } from '../../../accuracy/reference/measure.js';
import * as operators from '../../../accuracy/reference/operators.js';
import { fromNumber, magnitudeOf, sub, toNumber } from '../../../accuracy/reference/real.js';
import { settings } from '../../support/settings.js';
import { references } from './references.js';

/*
 * The promises of decision 5, over the whole domain: special numbers, random bits, and what is found around
 * roots, poles and the ends of ranges. `npm run accuracy -- functions` is the same with more numbers.
 */

const [float32, float64] = formats;
const measured = forms.filter(({ declaration: { name } }) => !(name in operators.unmeasured));

test('every elementwise function of floats has a reference and a bound, and nothing else has', () => {
  const names = new Set(measured.map(({ declaration }) => declaration.name));
  for (const form of measured) {
    assert.doesNotThrow(() => referenceOf(form));
    for (const format of formats) assert.ok(boundOf(form, format) >= 0, form.label);
  }
  assert.deepEqual(Object.keys(operators.operatorReferences).filter((name) => !names.has(name)), []); // prettier-ignore
  const known = new Set([...names, ...measured.map(({ label }) => label)]);
  assert.deepEqual(
    Object.keys(bounds).filter((name) => !known.has(name)),
    [],
  );
});

test('references agree with values of mpmath to more digits than a float64 has', () => {
  for (const [name, list] of references) {
    const reference = operators.operatorReferences[name];
    const attributes = { alpha: 1, approximate: 'none' };
    for (const { x, high, low } of list) {
      const exact = reference.value([x], attributes, float64);
      if (typeof exact === 'number') {
        assert.equal(exact, high, `${name}(${x})`);
        continue;
      }
      const off = toNumber(sub(sub(exact, fromNumber(high)), fromNumber(low)));
      const ulp = 2 ** ulpExponent(magnitudeOf(exact), float64);
      // The second part has three digits.
      assert.ok(Math.abs(off) <= 0.006 * Math.abs(low) + 2 ** -40 * ulp, `${name}(${x})`);
    }
  }
});

test('an error is counted in ulp of the exact value, also of denormals, infinities and NaN', () => {
  const unit = ulpExponent(0, float32);
  assert.equal(distance(1 + 2 ** -23, fromNumber(1), unit, float32), 1);
  assert.equal(distance(1, fromNumber(1 + 2 ** -24), unit, float32), 0.5);
  assert.equal(distance(3 * 2 ** -149, fromNumber(2 ** -149), ulpExponent(-149, float32), float32), 2); // prettier-ignore
  const top = (2 - 2 ** -23) * 2 ** 127;
  assert.equal(distance(Infinity, fromNumber(top), ulpExponent(127, float32), float32), 1);
  assert.equal(distance(top, fromNumber(2 ** 128), ulpExponent(128, float32), float32), 0.5);
  assert.equal(distance(Infinity, fromNumber(2 ** 900), ulpExponent(900, float32), float32), 0);
  assert.equal(distance(NaN, fromNumber(1), unit, float32), Infinity);
});

/** Narrow results are rounded from those of float32, which the other target tries. */
const tried = settings.isLong
  ? { wasm: formats, interpreter: formats }
  : { wasm: [float32, float64], interpreter: formats.slice(2) };

for (const target of ['wasm', 'interpreter'] as const) {
  test(`${target}: every function of floats is within its bound wherever it is tried`, () => {
    const options = { points: settings.isLong ? 4000 : 60, seed: 1, target };
    for (const form of measured) {
      for (const format of tried[target]) {
        const { error, operands, result } = measure(form, format, options);
        const call = `${form.label} of ${format.dtype} at ${operands.join(', ')}`;
        assert.ok(error <= boundOf(form, format), `${call}: ${result} is ${error} ulp off`);
      }
    }
  });
}

test('the table of decision 5 is printed by the program, with the bounds that hold', () => {
  const decision = readFileSync('docs/decisions/0005-elementwise-numerics.md', 'utf8');
  const table = /<!-- accuracy functions -->\n([^]*?)<!-- end of accuracy functions -->/.exec(decision)?.[1]; // prettier-ignore
  assert.ok(table !== undefined);
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '));
  const byLabel = new Map(rows.map(([label, ...cells]) => [label, cells.map(Number)]));
  for (const form of measured) {
    const [first, second] = [boundOf(form, float32), boundOf(form, float64)];
    const cells = byLabel.get(form.label);
    byLabel.delete(form.label);
    if (cells === undefined) {
      assert.ok(first === second && first <= 0.5 && table.includes(form.label), form.label);
      continue;
    }
    assert.deepEqual([cells[1], cells[3]], [first, second], form.label);
    assert.ok(cells[0] <= first + 0.005 && cells[2] <= second + 0.005, form.label);
  }
  assert.deepEqual([...byLabel.keys()], [], 'rows of what there is not');
});
