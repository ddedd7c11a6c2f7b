import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { batchTrees, treeAxes, type TreeBatch } from '../../examples/listops/batch.js';
import { drawExpressions } from '../../examples/listops/run.js';
import { type NodeStates, TreeReader } from '../../examples/listops/model.js';
import type * as treesModule from '../../examples/plain/trees.js';
import * as kn from '../../src/index.js';
import { printProgram } from '../../src/ir/formats/text.js';
import type { Program } from '../../src/ir/program.js';
import { sameProgram } from '../../src/ir/same-program.js';
import { passes, runPipeline } from '../../src/passes/pipeline.js';
import { evaluateConstant } from '../../src/runtime/compile/compile.js';
import { importConverted } from '../support/converted.js';
import { converted } from './convert.js';

/*
 * After the passes, plain control flow is the graph that `cond`, `whileLoop` and `foreach` give: conversion leaves
 * nothing behind that would cost time. Loops of plain code carry their test as a state, since it may have effects; so
 * do those written by hand here.
 */

Object.assign(globalThis, { kn });

const compiled = ({ program }: kn.StaticGraph): Program =>
  runPipeline(program, passes, { evaluate: evaluateConstant });

function assertSame(plain: kn.StaticGraph, byHand: kn.StaticGraph): void {
  const [one, other] = [compiled(plain), compiled(byHand)];
  if (!sameProgram(one, other)) assert.equal(printProgram(one), printProgram(other));
}

type Three = [kn.NDArray, kn.NDArray, kn.NDArray];

interface Pair {
  readonly code: string;
  readonly byHand: (...args: kn.NDArray[]) => unknown;
  readonly args: readonly kn.NDArray[];
}

const float = (values: number | readonly number[]): kn.NDArray =>
  kn.array(values, { dtype: 'float64' });
const int = (value: number): kn.NDArray => kn.array(value, { dtype: 'int32' });

const pairs: Readonly<Record<string, Pair>> = {
  'if and else': {
    code: `if (x.sum().greater(0)) x = x.mul(y); else x = x.sub(1); return x.exp();`,
    byHand: (x, y) => kn.cond(x.sum().greater(0), () => x.mul(y), () => x.sub(1)).exp(),
    args: [float([1, 2]), float([3, 4])],
  },
  'a return from a branch': {
    code: `if (x.sum().greater(0)) return x.mul(y); x = x.sub(1); return x.exp();`,
    byHand: (x, y) => kn.cond(x.sum().greater(0), () => x.mul(y), () => x.sub(1).exp()),
    args: [float([1, 2]), float([3, 4])],
  },
  'a choice of values': {
    code: `return (x.sum().less(y.sum()) ? x : y).square();`,
    byHand: (x, y) => kn.cond(x.sum().less(y.sum()), () => x, () => y).square(),
    args: [float([1, 2]), float([3, 4])],
  },
  'rows of an array': {
    code: `for (const row of x) y = y.mul(0.5).add(row.exp()); return y;`,
    byHand: (x, y) => kn.foreach((row: kn.NDArray, s: kn.NDArray) => [[], s.mul(0.5).add(row.exp())], x, y)[1],
    args: [kn.zeros([20, 3], { dtype: 'float64' }), float([3, 4, 5])],
  },
  'Newton’s method': {
    code: `let r = x; while (r.mul(r).sub(x).abs().greater(1e-9)) r = r.add(x.div(r)).mul(0.5); return r;`,
    byHand: (x) => {
      const goesOn = (r: kn.NDArray): kn.NDArray => r.mul(r).sub(x).abs().greater(1e-9);
      const step = (_: kn.NDArray, r: kn.NDArray): [[], [kn.NDArray, kn.NDArray]] => {
        const next = r.add(x.div(r)).mul(0.5);
        return [[], [goesOn(next), next]];
      };
      return kn.whileLoop((test: kn.NDArray) => test, step, [goesOn(x), x])[1][1];
    },
    args: [float(2)],
  },
  'Collatz steps': {
    code: `let count = 0;
      while (x.greater(1)) { if (x.mod(2).equal(0)) x = x.floorDivide(2); else x = x.mul(3).add(1); count++; }
      return count;`,
    byHand: (x) => {
      const step = (_: kn.NDArray, a: kn.NDArray, count: kn.NDArray): [[], Three] => {
        const next = kn.cond(a.mod(2).equal(0), () => a.floorDivide(2), () => a.mul(3).add(1));
        const counted = count.add(1);
        return [[], [next.greater(1), next, counted]];
      };
      return kn.whileLoop((test: kn.NDArray) => test, step, [x.greater(1), x, int(0)] as Three)[1][2];
    },
    args: [int(7)],
  },
  'the greatest common divisor': {
    code: `while (y.notEqual(0)) [x, y] = [y, x.mod(y)]; return x;`,
    byHand: (x, y) => {
      const step = (_: kn.NDArray, a: kn.NDArray, b: kn.NDArray): [[], Three] => {
        const rest = a.mod(b);
        return [[], [rest.notEqual(0), b, rest]];
      };
      return kn.whileLoop((test: kn.NDArray) => test, step, [y.notEqual(0), x, y] as Three)[1][1];
    },
    args: [int(48), int(36)],
  },
}; // prettier-ignore

for (const [name, { code, byHand, args }] of Object.entries(pairs)) {
  test(`${name}: the graph of the same thing by hand`, () => {
    const plain = converted(`function main(x, y) { 'use graph'; ${code} }`) as unknown as Pair['byHand']; // prettier-ignore
    const graphs = [plain, byHand].map((f) =>
      args.length === 1
        ? kn.hybridize((x: kn.NDArray) => f(x)).graphFor(args[0])
        : kn.hybridize((x: kn.NDArray, y: kn.NDArray) => f(x, y)).graphFor(args[0], args[1]),
    );
    assertSame(graphs[0], graphs[1]);
  });
}

/** The reader of expressions with `foreach` over the rows that the plain one goes over. */
class StackedTreeReader extends TreeReader {
  override forward({ symbols, children, begin, end, roots }: TreeBatch): kn.NDArray {
    const leaves = this.leaves(symbols);
    const [, { h }] = kn.foreach(
      (level: kn.NDArray, table: NodeStates) => {
        const from = level.slice(0);
        const rows = children.slice(':', [from, level.slice(1)]);
        const [left, right] = [rows.slice(0), rows.slice(1)];
        const nodes = this.cell.call(
          { h: table.h.take(left, { axis: 0 }), c: table.c.take(left, { axis: 0 }) },
          { h: table.h.take(right, { axis: 0 }), c: table.c.take(right, { axis: 0 }) },
        );
        const next = {
          h: table.h.updateSlice(nodes.h, from, 0),
          c: table.c.updateSlice(nodes.c, from, 0),
        };
        return [[], next];
      },
      kn.stack([begin, end], 1),
      leaves,
    );
    return this.classify.call(h.take(roots, { axis: 0 }));
  }
}

let plainTrees: typeof treesModule;
before(async () => {
  const url = new URL('../../examples/plain/trees.js', import.meta.url);
  plainTrees = (await importConverted(url)) as typeof treesModule;
});

test('the example of trees: the graph of the same thing by hand', () => {
  const batch = batchTrees(drawExpressions(4, { depth: 3, longest: 3 }));
  const [plain, byHand] = [plainTrees.PlainTreeReader, StackedTreeReader].map((Reader) => {
    const net = new Reader(6).initialize();
    net.call(batch);
    return net.hybridize({ dynamic: [treeAxes] }).graphFor(batch);
  });
  assertSame(plain, byHand);
});
