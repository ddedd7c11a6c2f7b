import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { Program, Value } from '../../../src/ir/program.js';
import {
  add, div, exp, expandDims, flip, gather, layerNorm, logSoftmax, logsumexp, max, mean, mul, neg, reshape, rmsNorm,
  softmax, sqrt, square, std, sub, sum,
} from '../../../src/ops/index.js'; // prettier-ignore
import { fuse } from '../../../src/passes/fuse/fuse.js';
import { gradient } from '../../../src/passes/gradient/gradient.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { elementsOf, operand, programOf } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

const matrix = { dtype: 'float32', shape: [32, 48] } as const;

/** The operators of each group in the order in which they run, what it writes behind an arrow. */
function groupsOf(program: Program): string[] {
  const simplest = runPipeline(program, passes);
  const nameOf = (value: Value): string => {
    const node = simplest.node(value.node);
    return node.kind === 'call' ? node.op.name : node.kind;
  };
  return schedule(simplest, fuse(simplest)).map(({ members, writes }) => {
    const inside = members.map((id) => nameOf(simplest.results(id)[0]));
    return `${inside.join(' ')} -> ${writes.map(nameOf).join(' ')}`;
  });
}

function withGradients(build: (x: Value) => Value): Program {
  return programOf({ x: matrix }, ({ x }) => {
    const y = build(x);
    const g = y.program.variable('g', y.type);
    const outputs = [{ value: y, grad: g }];
    const request = { program: y.program, outputs, wrt: [x], valueOf: (v: Value) => v, add };
    return { y, dx: gradient<Value>(request)[0]! };
  });
}

const shares = (x: Value): Value => {
  const powers = exp(sub(x, max(x, 1, { keepdims: true })));
  return div(powers, sum(powers, 1, { keepdims: true }));
};

test('reductions and what is made of them are one kernel where they go through the same rows', () => {
  assert.deepEqual(groupsOf(programOf({ x: matrix }, ({ x }) => ({ y: shares(x) }))), [
    'max sub exp sum div -> div',
  ]);
  const spread = programOf({ x: matrix }, ({ x }) => {
    const distance = sub(x, mean(x, 1, { keepdims: true }));
    return { y: div(distance, sqrt(mean(square(distance), 1, { keepdims: true }))) };
  });
  assert.deepEqual(groupsOf(spread), ['mean sub square mean sqrt div -> div']);
});

const alongRows: Readonly<Record<string, (x: Value) => Value>> = {
  softmax: (x) => softmax(x),
  logSoftmax: (x) => logSoftmax(x),
  layerNorm: (x) => layerNorm(x),
  rmsNorm: (x) => rmsNorm(x),
  logsumexp: (x) => logsumexp(x, -1),
};

for (const [name, apply] of Object.entries(alongRows)) {
  test(`${name} along rows is one kernel, and so is all of it with its gradient`, () => {
    assert.equal(groupsOf(programOf({ x: matrix }, ({ x }) => ({ y: apply(x) }))).length, 1);
    assert.equal(groupsOf(withGradients(apply)).length, 1);
  });
}

test('what else is read of the row goes with it: a cross-entropy is one kernel', () => {
  const labels = { dtype: 'int32', shape: [32] } as const;
  const program = programOf({ x: matrix, labels }, ({ x, labels: at }) => ({
    y: neg(gather(logSoftmax(x), expandDims(at, -1), { axis: -1 })),
  }));
  assert.equal(groupsOf(program).length, 1);
});

test('what needs other rows, columns, or rows too long for a cache, stays apart', () => {
  const mirrored = programOf({ x: matrix }, ({ x }) => ({
    y: sub(x, flip(sum(x, 1, { keepdims: true }), 0)),
  }));
  assert.deepEqual(groupsOf(mirrored), ['sum -> sum', 'flip sub -> sub']);
  const turned = programOf({ x: { dtype: 'float32', shape: [32, 32] } }, ({ x }) => ({
    y: sub(x, reshape(sum(x, 1), [1, 32])),
  }));
  assert.deepEqual(groupsOf(turned), ['sum -> sum', 'sub -> sub']);
  const columns = programOf({ x: matrix }, ({ x }) => ({ y: sub(x, mean(x, 0)) }));
  assert.deepEqual(groupsOf(columns), ['mean -> mean', 'sub -> sub']);
  const long = { dtype: 'float32', shape: [3, 2 ** 17] } as const;
  const far = programOf({ x: long }, ({ x }) => ({ y: sub(x, mean(x, 1, { keepdims: true })) }));
  assert.deepEqual(groupsOf(far), ['mean -> mean', 'sub -> sub']);
  // A row that is the only one is shared by threads, unless it is certainly too short for that.
  const centered = (shape: readonly Dim[]): Program =>
    programOf({ x: { dtype: 'float32', shape } }, ({ x }) => ({ y: sub(x, mean(x)) }));
  for (const shape of [[2, 2 ** 12 + 1], [symbol('many')]]) {
    assert.deepEqual(groupsOf(centered(shape)), ['mean -> mean', 'sub -> sub']);
  }
  const few = symbol('few', { max: 2 ** 13 });
  for (const shape of [[2, 2 ** 12], [1, 7], [few]]) {
    assert.deepEqual(groupsOf(centered(shape)), ['mean sub -> sub']);
  }
});

const n = symbol('n');
const m = symbol('m');

/** One function of the rows of `x` in numbers, independent of all that is tested. */
type Plain = (row: readonly number[]) => readonly number[];

const total = (row: readonly number[]): number => row.reduce((a, b) => a + b, 0);
const plainSoftmax: Plain = (row) => {
  const greatest = Math.max(...row);
  const powers = row.map((x) => (greatest === -Infinity ? 0 : Math.exp(x - greatest)));
  return powers.map((power) => (total(powers) === 0 ? 0 : power / total(powers)));
};
const plainLayerNorm: Plain = (row) => {
  const center = total(row) / row.length;
  const variance = total(row.map((x) => (x - center) ** 2)) / row.length;
  return row.map((x) => (x - center) / Math.sqrt(variance + 1e-5));
};
const plainStd: Plain = (row) => {
  const center = total(row) / row.length;
  return [Math.sqrt(total(row.map((x) => (x - center) ** 2)) / row.length)];
};

const functions: Readonly<Record<string, readonly [(x: Value) => Value, Plain]>> = {
  softmax: [softmax, plainSoftmax],
  logSoftmax: [logSoftmax, (row) => plainSoftmax(row).map(Math.log)],
  layerNorm: [layerNorm, plainLayerNorm],
  std: [(x) => std(x, -1), plainStd],
};

const rowsOf = (x: Operand): number[][] => {
  const [rows, columns] = x.shape;
  const all = numbersOf(x);
  return Array.from({ length: rows }, (_, i) => all.slice(i * columns, (i + 1) * columns));
};

for (const [name, [build, plain]] of Object.entries(functions)) {
  test(`${name} by rows is what its formula says, at every kind of size`, () => {
    const random = generator(17);
    const anySize = programOf({ x: { dtype: 'float64', shape: [n, m] } }, ({ x }) => ({ y: build(x) })); // prettier-ignore
    const executables = (['wasm', 'interpreter'] as const).map((target) =>
      compile(anySize, { target }),
    );
    for (const [rows, columns] of [
      [0, 3],
      [1, 1],
      [3, 1],
      [2, 7],
      [5, 16],
      [1, 33],
      [7, 131],
    ] as const) {
      // prettier-ignore
      const x = randomOperand(random, [rows, columns]);
      const expected = rowsOf(x).flatMap(plain);
      const known = programOf({ x: { dtype: 'float64', shape: [rows, columns] } }, ({ x: v }) => ({ y: build(v) })); // prettier-ignore
      for (const executable of [...executables, compile(known)]) {
        assertClose(numbersOf(executable.run([x])[0]), expected, 1e-12);
      }
    }
  });
}

test('extreme rows: large, equal, hidden in part and altogether', () => {
  const rows = [
    [1000, 1001, 999, 1000],
    [-1e300, -1e300, -1e300, -1e300],
    [-Infinity, 0, -Infinity, 1],
    [-Infinity, -Infinity, -Infinity, -Infinity],
    [5, 5, 5, 5],
  ];
  const x = operand('float64', [5, 4], rows.flat());
  const program = programOf({ x: { dtype: 'float64', shape: [5, 4] } }, ({ x: v }) => ({
    y: softmax(v),
  }));
  assertClose(numbersOf(compile(program).run([x])[0]), rows.flatMap(plainSoftmax), 1e-14);
  const far = programOf({ x: { dtype: 'float64', shape: [1, 4] } }, ({ x: v }) => ({
    y: layerNorm(v),
  }));
  const row = [1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4];
  const [normed] = compile(far).run([operand('float64', [1, 4], row)]);
  assertClose(numbersOf(normed), plainLayerNorm(row.map((each) => each - 1e9)), 1e-9);
});

test('a row that is looked at again may lie where its result goes, and results may be read again', () => {
  const build = ({ x, g }: { x: Value; g: Value }): Record<string, Value> => {
    const y = shares(x);
    const moved = mul(y, sub(g, sum(mul(g, y), 1, { keepdims: true })));
    return { y, moved, next: sub(x, moved), narrow: sum(mul(moved, moved), 1) };
  };
  const program = programOf({ x: matrix, g: matrix }, build);
  const random = generator(5);
  const operands = [randomOperand(random, [32, 48], 'float32'), randomOperand(random, [32, 48], 'float32')]; // prettier-ignore
  const wanted = compile(program, { fuse: false }).run(operands).map(numbersOf);
  for (const replaced of [
    [null, null, null, null],
    [null, 1, 0, null],
  ]) {
    const got = compile(program, { replaced }).run(operands);
    got.forEach((each, k) => assertClose(numbersOf(each), wanted[k], 1e-6));
    assert.deepEqual(
      got.map(elementsOf).map((list) => list.length),
      [1536, 1536, 1536, 32],
    );
  }
});

test('what is written beside a fold may have further axes of size 1', () => {
  const captured = kn.hybridize((x: kn.NDArray) => {
    const y = x.mul(2);
    const [stacked] = kn.foreach(() => [y, []], kn.zeros([1, 1]), []);
    return [y.sum(-1), stacked];
  });
  const [sums, stacked] = captured(kn.array([[1, -2, 3], [-4, 5, -6]])); // prettier-ignore
  assert.deepEqual(sums.tolist(), [4, -10]);
  assert.deepEqual((stacked as kn.NDArray).tolist(), [[[2, -4, 6], [-8, 10, -12]]]); // prettier-ignore
});
