import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Program, Value } from '../../../src/ir/program.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { verify } from '../../../src/ir/verify.js';
import * as kn from '../../../src/index.js';
import { lowered } from '../../../src/front/graphs/lowered.js';
import { turnedFrom } from '../../../src/ops/movement/transpose.js';
import { matmul, mul, sub, swapaxes, transpose } from '../../../src/ops/index.js';
import { eliminateDeadCode } from '../../../src/passes/rewrite/dce.js';
import { pushTranspositions } from '../../../src/passes/rewrite/turn.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';

type Values = Readonly<Record<string, Value>>;
const f32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;

/** The names of the operators of what becomes of a program. */
function turned(program: Program): { readonly after: Program; readonly names: readonly string[] } {
  const after = eliminateDeadCode(pushTranspositions(program));
  verify(after);
  const names = [...after.graph.nodes()].flatMap((id) => {
    const node = after.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
  return { after, names };
}

/** `sum over k of a(i, k) b(k, j)`, plainly. */
function plainProduct(
  a: readonly number[],
  b: readonly number[],
  m: number,
  k: number,
  n: number,
): readonly number[] {
  return Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let q = 0; q < k; q++) sum += a[i * k + q] * b[q * n + j];
    return sum;
  });
}

test('the gradient of a transposed weight is made in the order of the weight', () => {
  const step = ({ x, g, w }: Values): Values => ({
    w: sub(w, mul(swapaxes(matmul(swapaxes(x, 0, 1), g), 0, 1), 0.5)),
  });
  const program = programOf({ x: f32(3, 4), g: f32(3, 2), w: f32(2, 4) }, step);
  const { after, names } = turned(program);
  assert.deepEqual(names, ['swapaxes', 'matmul', 'mul', 'sub']);
  const whole = (length: number, seed: number): number[] =>
    Array.from({ length }, (_, i) => ((i * seed) % 7) - 3);
  const [x, g, w] = [whole(12, 5), whole(6, 3), whole(8, 2)];
  const arrays = [floats([3, 4], x), floats([3, 2], g), floats([2, 4], w)];
  const gTurned = [0, 2, 4, 1, 3, 5].map((at) => g[at]);
  const expected = plainProduct(gTurned, x, 2, 3, 4).map((sum, at) => w[at] - 0.5 * sum);
  for (const each of [program, after]) {
    assert.deepEqual(elementsOf(compile(each).run(arrays)[0]).map(Number), expected);
  }
});

test('two transposed operands become none, and batches stay', () => {
  const { names } = turned(
    programOf({ x: f32(5, 3, 4), y: f32(2, 3) }, ({ x, y }) => ({
      z: transpose(matmul(swapaxes(x, 1, 2), transpose(y)), [0, 2, 1]),
    })),
  );
  assert.deepEqual(names, ['matmul']);
});

test('what something else reads, what would not become simpler and what has no transpose stay', () => {
  const shapes = { x: f32(3, 4), g: f32(3, 2), v: f32(4) };
  const cases: readonly ((values: Values) => Values)[] = [
    ({ x, g }) => {
      const product = matmul(swapaxes(x, 0, 1), g);
      return { a: swapaxes(product, 0, 1), b: product };
    },
    ({ x, g }) => ({ a: swapaxes(matmul(mul(swapaxes(x, 0, 1), 2), g), 0, 1) }),
    ({ x, v }) => ({ a: swapaxes(mul(x, v), 0, 1) }),
  ];
  for (const build of cases) {
    const program = programOf(shapes, build);
    assert.equal(printProgram(pushTranspositions(program)), printProgram(program));
  }
});

test('so is one that is collected behind a loop', () => {
  const gradients = kn.hybridize((xs: kn.NDArray, w: kn.NDArray) => {
    const last = (weight: kn.NDArray): kn.NDArray => {
      const turned = weight.transpose();
      return kn
        .foreach((x, h) => [[], h.matmul(turned).add(x).tanh()], xs, kn.zeros([2, 3]))[1]
        .sum();
    };
    return kn.grad(last)(w);
  });
  const arrays = [kn.ones([20, 2, 3]), kn.ones([3, 3])] as const;
  const program = lowered(gradients.graphFor(...arrays).program);
  const turnedProducts = [...program.graph.nodes()].filter((id) => {
    const from = turnedFrom(program.results(id)[0]);
    const producer = from === null ? null : program.node(from.node);
    return producer?.kind === 'call' && producer.op.name === 'matmul';
  });
  assert.deepEqual(turnedProducts, []);
  assert.match(printProgram(program), /foreach[^]*\n  %\d+ = matmul/); // it is collected
});
