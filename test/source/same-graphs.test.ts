import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { batchTrees, treeAxes, type TreeBatch } from '../../examples/listops/batch.js';
import { drawExpressions } from '../../examples/listops/run.js';
import { type NodeStates, TreeReader } from '../../examples/listops/model.js';
import { tokens } from '../../examples/attention/data.js';
import { generate } from '../../examples/attention/generate.js';
import { Transformer } from '../../examples/attention/model.js';
import type { BeamOptions, Found } from '../../examples/decoding/beam.js';
import { end } from '../../examples/decoding/data.js';
import { Speller } from '../../examples/decoding/model.js';
import type * as beamModule from '../../examples/plain/beam.js';
import type * as generateModule from '../../examples/plain/generate.js';
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
 * nothing behind that would cost time.
 */

Object.assign(globalThis, { kn });

const compiled = ({ program }: kn.StaticGraph): Program =>
  runPipeline(program, passes, { evaluate: evaluateConstant });

function assertSame(plain: kn.StaticGraph, byHand: kn.StaticGraph): void {
  const [one, other] = [compiled(plain), compiled(byHand)];
  if (!sameProgram(one, other)) assert.equal(printProgram(one), printProgram(other));
}

type Two = [kn.NDArray, kn.NDArray];
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
    byHand: (x) =>
      kn.whileLoop(
        (r: kn.NDArray) => r.mul(r).sub(x).abs().greater(1e-9),
        (r: kn.NDArray) => [[], r.add(x.div(r)).mul(0.5)],
        x,
      )[1],
    args: [float(2)],
  },
  'Collatz steps': {
    code: `let count = 0;
      while (x.greater(1)) { if (x.mod(2).equal(0)) x = x.floorDivide(2); else x = x.mul(3).add(1); count++; }
      return count;`,
    byHand: (x) => {
      const step = (a: kn.NDArray, count: kn.NDArray): [[], Two] => {
        const next = kn.cond(a.mod(2).equal(0), () => a.floorDivide(2), () => a.mul(3).add(1));
        return [[], [next, count.add(1)]];
      };
      return kn.whileLoop((a: kn.NDArray) => a.greater(1), step, [x, int(0)] as Two)[1][1];
    },
    args: [int(7)],
  },
  'the greatest common divisor': {
    code: `while (y.notEqual(0)) [x, y] = [y, x.mod(y)]; return x;`,
    byHand: (x, y) =>
      kn.whileLoop((_: kn.NDArray, b: kn.NDArray) => b.notEqual(0), (a, b) => [[], [b, a.mod(b)]], [x, y] as Two)[1][0],
    args: [int(48), int(36)],
  },
  'a loop that begins with breaks': {
    code: `for (let i = 0; i < 20; i++) {
        const square = x.mul(x);
        if (square.greater(y)) break;
        x = x.mul(1.5).add(i);
      }
      return x;`,
    byHand: (x, y) =>
      kn.whileLoop(
        (_: kn.NDArray, a: kn.NDArray) => a.mul(a).greater(y).logicalNot(),
        (i: kn.NDArray, a: kn.NDArray) => {
          const next = a.mul(1.5).add(i);
          return [[], [i.add(1), next]];
        },
        [int(0), x] as Two,
        { maxIterations: 20 },
      )[1][1],
    args: [float(2), float(50)],
  },
  'a loop that begins with a return': {
    code: `while (true) { if (x.greater(y)) return x.exp(); x = x.mul(1.5); }`,
    byHand: (x, y) =>
      kn.whileLoop((a: kn.NDArray) => a.greater(y).logicalNot(), (a: kn.NDArray) => [[], a.mul(1.5)], x)[1].exp(),
    args: [float(2), float(50)],
  },
  'a return that the number of iterations may prevent': {
    code: `for (let i = 0; i < 20; i++) { if (x.greater(y)) return x.exp(); x = x.mul(1.5); } return y;`,
    byHand: (x, y) => {
      const [, found, iterations] = kn.whileLoop(
        (a: kn.NDArray) => a.greater(y).logicalNot(),
        (a: kn.NDArray) => [[], a.mul(1.5)],
        x,
        { maxIterations: 20 },
      );
      return kn.cond(iterations.less(20), () => found.exp(), () => y);
    },
    args: [float(2), float(50)],
  },
  'a break at the end of an iteration': {
    code: `for (let i = 0; i < 20; i++) { x = x.mul(1.5).add(i); if (x.greater(y)) break; } return x;`,
    byHand: (x, y) => {
      const step = (_: kn.NDArray, i: kn.NDArray, a: kn.NDArray): [[], Three] => {
        const next = a.mul(1.5).add(i);
        const isLarge = next.greater(y);
        const count = i.add(1);
        return [[], [isLarge.logicalNot(), count, next]];
      };
      const first = [kn.array(true), int(0), x] as Three;
      return kn.whileLoop((goesOn: kn.NDArray) => goesOn, step, first, { maxIterations: 20 })[1][2];
    },
    args: [float(2), float(50)],
  },
  'rows that are pushed until a break': {
    code: `const rows = [];
      for (let i = 0; i < 20; i++) {
        if (x.greater(y)) break;
        x = x.mul(1.5);
        rows.push(x);
      }
      return kn.stack(rows);`,
    byHand: (x, y) =>
      kn.whileLoop(
        (a: kn.NDArray) => a.greater(y).logicalNot(),
        (a: kn.NDArray) => [a.mul(1.5), a.mul(1.5)],
        x,
        { maxIterations: 20 },
      )[0],
    args: [float(2), float(50)],
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
let plainBeam: typeof beamModule;
let plainGenerate: typeof generateModule;
before(async () => {
  const at = (name: string): URL => new URL(`../../examples/plain/${name}.js`, import.meta.url);
  plainTrees = (await importConverted(at('trees'))) as typeof treesModule;
  plainBeam = (await importConverted(at('beam'))) as typeof beamModule;
  plainGenerate = (await importConverted(at('generate'))) as typeof generateModule;
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

/** The search of beams with `whileLoop` and `foreach` over the tables that the plain one writes. */
function searchTables(
  speller: Speller,
  language: kn.NDArray,
  { width, longest }: BeamOptions,
): Found {
  const onlyEnd = kn.where(kn.arange(speller.alphabet).equal(end), 0, -Infinity);
  const first = {
    last: kn.full([width], end, { dtype: 'int32' }),
    state: speller.beginState(language).expandDims(0).tile([width, 1]),
    score: kn.where(kn.arange(width).equal(0), 0, -Infinity),
    length: kn.zeros([width], { dtype: 'int32' }),
    isDone: kn.zeros([width], { dtype: 'bool' }),
    parents: kn.arange(width, { dtype: 'int32' }).expandDims(0).tile([longest, 1]),
    characters: kn.full([longest, width], end, { dtype: 'int32' }),
  };
  const [, { parents, characters, length, score }] = kn.whileLoop(
    ({ score, isDone }) => isDone.logicalOr(score.equal(-Infinity)).logicalNot().any(),
    ({ step, last, parents, characters, length, state, score, isDone }) => {
      const [logits, next] = speller.step(last, state);
      const costs = kn.where(isDone.expandDims(1), onlyEnd, logits);
      const best = kn.topK(score.expandDims(1).add(costs).reshape([-1]), width);
      const parent = best.indices.floorDivide(speller.alphabet).astype('int32');
      const character = best.indices.mod(speller.alphabet).astype('int32');
      const after = {
        last: character,
        parents: parents.updateSlice(parent.expandDims(0), step, 0),
        characters: characters.updateSlice(character.expandDims(0), step, 0),
        length: length.take(parent, { axis: 0 }).add(isDone.take(parent, { axis: 0 }).logicalNot()),
        state: next.take(parent, { axis: 0 }),
        score: best.values,
        isDone: character.equal(end),
      };
      return [[], { step: step.add(1), ...after }];
    },
    {
      step: int(0),
      last: first.last,
      parents: first.parents,
      characters: first.characters,
      length: first.length,
      state: first.state,
      score: first.score,
      isDone: first.isDone,
    },
    { maxIterations: longest },
  );
  const ranked = kn.topK(score.div(length.add(5).div(6).pow(0)), width);
  const beam = ranked.indices.astype('int32');
  const [, [found]] = kn.foreach(
    (parent, [table, at, done]: Three): [[], Three] => {
      const row = int(longest - 1).sub(done);
      const here = table.take(row, { axis: 0 }).take(at);
      return [[], [table.updateSlice(here.expandDims(0), row, 0), parent.take(at), done.add(1)]];
    },
    parents.flip(0),
    [characters, beam, int(0)] as Three,
  );
  return { characters: found.transpose(), scores: ranked.values };
}

test('the example of beams: the graph of the same thing by hand', () => {
  const speller = new Speller({ alphabet: 3, languages: 4, size: 5 }).initialize();
  speller.step(kn.array([0], { dtype: 'int32' }), speller.beginState(int(0)));
  const options = { width: 4, longest: 30 };
  const [plain, byHand] = [plainBeam.searchBeamPlainly, searchTables].map((search) =>
    kn.hybridize((language: kn.NDArray) => search(speller, language, options)).graphFor(int(0)),
  );
  assertSame(plain, byHand);
});

test('the example of generation: the graph of the same thing by hand', () => {
  const model = new Transformer({ size: 8, heads: 2, layers: 1, capacity: 30 }).initialize();
  model.call(kn.zeros([1, 1], { dtype: 'int32' }));
  const prompts = tokens([[3, 1, 4], [1]], model.capacity);
  const [plain, byHand] = [plainGenerate.generatePlainly, generate].map((answer) =>
    kn
      .hybridize((x: kn.NDArray, lengths: kn.NDArray) => answer(model, x, lengths))
      .graphFor(prompts, kn.array([3, 1], { dtype: 'int32' })),
  );
  assertSame(plain, byHand);
});
