import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeId } from '../../../src/graph/graph.js';
import type { Program } from '../../../src/ir/program.js';
import {
  booleanMask,
  exp,
  greater,
  matmul,
  mul,
  reshape,
  sum,
  tanh,
} from '../../../src/ops/index.js';
import { recomputable } from '../../../src/passes/gradient/effort.js';
import { programOf } from '../../support/programs.js';

const square = { dtype: 'float32', shape: [6, 6] } as const;

const callsOf = (program: Program): NodeId[] =>
  [...program.graph.nodes()].filter((id) => program.node(id).kind === 'call');

function nameOf(program: Program, id: NodeId): string {
  const node = program.node(id);
  return node.kind === 'call' ? node.op.name : node.kind;
}

test('every call is ordered once: views first, then cheap ones, then dear ones', () => {
  const program = programOf({ x: square, y: square }, ({ x, y }) => ({
    a: mul(reshape(matmul(x, y), [36]), sum(exp(tanh(mul(x, y))))),
  }));
  const ids = callsOf(program);
  const { order, free, cheap } = recomputable(program, ids);
  assert.deepEqual([...order].sort((a, b) => a - b), ids); // prettier-ignore
  const names = order.map((id) => nameOf(program, id));
  assert.deepEqual(names.slice(0, free), ['reshape']);
  assert.ok(names.slice(free, cheap).includes('mul'));
  assert.ok(names.slice(cheap).includes('sum'));
  assert.equal(names.at(-1), 'matmul', 'products are kept longest');
});

test('calls that find sizes in data are never made again', () => {
  const vector = { dtype: 'float32', shape: [6] } as const;
  const program = programOf({ x: vector }, ({ x }) => ({ y: exp(booleanMask(x, greater(x, 0))) }));
  const { order } = recomputable(program, callsOf(program));
  assert.deepEqual(order.map((id) => nameOf(program, id)).sort(), ['exp', 'greater']); // prettier-ignore
});

test('no chain of cheap calls is endless', () => {
  const program = programOf({ x: square }, ({ x }) => {
    let y = x;
    for (let i = 0; i < 200; i++) y = mul(y, x);
    return { y };
  });
  const { order, cheap } = recomputable(program, callsOf(program));
  assert.equal(order.length, 200);
  assert.ok(cheap < 200 && cheap > 0, `${cheap} of 200 are cheap`);
});
