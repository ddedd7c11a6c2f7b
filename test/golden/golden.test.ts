import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from '../../src/runtime/compile/compile.js';
import { numbersOf } from '../support/arrays.js';
import { assertClose } from '../support/close.js';
import { controlCases } from './control.js';
import { KeptTexts } from './kept.js';
import { straightCases } from './straight.js';
import { generatedText } from './texts.js';

/*
 * Kept texts show what a change does to generated code. They say nothing of whether that is right: so each
 * program also runs here, and its results are compared with those of plain loops.
 */
const cases = [...straightCases(), ...controlCases()];
const kept = new KeptTexts('texts');

for (const { name, program, inputs, expected } of cases) {
  test(`${name} computes what plain loops do`, () => {
    for (const target of ['interpreter', 'wasm'] as const) {
      const outputs = compile(program, { target }).run(inputs).map(numbersOf);
      assert.equal(outputs.length, expected.length);
      outputs.forEach((output, i) => assertClose(output, expected[i], 2e-6, `${target}, ${i}`));
    }
  });

  test(`${name} becomes the code that it became before`, () => {
    const text = generatedText(program);
    assert.equal(generatedText(program), text, 'the same program becomes the same text');
    kept.compare(name, text);
  });
}

test('every kept text belongs to a program', () => {
  kept.refuseOthers(cases.map(({ name }) => name));
});
