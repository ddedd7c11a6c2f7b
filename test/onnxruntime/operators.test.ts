import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { KaonError } from '../../src/base/errors.js';
import { registerOnnxruntime } from '../../src/onnxruntime.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { engineNamed } from '../../src/runtime/engine/engine.js';
import { useEngine } from '../../src/runtime/engine/use.js';
import { divisionsOf, runElsewhere } from '../../src/runtime/execution/backends.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { bindSizes, generator, sampleCases, sampleOperands, sampleProgram } from '../support/samples.js'; // prettier-ignore
import { runtime, skip } from './installed.js';

/* Every sample of every operator that onnxruntime supports computes there what it computes here. */

if (runtime !== null) registerOnnxruntime({ name: 'ort', runtime, subgraphs: 'all' });

/** Greatest difference, in units of the greatest element: exponentials and the like are rounded in other ways. */
const tolerance = 2e-5;

let there = 0;

for (const sampleCase of sampleCases(registry.values())) {
  test(sampleCase.label, { skip }, async () => {
    const random = generator(7);
    for (const size of [1, 3]) {
      const sizes = bindSizes(sampleCase.sample, () => size);
      const program = sampleProgram(sampleCase, { sizes });
      const operands = sampleOperands(sampleCase.sample, sizes, random);
      useEngine(program, engineNamed('ort', 'test'), false);
      const run = async (): Promise<readonly (readonly (number | bigint)[])[]> => {
        const results = runElsewhere(program, operands, undefined)!;
        return Promise.all(results.map(async ({ storage }) => [...(await storage.read())]));
      };
      let expected: readonly Operand[];
      try {
        expected = compile(program).run(operands);
      } catch (error) {
        assert.ok(error instanceof KaonError, String(error));
        await assert.rejects(run, KaonError);
        continue;
      }
      // Who answers later cannot tell a size that the data decides.
      if (program.decidedSizes.size > 0) continue;
      const results = await run();
      results.forEach((actual, k) => compare(actual, [...expected[k].storage.host]));
      there += divisionsOf(program).filter(({ backend }) => backend === 'ort').length;
    }
  });
}

function compare(
  actual: readonly (number | bigint)[],
  expected: readonly (number | bigint)[],
): void {
  assert.equal(actual.length, expected.length);
  const finite = expected.map(Number).filter(Number.isFinite);
  const scale = Math.max(1, ...finite.map(Math.abs));
  expected.forEach((value, i) => {
    const isEqual =
      Object.is(actual[i], value) ||
      actual[i] === value ||
      Math.abs(Number(actual[i]) - Number(value)) <= tolerance * scale;
    assert.ok(isEqual, `element ${i}: ${actual[i]}, not ${value}`);
  });
}

after(() => assert.ok(runtime === null || there > 200, `${there} sub-graphs ran there`));
