import assert from 'node:assert/strict';
import { type DType, isFloat } from '../../../src/base/dtype.js';
import { readElement } from '../../../src/base/element.js';
import { exportModule } from '../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../src/front/graphs/lowered.js';
import { registry } from '../../../src/ops/registry.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../../support/samples.js';

/** Operators whose sizes the data decides, or which are parts of such ones, and the reason why they are refused. */
export const refused: ReadonlyMap<string, string> = new Map([
  ['booleanMask', 'the mask decides how many rows there are: a mask as weights is the static form'],
  ['countedPositions', 'the number of positions decides a size'],
  ['extents', 'the elements are sizes'],
  ['keptBoxes', 'belongs to nonMaxSuppression'],
  ['nonMaxSuppression', 'the boxes decide how many remain'],
  ['nonzero', 'the elements decide how many positions there are'],
  ['openExtents', 'the elements are sizes'],
  ['repeatEach', 'the counts decide how many rows there are'],
  ['unique', 'the elements decide how many of them differ'],
]);

/** A sample at known sizes. */
export interface SizedSample {
  readonly sampleCase: SampleCase;
  readonly label: string;
  readonly operands: readonly Operand[];
  /** Results of the interpreter of the loop language, which defines the operator. */
  expected(): readonly Operand[];
  /** The module, after the passes. */
  text(): string;
}

/** Every sample of every operator at several sizes, 0 and 1 among them. */
export function sizedSamples(): readonly SizedSample[] {
  return sampleCases(registry.values()).flatMap((sampleCase) =>
    [3, 1, 0].flatMap((base): SizedSample[] => {
      let next = base;
      const sizes = bindSizes(sampleCase.sample, () => (base < 2 ? base : next++));
      if (sizes.size === 0 && base !== 3) return [];
      const operands = sampleOperands(sampleCase.sample, sizes, generator(5));
      const program = sampleProgram(sampleCase, { sizes });
      return [
        {
          sampleCase,
          label: `${sampleCase.label}, sizes ${[...sizes.values()].join()}`,
          operands,
          expected: () => compile(program, { target: 'interpreter' }).run(operands),
          text: () => exportModule(lowered(program)),
        },
      ];
    }),
  );
}

const rounding: Readonly<Partial<Record<DType, number>>> = {
  float64: 2 ** -53,
  float32: 2 ** -24,
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
};

/**
 * Roundings by which results may differ. Functions of Kaon and of XLA are each within 4 ulp (8 roundings) of the
 * exact value, and sums of the few terms that samples have add fewer.
 */
const mostRoundings = 16;

/** Families whose results are elements of their operands, or counted: equal in every bit. */
const exactFamilies = new Set(['movement', 'indexing', 'structure', 'dynamic']);

/** Asserts that results are equal, floats up to rounding, relative to the greatest of an output. */
export function assertSame(
  actual: readonly Operand[],
  expected: readonly Operand[],
  { sampleCase: { declaration }, label }: Pick<SizedSample, 'sampleCase' | 'label'>,
): void {
  assert.equal(actual.length, expected.length, label);
  expected.forEach((want, k) => {
    const have = actual[k];
    const { dtype } = want.storage;
    assert.equal(have.storage.dtype, dtype, label);
    assert.deepEqual(have.shape, want.shape, label);
    const count = want.shape.reduce((a, b) => a * b, 1);
    const [found, wanted] = [have, want].map(({ storage }) =>
      Array.from({ length: count }, (_, i) => readElement(storage.dtype, storage.host, i)),
    );
    const greatest = wanted.map((value) => Math.abs(Number(value))).filter(Number.isFinite);
    const isExact = !isFloat(dtype) || exactFamilies.has(declaration.family);
    const allowed = isExact ? 0 : mostRoundings * (rounding[dtype] ?? 0) * Math.max(0, ...greatest);
    wanted.forEach((value, i) => {
      const isSame = value === found[i] || (Number.isNaN(Number(value)) && Number.isNaN(Number(found[i]))); // prettier-ignore
      const isClose = Math.abs(Number(value) - Number(found[i])) <= allowed;
      assert.ok(isSame || isClose, `${label}: element ${i} is ${found[i]}, not ${value}`);
    });
  });
}
