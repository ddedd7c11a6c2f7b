import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type Dim, evaluateDim, symbol } from '../../src/base/dim.js';
import { type DType } from '../../src/base/dtype.js';
import type { Program } from '../../src/ir/program.js';
import { compile } from '../../src/runtime/compile.js';
import type { CompileOptions, Operand } from '../../src/runtime/executable.js';
import { elementsOf, operand } from '../support/programs.js';
import { type Choice, spelledProgram, type stepKinds } from '../support/randomPrograms.js';

const choices: fc.Arbitrary<Choice[]> = fc.array(
  fc.tuple(fc.nat(1000), fc.nat(5), fc.nat(8), fc.nat(3)),
  { minLength: 1, maxLength: 14 },
);

/** Small integers, so that sums are exact in any order. */
function operandsFor(program: Program, sizes: ReadonlyMap<string, number>): Operand[] {
  return program.inputs.map(({ type }, i) => {
    const shape = type.shape.map((dim) => evaluateDim(dim, sizes));
    const length = shape.reduce((a, b) => a * b, 1);
    return operand(
      type.dtype,
      shape,
      Array.from({ length }, (_, k) => ((k * 7 + i * 3) % 11) - 5),
    );
  });
}

function results(
  program: Program,
  options: CompileOptions,
  sizes: ReadonlyMap<string, number>,
): unknown {
  const executable = compile(program, options);
  const operands = operandsFor(program, sizes);
  const first = executable.run(operands);
  const second = executable.run(operands);
  const shown = first.map((each) => ({ shape: each.shape, elements: elementsOf(each) }));
  assert.deepEqual(
    second.map((each) => ({ shape: each.shape, elements: elementsOf(each) })),
    shown,
    'a second run differs',
  );
  return shown;
}

function property(
  dtype: DType,
  kinds: readonly (keyof typeof stepKinds)[],
  dims: readonly [Dim, Dim],
  bindings: readonly (readonly [number, number])[],
  numRuns: number,
): void {
  fc.assert(
    fc.property(choices, (spelled) => {
      const program = spelledProgram(dtype, dims, kinds, spelled);
      for (const [n, m] of bindings) {
        const sizes = new Map([
          ['n', n],
          ['m', m],
        ]);
        const plain = results(program, { target: 'interpreter', fuse: false }, sizes);
        assert.deepEqual(results(program, { target: 'interpreter' }, sizes), plain);
        assert.deepEqual(results(program, { target: 'wasm' }, sizes), plain);
      }
    }),
    { seed: 20261121, numRuns },
  );
}

const symbolic = [symbol('n'), symbol('m')] as const;
const everySize = [
  [3, 5],
  [0, 2],
  [1, 1],
  [2, 0],
  [1, 9],
] as const;

for (const dtype of ['float32', 'float16', 'bfloat16', 'int8', 'float64'] as const) {
  test(`fusing elementwise and moving operators changes no bit of ${dtype}`, () => {
    const kinds =
      dtype === 'int8'
        ? (['exact', 'moving'] as const)
        : (['exact', 'rounding', 'moving'] as const);
    property(dtype, kinds, [3, 5], [[3, 5]], 40);
  });
}

test('fusing reductions of exact sums changes no bit, at any size', () => {
  property('float32', ['exact', 'folding', 'moving'], symbolic, everySize, 40);
});

test('static sizes of every kind', () => {
  for (const [n, m] of [...everySize, [4, 33]] as const) {
    property('float32', ['exact', 'folding', 'moving', 'exact'], [n, m], [[n, m]], 12);
  }
});
