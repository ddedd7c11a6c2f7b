import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { verifyKernel } from '../../../../src/loop/language/verify.js';
import { rangesIn } from '../../../../src/loop/language/verify-ranges.js';
import { wasmTarget } from '../../../../src/loop/language/target.js';
import { byDefinition } from '../../../../src/kernels/definitions.js';
import { add, foreach, matmul, mul, sum } from '../../../../src/ops/index.js';
import type { Value } from '../../../../src/ir/program.js';
import { planSteps } from '../../../../src/passes/lower/main/stepwise.js';
import { passes, runPipeline } from '../../../../src/passes/pipeline.js';
import { program } from '../../../runtime/dynamic/host.js';

const target = byDefinition(wasmTarget);
const n = symbol('n');
const matrix = { dtype: 'float32', shape: [n, 4] } as const;

test('a plan has a step for each kernel, whose arguments are buffers and sizes', () => {
  const whole = program([matrix, { dtype: 'float32', shape: [4, 3] }], (x, w) => [
    sum(matmul(mul(x, 2), w), [0]),
  ]);
  const { steps, memory, outputs } = planSteps(runPipeline(whole, passes), target);
  assert.ok(steps.length >= 2);
  for (const step of steps) {
    assert.ok(step.kind === 'kernel');
    const { kernel, args } = step.kernel;
    verifyKernel(kernel);
    assert.equal(args.length, kernel.params.length);
    for (const [k, arg] of args.entries()) {
      assert.ok(['place', 'size', 'scratch'].includes(arg.kind), arg.kind);
      assert.equal(arg.kind === 'size', kernel.params[k].kind !== 'buffer');
      if (arg.kind === 'place') assert.ok(memory.placesOf(arg.place).length > 0);
    }
  }
  assert.deepEqual(outputs.map(({ kind }) => kind), ['place']); // prettier-ignore
});

test('kernels keep the ranges that a team may divide', () => {
  const whole = program([matrix], (x) => [add(x, 1)]);
  const { steps } = planSteps(runPipeline(whole, passes), target);
  const [step] = steps;
  assert.ok(step.kind === 'kernel');
  assert.ok(rangesIn(step.kernel.kernel.body).length > 0);
});

test('loops stay steps around the steps of their bodies', () => {
  const body = program([{ dtype: 'float32', shape: [4] }, { dtype: 'float32', shape: [4] }], (row, h) => [mul(h, row), add(h, row)]); // prettier-ignore
  const whole = program([matrix], (x) =>
    foreach<Value>(body, { data: [x], states: [sum<Value>(x, [0])], captures: [] }),
  );
  const { steps, memory } = planSteps(runPipeline(whole, passes), target);
  const loop = steps.find(({ kind }) => kind === 'foreach');
  assert.ok(loop?.kind === 'foreach');
  assert.ok(loop.body.length > 0 && loop.states.length > 0);
  // A row is an address inside of a place.
  for (const { of } of loop.rows) assert.equal(memory.variableOf(of), undefined);
});
