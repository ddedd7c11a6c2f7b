import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KaonError } from '../../src/base/errors.js';
import { checkRequirements } from '../../src/ir/check-requirements.js';
import { programFromJSON, programToJSON } from '../../src/ir/formats/json.js';
import type { Program } from '../../src/ir/program.js';
import { registry } from '../../src/ops/registry.js';
import {
  bindSizes,
  generator,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';

/** What a step refuses, in full; null when it does not. */
function refusal(step: () => unknown): object | null {
  try {
    step();
    return null;
  } catch (error) {
    if (!(error instanceof KaonError)) throw error;
    const { name, code, op, problem, expected, actual } = error;
    return { name, code, op, problem, expected, actual };
  }
}

/** All ways to give names sizes of 0 to 3. */
function assignments(names: readonly string[]): ReadonlyMap<string, number>[] {
  return names.reduce<Map<string, number>[]>(
    (known, name) => known.flatMap((sizes) => [0, 1, 2, 3].map((size) => new Map([...sizes, [name, size]]))), // prettier-ignore
    [new Map<string, number>()],
  );
}

for (const { declaration, sample: given, label } of sampleCases(registry.values())) {
  // The sizes that a sample leaves out are those that matter here.
  const { least: _, ...sample } = given;
  const names = [...bindSizes(sample, () => 1).keys()];
  if (names.length === 0) continue;
  const sampleCase = { declaration, sample, label };

  test(`${label}: for every size is refused what is refused at each size, in the same words`, () => {
    const symbolic = sampleProgram(sampleCase);
    const read = programFromJSON(programToJSON(symbolic), (name) => registry.get(name));
    for (const sizes of assignments(names)) {
      const operands = sampleOperands(sample, sizes, generator(1)).map(({ shape, storage }) => ({
        type: { dtype: storage.dtype, shape },
      }));
      const eager = refusal(() => sampleProgram(sampleCase, { sizes }));
      const check = (program: Program): object | null =>
        refusal(() => checkRequirements(program, operands));
      const where = `sizes ${JSON.stringify([...sizes])}`;
      assert.deepEqual(check(symbolic), eager, where);
      assert.deepEqual(check(read), eager, `${where}, read from JSON`);
    }
  });
}
