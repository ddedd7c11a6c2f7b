import assert from 'node:assert/strict';
import { test } from 'node:test';
import { original } from '../convert.js';
import { ArrayProgramWriter } from './array-programs.js';
import { ProgramWriter } from './host-programs.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { runPlainly } from './plain-number.js';
import { checkSmallest } from './shrink.js';

/** The first of many programs that a check refuses, as it is told of. */
function firstFailure(textOf: (seed: number) => string, check: (code: string) => void): string {
  for (let seed = 1; seed < 400; seed++) {
    try {
      checkSmallest(textOf(seed), check);
    } catch (error) {
      const [line, ...code] = (error as Error).message.split('\n');
      assert.equal(line, 'differs', String(error));
      return code.join('\n');
    }
  }
  throw new Error('no program fails');
}

function assertAlike(one: unknown, other: unknown, code: string): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(`differs\n${code}`);
}

for (const [right, wrong] of [
  ['??=', '||='],
  ['-=', '+='],
  ['yield* ', 'yield '],
]) {
  test(`host programs that have ${wrong} for ${right} are cut down to a few lines`, () => {
    const run = (code: string): Outcome => outcomeOf((log) => original(code)(log as never, 3 as never, 0 as never)); // prettier-ignore
    const code = firstFailure(
      (seed) => new ProgramWriter(seed).write(),
      (text) => assertAlike(run(text), run(text.replaceAll(right, wrong)), text),
    );
    assert.ok(code.includes(right), code);
    assert.ok(code.split('\n').filter((line) => line !== '').length <= 14, code);
  });
}

for (const [right, wrong] of [
  ['.sub(', '.add('],
  ['.less(', '.greaterEqual('],
  ['!f', 'f'],
]) {
  test(`programs about arrays that have ${wrong} for ${right} are cut down to a few lines`, () => {
    const run = (code: string): number => runPlainly(original(code), 0.3, -1.2).value;
    const code = firstFailure(
      (seed) => new ArrayProgramWriter(seed).write(),
      (text) => assertAlike(run(text), run(text.replaceAll(right, wrong)), text),
    );
    assert.ok(code.includes(right), code);
    assert.ok(code.split('\n').filter((line) => line !== '').length <= 10, code);
  });
}
