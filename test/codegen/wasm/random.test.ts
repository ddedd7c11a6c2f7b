import * as fc from 'fast-check';
import { test } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import type { BinaryOp, Expr, Scalar } from '../../../src/loop/language/nodes.js';
import { binaryOps, unaryOps } from '../../../src/loop/language/scalar.js';
import { agree, edges, fill, type Filled, operand, storageOf } from './harness.js';

/**
 * Random DAGs: each step picks its operands among all earlier nodes of the type it needs, so that
 * expressions share sub-expressions. NaN bits are not defined, so floats are never read as integers.
 */
type Step = readonly [choice: number, first: number, second: number, third: number];

const scalars: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64', 'bool'];
const length = 20;
/** Not every pair of integers has a quotient. */
const divisions: ReadonlySet<BinaryOp> = new Set(['div', 'rem']);

function grow(leaves: readonly Expr[], steps: readonly Step[], wide: boolean): readonly Expr[] {
  const nodes = [...leaves];
  for (const [choice, first, second, third] of steps) {
    const a = nodes[first % nodes.length];
    const alike = nodes.filter((node) => node.type === a.type);
    const b = alike[second % alike.length];
    const bools = nodes.filter((node) => node.type.scalar === 'bool');
    const { scalar } = a.type;
    const isFloat = scalar === 'f32' || scalar === 'f64';
    const pick = <T>(options: readonly T[]): T => options[third % options.length];
    const targets = scalars.filter((to) => wide || (to !== 'f64' && to !== 'i64'));
    switch (choice % 5) {
      case 0:
        nodes.push(e.unary(pick([...unaryOps[scalar]]), a));
        break;
      case 1:
      case 2: {
        const ops = [...binaryOps[scalar]].filter((op) => isFloat || !divisions.has(op));
        nodes.push(e.binary(pick(ops), a, b));
        break;
      }
      case 3:
        nodes.push(e.select(bools[third % bools.length], a, b));
        break;
      default:
        nodes.push(e.cast(pick(targets), a));
    }
  }
  return nodes.slice(leaves.length);
}

function agreeOn(lanes: number, seed: number, steps: readonly Step[]): void {
  const wide = lanes < 4;
  const used = scalars.filter((scalar) => wide || (scalar !== 'f64' && scalar !== 'i64'));
  const inputs = used.map((scalar, k): Filled => {
    const values = edges[scalar];
    return {
      buffer: e.buffer(`in_${scalar}`, storageOf(scalar)),
      elements: fill(
        storageOf(scalar),
        Array.from({ length }, (_, at) => values[(seed + at * (k + 3)) % values.length]),
      ),
    };
  });
  const index = (i: Expr): Expr => (lanes === 1 ? i : e.ramp(i, 1, lanes));
  const outputs: Filled[] = [];
  const body = e.forLoop(
    'i',
    0,
    length,
    (i) => {
      const leaves = used.map((scalar, k) => operand(inputs[k].buffer, index(i), scalar));
      const results = grow(leaves, steps, wide).slice(-3);
      return e.block(
        ...results.map((value, k) => {
          const storage = storageOf(value.type.scalar);
          const buffer = e.buffer(`out${k}`, storage);
          outputs.push({
            buffer,
            elements: fill(
              storage,
              Array.from({ length }, () => 0),
            ),
          });
          return e.store(buffer, index(i), e.cast(storage, value));
        }),
      );
    },
    { step: lanes },
  );
  agree(body, [...inputs, ...outputs]);
}

for (const lanes of [1, 2, 4]) {
  test(`random expressions of ${lanes} lanes`, () => {
    const step = fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000), fc.nat(1000));
    fc.assert(
      fc.property(fc.nat(1000), fc.array(step, { minLength: 1, maxLength: 24 }), (seed, steps) =>
        agreeOn(lanes, seed, steps),
      ),
      { seed: 20261121, numRuns: 150 },
    );
  });
}
