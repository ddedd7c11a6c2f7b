import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as e from '../../../src/loop/language/build.js';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type {
  Buffer,
  Const,
  Expr,
  Scalar,
  ElementKind,
  Var,
} from '../../../src/loop/language/nodes.js';
import { laws } from '../../../src/loop/simplify/expressions.js';
import { applySides, LawTable, type Sides } from '../../../src/loop/simplify/pattern.js';
import { children, substitution, variablesOf } from '../../../src/loop/language/visit.js';

const rows = 256;
const floats = [0, -0, 1, -1, 0.5, -2.5, 1.5, NaN, Infinity, -Infinity, 1e-40, -1e-310, 3e38, 1e300, 2 ** 31, -(2 ** 63), 2 ** 24 + 1]; // prettier-ignore
const integers = [0, 1, -1, 2, 7, -8, 2 ** 31 - 1, -(2 ** 31), 65536, 255];
const longs = [0n, 1n, -1n, 2n, -7n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -(2n ** 31n)];
const storages: Readonly<Record<Scalar, ElementKind>> = {
  f32: 'f32', f64: 'f64', i32: 'i32', i64: 'i64', bool: 'u8',
}; // prettier-ignore

let seed = 12345;
function random(below: number): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

/** A value of the type: an edge more often than not. */
function sample(scalar: Scalar): number | bigint {
  const edge = random(3) > 0;
  switch (scalar) {
    case 'bool':
      return random(2);
    case 'i64':
      return edge ? longs[random(longs.length)] : BigInt(random(2 ** 32)) * 3n - 2n ** 32n;
    case 'i32':
      return edge ? integers[random(integers.length)] : random(2 ** 32) - 2 ** 31;
    default:
      return edge ? floats[random(floats.length)] : (random(2 ** 20) - 2 ** 19) / 64;
  }
}

/** Both sides, for rows of values in the holes; constants are the same in all rows. */
function evaluate(
  sides: readonly Expr[],
  holes: readonly Var[],
  constants: ReadonlyMap<Var, Const>,
): unknown[][] {
  let bytes = 0;
  const place = (storage: ElementKind): number => {
    const at = bytes;
    bytes += rows * 8;
    assert.ok(e.storageBytes(storage) <= 8);
    return at;
  };
  const inputs = holes.map((hole) => e.buffer(hole.name, storages[hole.type.scalar]));
  const outputs = sides.map((side, i) => e.buffer(`side${i}`, storages[side.type.scalar]));
  const buffers = [...inputs, ...outputs];
  const addresses = buffers.map(({ storage }) => place(storage));
  const memory = new ArrayBuffer(bytes);
  inputs.forEach(({ storage }, i) => {
    const view = viewOf(memory, storage, addresses[i]);
    for (let row = 0; row < rows; row++) view[row] = sample(holes[i].type.scalar) as never;
  });
  const kernel = e.kernel(
    'sides',
    buffers,
    e.forLoop('row', 0, rows, (row) => {
      const filled = substitution(
        new Map<Var, Expr>([
          ...constants,
          ...holes.map((hole, i): [Var, Expr] => [hole, asScalar(hole, e.load(inputs[i], row))]),
        ]),
      );
      return e.block(
        ...sides.map((side, i) => {
          const value = filled(side);
          return e.store(
            outputs[i],
            row,
            value.type.scalar === 'bool' ? e.cast('i32', value) : value,
          );
        }),
      );
    }),
  );
  interpret(e.moduleOf([kernel]), memory, 'sides', addresses);
  return outputs.map(({ storage }, i) => [
    ...viewOf(memory, storage, addresses[inputs.length + i]),
  ]);
}

function asScalar(hole: Var, loaded: Expr): Expr {
  return hole.type.scalar === 'bool' ? e.ne(loaded, 0) : loaded;
}

function viewOf(
  memory: ArrayBuffer,
  storage: Buffer['storage'],
  at: number,
): Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array {
  switch (storage) {
    case 'f32':
      return new Float32Array(memory, at, rows);
    case 'f64':
      return new Float64Array(memory, at, rows);
    case 'i64':
      return new BigInt64Array(memory, at, rows);
    case 'u8':
      return new Uint8Array(memory, at, rows);
    default:
      return new Int32Array(memory, at, rows);
  }
}

/** Every way to fill the constant holes with values that the law accepts; at least one must exist. */
function constantChoices({ constants }: Sides): readonly ReadonlyMap<Var, Const>[] {
  if (constants === undefined) return [new Map()];
  const [[hole, accepts], ...others] = [...constants];
  assert.equal(others.length, 0);
  const candidates = [
    ...floats,
    2,
    4,
    -8,
    0.25,
    2 ** -126,
    2 ** 126,
    2 ** 127,
    2 ** -149,
    2 ** 1022,
    2 ** -1074,
  ];
  const accepted = candidates.filter((value) => accepts(e.constant(hole.type.scalar, value).value));
  assert.ok(accepted.length > 0);
  return accepted.map((value) => new Map([[hole, e.constant(hole.type.scalar, value)]]));
}

describe('every law holds on random and edge values', () => {
  for (const law of laws) {
    it(`${law.name} for ${law.scalars.join(', ')}: ${law.law}`, () => {
      for (const scalar of law.scalars) {
        const sides = law.sides(scalar);
        for (const constants of constantChoices(sides)) {
          const holes = [...variablesOf([sides.left])].filter((hole) => !constants.has(hole));
          assert.ok(
            [...variablesOf([sides.right])].every(
              (hole) => constants.has(hole) || holes.includes(hole),
            ),
          );
          const [left, right] = evaluate([sides.left, sides.right], holes, constants);
          assert.deepEqual(right, left, scalar);
        }
      }
    });
  }

  it('a table that has seen the operands of an expression has a law for it', () => {
    for (const law of laws) {
      for (const scalar of law.scalars) {
        const sides = law.sides(scalar);
        const [constants] = constantChoices(sides);
        const left = substitution(constants)(sides.left);
        // Nothing else has been seen by this table.
        const table = new LawTable(laws);
        const found = (expr: Expr): Expr | null => {
          const operands = children(expr);
          if (operands.length === 0) return null;
          for (const operand of operands) found(operand);
          return table.apply(expr, operands);
        };
        assert.notEqual(found(left), null, `${law.name} for ${scalar}`);
      }
    }
  });

  it('a law matches vectors, and equal holes need equal operands', () => {
    const t = 'f32';
    const x = e.variable('x', t);
    const sides: Sides = { left: e.min(x, x), right: x };
    const v = e.variable('v', t, 4);
    assert.equal(applySides(sides, e.min(v, v)), v);
    assert.equal(applySides(sides, e.min(v, e.variable('w', t, 4))), null);
    const zero: Sides = { left: e.and(e.variable('i', 'i32'), 0), right: e.i32(0) };
    const result = applySides(zero, e.and(e.variable('j', 'i32', 4), 0));
    assert.equal(result?.type.lanes, 4);
  });
});
