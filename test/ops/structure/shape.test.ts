import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { symbol } from '../../../src/base/dim/index.js';
import { Program } from '../../../src/ir/program.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { verify } from '../../../src/ir/verify.js';
import * as ops from '../../../src/ops/index.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { floats } from '../../support/programs.js';
import { parse } from '../../support/program-texts.js';

/** The program after all passes, as text without its sources. */
const compiled = (text: string): string => {
  const program = runPipeline(parse(text), passes, { evaluate: evaluateConstant });
  verify(program);
  return printProgram(program);
};

test('eagerly: the sizes, int64, for every rank and for empty arrays', () => {
  for (const shape of [[], [0], [3], [2, 0, 5], [1, 2, 3, 4]]) {
    const sizes = kn.shapeOf(kn.zeros(shape));
    assert.equal(sizes.dtype, 'int64');
    assert.deepEqual(sizes.shape, [shape.length]);
    assert.deepEqual(sizes.tolist(), shape.map(BigInt));
  }
});

test('in a program of symbolic sizes, on its own and in arithmetic', () => {
  for (const target of ['interpreter', 'wasm'] as const) {
    const program = new Program();
    const x = program.variable('x', { dtype: 'float32', shape: [symbol('n'), 3, symbol('m')] });
    const sizes = ops.shapeOf(x);
    const count = ops.prod(sizes);
    program.setOutputs([
      { name: 'sizes', value: sizes },
      { name: 'count', value: count },
      { name: 'scaled', value: ops.div(ops.sum(x), ops.cast(count, 'float32')) },
      { name: 'reversed', value: ops.slice(sizes, [null, null, -1]) },
    ]);
    const executable = compile(program, { target });
    for (const [n, m] of [
      [0, 2],
      [1, 1],
      [4, 5],
    ]) {
      const length = n * 3 * m;
      const [shape, total, mean, reversed] = executable
        .run([
          floats(
            [n, 3, m],
            Array.from({ length }, () => 2),
          ),
        ])
        .map(({ storage }) => Array.from(storage.host as Iterable<number | bigint>, Number));
      assert.deepEqual(shape, [n, 3, m]);
      assert.deepEqual(total, [length]);
      assert.deepEqual(mean, [length === 0 ? NaN : 2]);
      assert.deepEqual(reversed, [m, 3, n]);
    }
  }
});

test('captured code sees the sizes of each call, and no gradient flows', () => {
  const scaled = kn.hybridize((x: kn.NDArray) => x.sum().div(kn.shapeOf(x).slice(0)), {
    verify: 'off',
  });
  for (const n of [1, 2, 3, 4, 5]) {
    assert.equal(scaled(kn.ones([n, 3])).item(), 3);
    const x = kn.ones([n, 3]);
    x.attachGrad();
    kn.autograd.record(() => scaled(x)).backward();
    assert.deepEqual(
      x.grad!.tolist(),
      Array.from({ length: n }, () => [1, 1, 1].map((one) => Math.fround(one / n))),
    );
  }
});

test('of a static shape it is a constant, and so is what is computed of it', () => {
  assert.equal(
    compiled(`program {
      input x: float32[4, 3]
      %0 = shapeOf(x): int64[2]
      %1 = constant int64[] [10]
      %2 = mul(%0, %1): int64[2]
      output y = %2
    }`),
    printProgram(
      parse(`program {
        input x: float32[4, 3]
        %0 = constant int64[2] [40, 30]
        output y = %0
      }`),
    ),
  );
});

test('of a partly static shape the known sizes are constants, and arithmetic on them folds', () => {
  assert.equal(
    compiled(`program {
      input x: float32[n, 3, 5]
      %0 = shapeOf(x): int64[3]
      %1 = slice(%0) {indices: [1]}: int64[]
      %2 = slice(%0) {indices: [[1, null, 1]]}: int64[2]
      %3 = constant int64[2] [2, -1]
      %4 = take(%0, %3) {axis: 0, mode: "error"}: int64[2]
      %5 = mul(%2, %4): int64[2]
      %6 = add(%5, %1): int64[2]
      %7 = reshape(%6) {shape: [1, 2]}: int64[1, 2]
      output y = %7
    }`),
    printProgram(
      parse(`program {
        input x: float32[n, 3, 5]
        %0 = constant int64[1, 2] [18, 28]
        output y = %0
      }`),
    ),
  );
});

test('a size that the shape does not tell stays what it is, also after arithmetic', () => {
  const text = `program {
    input x: float32[n, 3]
    input d: int64[2]
    %0 = shapeOf(x): int64[2]
    %1 = slice(%0) {indices: [0]}: int64[]
    %2 = sub(%0, d): int64[2]
    %3 = slice(%2) {indices: [1]}: int64[]
    %4 = slice(d) {indices: [0]}: int64[]
    %5 = sub(%4, %3): int64[]
    output a = %1
    output b = %5
  }`;
  assert.equal(compiled(text), printProgram(parse(text)));
});
