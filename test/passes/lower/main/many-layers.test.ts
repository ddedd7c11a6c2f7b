import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import type { CallNode, Program } from '../../../../src/ir/program.js';
import { onCpu } from '../../../../src/kernels/cpu/index.js';
import { wasmTarget } from '../../../../src/loop/language/target.js';
import { undivided } from '../../../../src/ops/nests/cost.js';
import { fuse } from '../../../../src/passes/fuse/fuse.js';
import { lowerProgram, lowerSteps } from '../../../../src/passes/lower/main/plan.js';
import { runPipeline } from '../../../../src/passes/pipeline.js';
import { schedule } from '../../../../src/passes/plan/schedule.js';

/** Training step of a network whose layers have four sizes and three activations. */
function trainingStep(count: number): Program {
  const widths = [64, 96, 128, 80];
  const activations = ['tanh', 'sigmoid', null] as const;
  const layers = Array.from({ length: count }, (_, i) => {
    const [inputs, units] = [widths[i % 4], widths[(i + 1) % 4]];
    return new kn.nn.Dense(units, { inputs, activation: activations[i % 3] });
  });
  const net = new kn.nn.Sequential(...layers);
  net.initialize();
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.05 });
  const step = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => {
    const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(x), y));
    loss.backward();
    optimizer.step();
    return loss;
  });
  return step.graphFor(kn.zeros([32, 64]), kn.zeros([32, widths[count % 4]])).program;
}

/** What a kernel does, as its name says, without its number. */
const kindOf = ({ name }: { readonly name: string }): string => name.replace(/^k\d+_/, '');

describe('a training step of many layers', () => {
  const traced = trainingStep(50);
  const program = runPipeline(traced);
  const groups = schedule(program, fuse(program));

  it('is traced without calls that reshape to the same shape', () => {
    const calls = [...traced.graph.nodes()].map((id) => traced.node(id));
    const reshapes = calls.filter((node) => node.kind === 'call' && node.op.name === 'reshape');
    assert.ok(calls.length > 900);
    for (const node of reshapes) assert.deepEqual((node as CallNode).types[0].shape, [1, 1]);
  });

  it('has one kernel for each kind of product, which is lowered once', () => {
    const target = onCpu(wasmTarget);
    const { kernels } = lowerSteps(program, groups, target, [], undivided, 'many runs');
    const products = kernels.map(kindOf).filter((kind) => kind.includes('matmul'));
    assert.deepEqual(new Set(products).size, products.length);
    assert.ok(products.length >= 5);
  });

  it('has one kernel of each kind', () => {
    const { module } = lowerProgram(program, groups, onCpu(wasmTarget), [], undivided, 'many runs');
    const kinds = module.kernels.map(kindOf);
    assert.deepEqual(new Set(kinds).size, kinds.length);
    assert.ok(groups.length > 200);
  });
});
