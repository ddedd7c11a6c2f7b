import assert from 'node:assert/strict';
import { parseProgram } from '../../src/ir/formats/parse.js';
import { printProgram } from '../../src/ir/formats/text.js';
import type { Operator } from '../../src/ir/operator.js';
import type { Program } from '../../src/ir/program.js';
import { verify } from '../../src/ir/verify.js';
import { registry } from '../../src/ops/registry.js';

/** A program from its text; `own` are operators of the test. */
export function parse(text: string, own: readonly Operator[] = []): Program {
  return parseProgram(text, (name) => own.find((op) => op.name === name) ?? registry.get(name));
}

/** Runs a pass on text, verifies the result, and compares it with text. */
export function turns(
  pass: (program: Program) => Program,
  before: string,
  after: string,
  own: readonly Operator[] = [],
): void {
  const result = pass(parse(before, own));
  verify(result);
  assert.equal(printProgram(result), printProgram(parse(after, own)));
}

/** Checks that a pass has nothing to do. */
export function leaves(pass: (program: Program) => Program, text: string): void {
  const program = parse(text);
  assert.equal(pass(program), program);
}
