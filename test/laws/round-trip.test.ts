import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programFromJSON, programToJSON } from '../../src/ir/formats/json.js';
import { parseProgram } from '../../src/ir/formats/parse.js';
import { printProgram } from '../../src/ir/formats/text.js';
import { verify } from '../../src/ir/verify.js';
import type { Operator } from '../../src/ir/operator.js';
import { registry } from '../../src/ops/registry.js';
import { sampleCases, sampleProgram } from '../support/samples.js';

const lookup = (name: string): Operator | undefined => registry.get(name);

for (const sampleCase of sampleCases(registry.values())) {
  test(`${sampleCase.label}: text and JSON read back to the same program`, () => {
    const program = sampleProgram(sampleCase);
    verify(program);
    const text = printProgram(program);
    const fromText = parseProgram(text, lookup);
    verify(fromText);
    assert.equal(printProgram(fromText), text);
    const json = JSON.stringify(programToJSON(program));
    const fromJson = programFromJSON(JSON.parse(json), lookup);
    verify(fromJson);
    assert.equal(JSON.stringify(programToJSON(fromJson)), json);
    assert.equal(printProgram(fromJson), text);
  });
}
