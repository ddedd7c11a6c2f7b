import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { UnsupportedError } from '../../../../src/base/errors.js';
import type { Program } from '../../../../src/ir/program.js';
import { onCpu } from '../../../../src/kernels/cpu/index.js';
import type { Stmt } from '../../../../src/loop/language/nodes.js';
import { visitStmts } from '../../../../src/loop/language/visit.js';
import {
  add,
  broadcastTo,
  matmul,
  maximum,
  mul,
  slice,
  sum,
  transpose,
  tril,
} from '../../../../src/ops/index.js';
import { wasmTarget } from '../../../../src/loop/language/target.js';
import { fuse } from '../../../../src/passes/fuse/fuse.js';
import { lowerProgram } from '../../../../src/passes/lower/main/plan.js';
import { programOf } from '../../../support/programs.js';

const n = symbol('n');
const m = symbol('m');
const matrix = { dtype: 'float32', shape: [n, m] } as const;

/** The depth of the loops of each kernel but `main`. */
function depths(program: Program): number[] {
  const { module } = lowerProgram(program, fuse(program), onCpu(wasmTarget));
  return module.kernels.slice(0, -1).map(({ body }) => depth(body));
}

function depth(stmt: Stmt): number {
  let deepest = 0;
  visitStmts(stmt, (inner) => {
    if (inner === stmt) return;
    if (inner.kind === 'for') deepest = Math.max(deepest, depth(inner));
  });
  return deepest + (stmt.kind === 'for' ? 1 : 0);
}

test('axes that all operands treat alike become one loop', () => {
  const same = programOf({ x: matrix, y: matrix }, ({ x, y }) => ({ z: mul(add(x, y), y) }));
  assert.deepEqual(depths(same), [1]);
  const row = programOf({ x: matrix, y: { dtype: 'float32', shape: [m] } }, ({ x, y }) => ({
    z: add(x, y),
  }));
  assert.deepEqual(depths(row), [2]);
  const scalar = programOf({ x: matrix, y: { dtype: 'float32', shape: [] } }, ({ x, y }) => ({
    z: add(x, broadcastTo(y, [n, m])),
  }));
  assert.deepEqual(depths(scalar), [1]);
});

test('axes whose indices or addresses differ stay loops of their own', () => {
  const small = programOf({ x: { dtype: 'float32', shape: [8, 6] } }, ({ x }) => ({
    z: add(transpose(x), 1),
  }));
  assert.deepEqual(depths(small), [2]);
  assert.deepEqual(depths(programOf({ x: matrix }, ({ x }) => ({ z: tril(x) }))), [2]);
});

test('a large transposition runs in tiles', () => {
  assert.deepEqual(depths(programOf({ x: matrix }, ({ x }) => ({ z: transpose(x) }))), [4]);
});

test('equal layers share one kernel', () => {
  const square = { dtype: 'float32', shape: [4, 4] } as const;
  const program = programOf({ x: square, a: square, b: square, c: square }, ({ x, a, b, c }) => {
    const layers = [a, b, c].reduce((h, w) => maximum(matmul(h, w), 0), x);
    return { y: maximum(matmul(layers, x), 1) };
  });
  const { groups, module } = lowerProgram(program, fuse(program), onCpu(wasmTarget));
  assert.equal(groups.length, 4);
  assert.equal(module.kernels.length, 3, 'three equal layers, another one, and main');
});

test('a slice of whole rows is one loop, of columns two', () => {
  const table = { dtype: 'float32', shape: [8, 6] } as const;
  assert.deepEqual(depths(programOf({ x: table }, ({ x }) => ({ z: slice(x, [2, 5]) }))), [1]);
  assert.deepEqual(depths(programOf({ x: table }, ({ x }) => ({ z: slice(x, ':', [2, 5]) }))), [2]);
});

test('a size that no input has is refused', () => {
  const program = programOf({ x: { dtype: 'float32', shape: [] } }, ({ x }) => ({
    y: sum(add(broadcastTo(x, [symbol('unknown')]), 1)),
  }));
  assert.throws(() => lowerProgram(program, fuse(program), onCpu(wasmTarget)), UnsupportedError);
});

test('a program is for threads where any of it is worth dividing', () => {
  const program = programOf(
    { x: { dtype: 'float32', shape: [300] }, y: { dtype: 'float32', shape: [2] } },
    ({ x, y }) => ({ large: add(x, 1), small: add(y, 1) }),
  );
  const threadsOf = (grain: number): number =>
    lowerProgram(program, fuse(program), onCpu(wasmTarget), [], { threads: 3, grain }).threads;
  const [large, none] = [threadsOf(50), threadsOf(1e9)];
  assert.deepEqual([large, none], [3, 1]);
});

test('a program is for one thread unless it is asked for more', () => {
  const large = { dtype: 'float32', shape: [512, 512] } as const;
  const program = programOf({ x: large, y: large }, ({ x, y }) => ({ z: matmul(x, y) }));
  const lower = (threads?: number) =>
    lowerProgram(program, fuse(program), onCpu(wasmTarget), [], threads === undefined ? undefined : { threads }); // prettier-ignore
  const [usual, one, two] = [lower(), lower(1), lower(2)];
  assert.deepEqual([usual.threads, one.threads, two.threads], [1, 1, 2]);
  assert.deepEqual([usual.gain, one.gain], [0, 0]);
  assert.notEqual(two.gain, 0);
  // Threads tell kernels which they are, and how many there are.
  const parameters = ({ module }: typeof usual): readonly number[] =>
    module.kernels.map(({ params }) => params.length);
  assert.deepEqual(parameters(usual), parameters(one));
  assert.notDeepEqual(parameters(two), parameters(one));
});
