import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/** The operators of a graph by the line of this file that they are on. */
function operatorsByLine({ program }: kn.StaticGraph): ReadonlyMap<number, readonly string[]> {
  const lines = new Map<number, string[]>();
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    const found = /lines\.test\.(?:ts|js):(\d+)/.exec(node.source ?? '');
    if (found === null) continue;
    const at = Number(found[1]);
    lines.set(at, [...(lines.get(at) ?? []), node.op.name]);
  }
  return lines;
}

test('operators of the backward pass carry the line of the call that they are the gradient of', () => {
  const w = kn.ones([2]);
  w.attachGrad();
  const step = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => {
      const y = x.mul(w);
      return y.tanh().sum();
    });
    loss.backward();
    return w.grad!;
  });
  const lines = operatorsByLine(step.graphFor(kn.ones([2])));
  const [product, nonlinear, pass] = [...lines.keys()].sort((a, b) => a - b);
  assert.deepEqual([nonlinear - product, pass - product], [1, 3]);
  // The slope of tanh is made of its result; the seed belongs to the pass itself.
  const ofNonlinear = new Set(lines.get(nonlinear));
  assert.ok(ofNonlinear.has('tanh') && ofNonlinear.size > 2);
  assert.ok(lines.get(pass)!.includes('fullLike'));
});

/** A step for three weights, whose backward pass is on one line and whose update is on the next. */
function stepOf(
  make: (parameters: Map<string, kn.nn.Parameter>) => kn.optim.Optimizer,
): ReadonlyMap<number, readonly string[]> {
  const parameters = new Map(
    ['a', 'b', 'c'].map((name) => {
      const parameter = new kn.nn.Parameter({ shape: [2] });
      parameter.assign([1, 2]);
      return [name, parameter] as const;
    }),
  );
  const optimizer = make(parameters);
  const step = kn.hybridize((x: kn.NDArray) => {
    const terms = (): kn.NDArray[] => [...parameters.values()].map(({ value }) => value.mul(x));
    kn.autograd
      .record(() =>
        terms()
          .reduce((sum, term) => sum.add(term))
          .sum(),
      )
      .backward();
    optimizer.step();
  });
  return operatorsByLine(step.graphFor(kn.ones([2])));
}

const count = (names: readonly string[], name: string): number =>
  names.filter((each) => each === name).length;

test("updates of the library's optimizers are on the line of the step, all of them", () => {
  const lines = stepOf((parameters) => new kn.optim.SGD(parameters, { learningRate: 0.1 }));
  const step = [...lines].filter(([, names]) => names.includes('sub'));
  assert.equal(step.length, 1);
  assert.equal(count(step[0][1], 'sub'), 3);
  assert.equal(Math.max(...lines.keys()), step[0][0]);
});

test("updates of a user's optimizer are on lines of their own, all of them", () => {
  class Own extends kn.optim.Optimizer {
    protected readonly slotNames: readonly string[] = [];

    protected override update({
      weight,
      grad,
      hyper: [rate],
    }: kn.optim.UpdateContext): readonly kn.NDArray[] {
      const step = grad.mul(rate);
      return [weight.sub(step)];
    }
  }
  const lines = stepOf((parameters) => new Own(parameters, { learningRate: 0.1 }));
  const [[at, names], ...others] = [...lines].filter(([, each]) => each.includes('sub'));
  assert.deepEqual([others.length, count(names, 'sub')], [0, 3]);
  assert.equal(count(lines.get(at - 1) ?? [], 'mul'), 3);
});
