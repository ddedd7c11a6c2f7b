import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { compile } from '../../src/runtime/compile/compile.js';
import { numbersOf } from '../support/arrays.js';
import { assertClose } from '../support/close.js';
import { checkout } from '../support/sources.js';
import { controlCases } from './control.js';
import { difference } from './difference.js';
import { straightCases } from './straight.js';
import { generatedText } from './texts.js';

/*
 * Kept texts show what a change does to generated code. They say nothing of whether that is right: so each
 * program also runs here, and its results are compared with those of plain loops.
 */
const folder = join(checkout, 'test/golden/texts');
const cases = [...straightCases(), ...controlCases()];
const accepts = process.env['KAON_GOLDEN'] === 'accept';

for (const { name, program, inputs, expected } of cases) {
  test(`${name} computes what plain loops do`, () => {
    for (const target of ['interpreter', 'wasm'] as const) {
      const outputs = compile(program, { target }).run(inputs).map(numbersOf);
      assert.equal(outputs.length, expected.length);
      outputs.forEach((output, i) => assertClose(output, expected[i], 2e-6, `${target}, ${i}`));
    }
  });

  test(`${name} becomes the code that it became before`, () => {
    const file = join(folder, `${name}.txt`);
    const text = generatedText(program);
    assert.equal(generatedText(program), text, 'the same program becomes the same text');
    if (accepts) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, text);
      return;
    }
    const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const changes = difference(known, text);
    assert.ok(
      changes === '',
      `the generated code has changed; where that was meant to be, accept it by\n` +
        `  KAON_GOLDEN=accept node scripts/test.mjs test/golden\n` +
        `and look at what git says of test/golden/texts\n\n${changes}`,
    );
  });
}

test('every kept text belongs to a program', () => {
  const names = new Set(cases.map(({ name }) => `${name}.txt`));
  const lost = readdirSync(folder).filter((file) => !names.has(basename(file)));
  if (accepts) for (const file of lost) rmSync(join(folder, file));
  else assert.deepEqual(lost, []);
});
