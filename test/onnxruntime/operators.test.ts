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
import { bindSizes, generator, type SampleCase, sampleCases, sampleOperands, sampleProgram } from '../support/samples.js'; // prettier-ignore
import { type Margin, marginsOf } from '../laws/margins.js';
import { runtimes } from './installed.js';

/* Every sample of every operator that onnxruntime supports computes there what it computes here. */

for (const { name, runtime } of runtimes) {
  if (runtime !== null) registerOnnxruntime({ name, runtime, subgraphs: 'all' });
}

/**
 * Roundings of the greatest element, or of 1, that functions of elements differ by besides what folds differ by
 * (`laws/margins`): those of Kaon and of onnxruntime are each within 4 ulp, which is 8 roundings, of the exact value.
 */
const roundings = 16 * 2 ** -24;

for (const { name, runtime, skip } of runtimes) {
  let there = 0;
  for (const sampleCase of sampleCases(registry.values())) {
    test(`${name}: ${sampleCase.label}`, { skip }, async () => {
      there += await runSample(name, sampleCase);
    });
  }
  after(() => assert.ok(runtime === null || there > 200, `${there} sub-graphs ran on ${name}`));
}

/** Compares a sample at two sizes; the number of sub-graphs that ran there. */
async function runSample(backend: string, sampleCase: SampleCase): Promise<number> {
  const random = generator(7);
  let there = 0;
  for (const size of [1, 3]) {
    const sizes = bindSizes(sampleCase.sample, () => size);
    const program = sampleProgram(sampleCase, { sizes });
    const operands = sampleOperands(sampleCase.sample, sizes, random);
    useEngine(program, engineNamed(backend, 'test'), false);
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
    const results = await run();
    const divisions = divisionsOf(program).filter((division) => division.backend === backend);
    there += divisions.length;
    // Without floats there is nothing to round; only float32 is computed there.
    const margins = divisions.length === 0 ? [] : marginsOf(sampleCase, program, operands);
    results.forEach((actual, k) => compare(actual, [...expected[k].storage.host], margins[k] ?? null)); // prettier-ignore
  }
  return there;
}

function compare(
  actual: readonly (number | bigint)[],
  expected: readonly (number | bigint)[],
  margin: Margin,
): void {
  assert.equal(actual.length, expected.length);
  const finite = expected.map(Number).filter(Number.isFinite);
  const scale = Math.max(1, ...finite.map(Math.abs));
  expected.forEach((value, i) => {
    const allowed = roundings * scale + (margin?.[i] ?? 0);
    const isEqual =
      Object.is(actual[i], value) ||
      actual[i] === value ||
      Math.abs(Number(actual[i]) - Number(value)) <= allowed;
    assert.ok(isEqual, `element ${i}: ${actual[i]}, not ${value}; ${allowed} is allowed`);
  });
}
