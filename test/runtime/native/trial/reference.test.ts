import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../../../src/base/dtype.js';
import { readElement, writeElement } from '../../../../src/base/element.js';
import { verify } from '../../../../src/ir/verify.js';
import { registry } from '../../../../src/ops/registry.js';
import { inFloat64 } from '../../../../src/passes/simplify/float64.js';
import { compile } from '../../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { agreesWithReference } from '../../../../src/runtime/native/trial/compare.js';
import { referenceOf } from '../../../../src/runtime/native/trial/reference.js';
import { slackOf } from '../../../../src/runtime/native/trial/slack.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { bindSizes, generator, sampleCases, sampleOperands, sampleProgram } from '../../../support/samples.js'; // prettier-ignore
import { dealt, settings } from '../../../support/settings.js';

/** The result with one element changed. */
function changed({ storage, shape }: Operand, at: number, by: (value: number) => number): Operand {
  const elements = storage.copy();
  const value = Number(readElement(storage.dtype, elements, at));
  writeElement(storage.dtype, elements, at, by(value));
  return { storage: new Storage(storage.dtype, elements), shape };
}

const cases = sampleCases(registry.values());
const some = settings.isLong ? cases : cases.filter((_, i) => i % 6 === 0);

for (const sampleCase of dealt(some)) {
  const { sample, label } = sampleCase;

  test(`${label}: right by float64, and wrong where an element is not`, () => {
    const random = generator(label.length);
    const sizes = bindSizes(sample, () => 5);
    const program = sampleProgram(sampleCase);
    for (const seed of [null, 1]) verify(inFloat64(program, seed));
    const operands = sampleOperands(sample, sizes, random);
    const { results, perturbed } = referenceOf(program, operands);
    compile(program, { tier: 'wasm' })
      .run(operands)
      .forEach((actual, k) => {
        const { dtype, length } = actual.storage;
        const agrees = (result: Operand): boolean =>
          agreesWithReference({
            // Like nothing, so that the reference alone decides.
            expected: changedAll(actual),
            actual: result,
            reference: results[k],
            perturbed: perturbed.map((each) => each[k]),
            slack: slackOf(program),
          });
        assert.ok(agrees(actual), `result ${k}`);
        if (!isFloat(dtype) || length === 0) return;
        const at = Math.floor(random() * length);
        const wrong = changed(actual, at, (value) => (Number.isFinite(value) ? value + 0.1 + 0.1 * Math.abs(value) : 1)); // prettier-ignore
        assert.ok(!agrees(wrong), `result ${k}, element ${at}`);
      });
  });
}

function changedAll({ storage, shape }: Operand): Operand {
  const elements = storage.copy();
  for (let i = 0; i < elements.length; i++) {
    const value = Number(readElement(storage.dtype, elements, i));
    writeElement(storage.dtype, elements, i, isFloat(storage.dtype) ? NaN : value + 1);
  }
  return { storage: new Storage(storage.dtype, elements), shape };
}
