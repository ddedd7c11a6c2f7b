import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type DType, isNarrowFloat } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import { KaonError } from '../../src/base/errors.js';
import { registerOnnxruntime } from '../../src/onnxruntime.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { engineNamed } from '../../src/runtime/engine/engine.js';
import { useEngine } from '../../src/runtime/engine/use.js';
import { divisionsOf, runElsewhere } from '../../src/runtime/execution/backends.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { bindSizes, generator, type SampleCase, sampleCases, sampleOperands, sampleProgram } from '../support/samples.js'; // prettier-ignore
import { settings } from '../support/settings.js';
import { type Margin, marginsOf } from '../laws/margins.js';
import { runtimes } from './installed.js';

/*
 * Every sample of every operator that onnxruntime supports computes there what it computes here. Both packages are built
 * from the same sources, so by day that of browsers computes every third one.
 */

/** A session for each sample: their threads, hundreds, are slow to come and go. */
const session = { intraOpNumThreads: 1 };

for (const { name, runtime } of runtimes) {
  if (runtime !== null) registerOnnxruntime({ name, runtime, session, subgraphs: 'all' });
}

/**
 * Roundings of the greatest element, or of 1, that functions of elements differ by besides what folds differ by
 * (`laws/margins`): those of Kaon and of onnxruntime are each within 4 ulp, which is 8 roundings, of the exact value.
 */
const roundings = 16;

/** Relative size of a rounding. */
const unit = (dtype: DType): number => {
  if (dtype === 'float16') return 2 ** -11;
  return dtype === 'float64' ? 2 ** -53 : 2 ** -24;
};

/** Dtypes in which samples of floats run. */
const floats: readonly DType[] = settings.isLong ? ['float32', 'float64', 'float16'] : ['float32'];

for (const { name, runtime, skip } of runtimes) {
  let there = 0;
  const by = name === 'onnxruntime-web' && !settings.isLong ? 3 : 1;
  for (const sampleCase of sampleCases(registry.values()).filter((_, i) => i % by === 0)) {
    for (const float of floats) {
      test(`${name}: ${sampleCase.label}, ${float}`, { skip }, async () => {
        there += await runSample(name, sampleCase, float);
      });
    }
  }
  after(() =>
    assert.ok(runtime === null || there > 200 / by, `${there} sub-graphs ran on ${name}`),
  );
}

/** Compares a sample at two sizes; the number of sub-graphs that ran there. */
async function runSample(backend: string, sampleCase: SampleCase, float: DType): Promise<number> {
  let there = 0;
  for (const size of [1, 3]) {
    const sizes = bindSizes(sampleCase.sample, () => size);
    const program = sampleProgram(sampleCase, { sizes, float });
    const operands = sampleOperands(sampleCase.sample, sizes, generator(7), { float });
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
    const margins = divisions.length === 0 ? [] : marginsIn(float, sampleCase, sizes);
    results.forEach((actual, k) => {
      const { host, dtype } = expected[k].storage;
      compare(decoded(dtype, actual), decoded(dtype, [...host]), roundings * unit(dtype), margins[k] ?? null); // prettier-ignore
    });
  }
  return there;
}

/** Margins of float32 or float64; those of float16 are as much greater as its roundings are. */
function marginsIn(
  float: DType,
  sampleCase: SampleCase,
  sizes: ReadonlyMap<string, number>,
): readonly Margin[] {
  const options = { float: float === 'float16' ? 'float32' : float } as const;
  const operands = sampleOperands(sampleCase.sample, sizes, generator(7), options);
  const margins = marginsOf(sampleCase, sampleProgram(sampleCase, { ...options, sizes }), operands);
  const factor = unit(float) / unit(options.float);
  return margins.map((margin) => margin?.map((each) => each * factor) ?? null);
}

/** Elements as values: 16-bit floats are bits in memory. */
function decoded(
  dtype: DType,
  elements: readonly (number | bigint)[],
): readonly (number | bigint)[] {
  if (!isNarrowFloat(dtype)) return elements;
  const bits = Uint16Array.from(elements, Number);
  return elements.map((_, i) => Number(readElement(dtype, bits, i)));
}

function compare(
  actual: readonly (number | bigint)[],
  expected: readonly (number | bigint)[],
  relative: number,
  margin: Margin,
): void {
  assert.equal(actual.length, expected.length);
  const finite = expected.map(Number).filter(Number.isFinite);
  const scale = Math.max(1, ...finite.map(Math.abs));
  expected.forEach((value, i) => {
    const allowed = relative * scale + (margin?.[i] ?? 0);
    const isEqual =
      Object.is(actual[i], value) ||
      actual[i] === value ||
      Math.abs(Number(actual[i]) - Number(value)) <= allowed;
    assert.ok(isEqual, `element ${i}: ${actual[i]}, not ${value}; ${allowed} is allowed`);
  });
}
