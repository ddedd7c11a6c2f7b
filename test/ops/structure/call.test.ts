import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { DTypeError, GraphError, ShapeError } from '../../../src/base/errors.js';
import type { Operator } from '../../../src/ir/operator.js';
import { Program, typeToString, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { verify } from '../../../src/ir/verify.js';
import { call } from '../../../src/ops/structure/call.js';

const [n, m] = [symbol('n'), symbol('m')];
const f32 = (...shape: Dim[]): TensorType => ({ dtype: 'float32', shape });

const select: Operator = {
  name: 'select',
  attributes: {},
  infer: ({ fresh }) => [f32(fresh('count', { max: 7 }))],
};

/** Outputs of types `[n]`, `[2*n, 3]` and `[count]` for inputs `[n]` and `[2*n, 3]`. */
function region(): Program {
  const program = new Program();
  const x = program.variable('x', f32(n));
  const y = program.variable('y', f32(mulDim(2, n), 3));
  const [found] = program.append(select, [x]);
  program.setOutputs([
    { name: 'x', value: x },
    { name: 'y', value: y },
    { name: 'found', value: found },
  ]);
  return program;
}

test('the symbols of the region take the sizes of the operands', () => {
  const program = new Program();
  const a = program.variable('a', f32(4));
  const b = program.variable('b', f32(8, 3));
  const c = program.variable('c', f32(m));
  const d = program.variable('d', f32(mulDim(2, m), 3));
  const body = region();
  const types = (values: readonly Value[]): string[] =>
    values.map(({ type }) => typeToString(type));
  assert.deepEqual(types(call<Value>(body, a, b)), [
    'float32[4]',
    'float32[8, 3]',
    'float32[count_0]',
  ]);
  assert.deepEqual(types(call<Value>(body, c, d)), [
    'float32[m]',
    'float32[2*m, 3]',
    'float32[count_1]',
  ]);
  verify(program);
});

test('operands that do not fit are refused with the name of the input', () => {
  const program = new Program();
  const a = program.variable('a', f32(4));
  const b = program.variable('b', f32(7, 3));
  const c = program.variable('c', { dtype: 'float64', shape: [8, 3] });
  const body = region();
  const before = program.graph.nodeCount;
  const refused = (error: unknown, kind: new (...args: never[]) => Error): boolean =>
    error instanceof kind && /call: input y/.test((error as Error).message);
  assert.throws(() => call<Value>(body, a, b), (error) => refused(error, ShapeError)); // prettier-ignore
  assert.throws(() => call<Value>(body, a, c), (error) => refused(error, DTypeError)); // prettier-ignore
  assert.throws(() => call<Value>(body, a), GraphError);
  assert.throws(
    () =>
      program.append(call.declaration, [a], {
        sizes: [],
        extents: [],
        saved: [],
        flows: [],
        wrt: [],
        gives: [],
      }),
    GraphError,
  );
  assert.equal(program.graph.nodeCount, before);
});
