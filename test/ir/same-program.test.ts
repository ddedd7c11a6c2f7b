import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../src/ir/program.js';
import { add, mul } from '../../src/ops/elementwise/arithmetic.js';
import { sum } from '../../src/ops/reduction/sum.js';
import { call } from '../../src/ops/structure/call.js';
import { eliminateCommonSubexpressions } from '../../src/passes/simplify/cse.js';
import { DistinctPrograms, sameProgram } from '../../src/ir/same-program.js';
import { programOf } from '../support/programs.js';

const f32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;

/** `sum(f(x) * 2)`, in which everything can be another. */
function build({
  type = f32(3),
  input = 'x',
  output = 'y',
  factor = 2,
  axis = 0,
  swapped = false,
  inner = add as (a: Value, b: Value) => Value,
} = {}): Program {
  const region = programOf({ a: f32(3) }, ({ a }) => ({ made: inner(a, mul<Value>(a, 3)) }));
  const program = new Program();
  const [x, z] = [program.variable(input, type), program.variable('z', f32(3))];
  const [made] = call<Value>(region, z);
  const scaled = mul<Value>(made, factor);
  const total = sum<Value>(swapped ? add<Value>(x, scaled) : add<Value>(scaled, x), axis);
  program.setOutputs([{ name: output, value: total }]);
  return program;
}

test('names do not count; types, constants, attributes, operands and regions do', () => {
  assert.ok(sameProgram(build(), build()));
  assert.ok(sameProgram(build(), build({ input: 'u', output: 'v' })));
  for (const other of [
    build({ type: f32(1) }),
    build({ factor: 4 }),
    build({ axis: -1 }),
    build({ swapped: true }),
    build({ inner: (a, b) => mul<Value>(a, b) }),
  ]) {
    assert.ok(!sameProgram(build(), other));
  }
});

test('calls of equal regions on the same operands are one', () => {
  const make = (factor: number): Program =>
    programOf({ a: f32(3) }, ({ a }) => ({ made: mul<Value>(a, factor) }));
  const program = programOf({ x: f32(3) }, ({ x }) => {
    const [first] = call<Value>(make(2), x);
    const [second] = call<Value>(make(2), x);
    const [third] = call<Value>(make(5), x);
    return { first, second, third };
  });
  const [first, second, third] = eliminateCommonSubexpressions(program).outputs;
  assert.equal(first.value, second.value);
  assert.notEqual(first.value, third.value);
});

test('the first of equal programs stands for all of them', () => {
  const distinct = new DistinctPrograms();
  const [first, same, other] = [build(), build({ input: 'u' }), build({ factor: 4 })];
  assert.equal(distinct.firstLike(first), first);
  assert.equal(distinct.firstLike(same), first);
  assert.equal(distinct.firstLike(other), other);
  assert.equal(distinct.firstLike(build({ factor: 4 })), other);
});
