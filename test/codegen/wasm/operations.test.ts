import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeModule } from '../../../src/codegen/wasm/index.js';
import { InternalError } from '../../../src/base/errors.js';
import * as e from '../../../src/loop/language/build.js';
import type { BinaryOp, Expr, Scalar } from '../../../src/loop/language/nodes.js';
import { binaryOps, unaryOps } from '../../../src/loop/language/scalar.js';
import { agreeOnEdges } from './harness.js';

const lanesOf: Readonly<Record<Scalar, readonly number[]>> = {
  f32: [1, 2, 4],
  f64: [1, 2],
  i32: [1, 2, 4],
  i64: [1, 2],
  bool: [1, 2, 4],
};
const numbers: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64'];
const scalars: readonly Scalar[] = [...numbers, 'bool'];
const isFloat = (scalar: Scalar): boolean => scalar === 'f32' || scalar === 'f64';

function each(list: readonly Scalar[], visit: (scalar: Scalar, lanes: number) => void): void {
  for (const scalar of list) for (const lanes of lanesOf[scalar]) visit(scalar, lanes);
}

test('unary operations on every type and lane count', () => {
  each(scalars, (scalar, lanes) => {
    for (const op of unaryOps[scalar]) agreeOnEdges([scalar], lanes, ([x]) => e.unary(op, x));
  });
});

/** Not every pair of integers has a quotient. */
const divisions: ReadonlySet<BinaryOp> = new Set(['div', 'rem']);

test('binary operations on every type and lane count', () => {
  each(scalars, (scalar, lanes) => {
    for (const op of binaryOps[scalar]) {
      if (!isFloat(scalar) && divisions.has(op)) continue;
      agreeOnEdges([scalar, scalar], lanes, ([a, b]) => e.binary(op, a, b));
    }
  });
});

test('integer division and remainder', () => {
  each(['i32', 'i64'], (scalar, lanes) => {
    const least = scalar === 'i32' ? -(2 ** 31) : -(2n ** 63n);
    for (const op of ['div', 'rem'] as const)
      agreeOnEdges(
        [scalar, scalar],
        lanes,
        ([a, b]) => e.binary(op, a, b),
        ([a, b]) => Number(b) !== 0 && !(a === least && Number(b) === -1),
      );
  });
});

test('operations against a constant in either place', () => {
  each(numbers, (scalar, lanes) => {
    const constants = isFloat(scalar) ? [0, -0, 1.5, NaN, -Infinity] : [0, 1, 5, 33, -1];
    for (const value of constants)
      for (const op of ['min', 'max', 'add', 'mul', 'lt'] as const) {
        agreeOnEdges([scalar], lanes, ([x]) => e.binary(op, x, value));
        agreeOnEdges([scalar], lanes, ([x]) => e.binary(op, value, x));
      }
  });
  each(['i32', 'i64'], (scalar, lanes) => {
    for (const op of ['shl', 'shr', 'shrU'] as const)
      for (const count of [0, 1, 31, 32, 63, 64, -1])
        agreeOnEdges([scalar], lanes, ([x]) => e.binary(op, x, count));
  });
});

test('a shift by a count that all lanes share', () => {
  each(['i32', 'i64'], (scalar, lanes) => {
    for (const op of ['shl', 'shr', 'shrU'] as const)
      agreeOnEdges([scalar, scalar], lanes, ([x, count]) => {
        return e.binary(op, x, e.broadcast(e.extract(count, 0), lanes));
      });
  });
});

test('casts between all types', () => {
  for (const from of scalars)
    for (const to of scalars) {
      if (from === to) continue;
      for (const lanes of lanesOf[from])
        if (lanesOf[to].includes(lanes)) agreeOnEdges([from], lanes, ([x]) => e.cast(to, x));
    }
});

test('bitcasts there and back', () => {
  const sign = { f32: 'i32', f64: 'i64' } as const;
  for (const float of ['f32', 'f64'] as const)
    for (const lanes of lanesOf[float]) {
      const int = sign[float];
      const one = e.constant(int, 1);
      agreeOnEdges(
        [float],
        lanes,
        ([x]) => e.bitcast(int, x),
        ([x]) => !Number.isNaN(x),
      );
      agreeOnEdges([int], lanes, ([x]) => e.bitcast(float, e.shrU(x, one)));
    }
});

test('select by masks of every width', () => {
  each(scalars, (scalar, lanes) => {
    for (const compared of scalars) {
      if (!lanesOf[compared].includes(lanes)) continue;
      const condition = compared === 'bool' ? e.eq : e.lt;
      agreeOnEdges([compared, scalar], lanes, ([x, y]) => {
        const flipped = scalar === 'bool' ? e.not(y) : e.neg(y);
        return e.select(condition(x, x.type.scalar === 'bool' ? true_(lanes) : 1), y, flipped);
      });
    }
  });
});

const true_ = (lanes: number) => e.constant('bool', 1, lanes);

test('select of a zero on either side', () => {
  each(numbers, (scalar, lanes) => {
    for (const zero of isFloat(scalar) ? [0, -0] : [0]) {
      const nothing = (type: Scalar): Expr => e.constant(type, zero, lanes);
      const isGiven = ([x]: readonly Expr[]): Expr => e.lt(x, 1);
      agreeOnEdges([scalar, scalar], lanes, (operands) =>
        e.select(isGiven(operands), operands[1], nothing(scalar)),
      );
      agreeOnEdges([scalar, scalar], lanes, (operands) =>
        e.select(isGiven(operands), nothing(scalar), operands[1]),
      );
    }
  });
});

test('select that is a minimum or a maximum', () => {
  each(['f32', 'f64'], (scalar, lanes) => {
    agreeOnEdges([scalar, scalar], lanes, ([a, b]) => e.select(e.lt(a, b), b, a));
    agreeOnEdges([scalar, scalar], lanes, ([a, b]) => e.select(e.lt(a, b), a, b));
    agreeOnEdges([scalar, scalar], lanes, ([a, b]) => e.select(e.gt(a, b), a, b));
    agreeOnEdges([scalar, scalar], lanes, ([a, b]) => e.select(e.gt(a, b), b, a));
  });
});

test('masks of different widths meet', () => {
  for (const [wide, narrow] of [
    ['f64', 'f32'],
    ['i64', 'i32'],
  ] as const)
    for (const op of ['and', 'or', 'xor', 'eq', 'ne'] as const)
      agreeOnEdges([wide, narrow, 'bool'], 2, ([x, y, z]) =>
        e.select(e.binary(op, e.lt(x, 1), e.ge(y, 2)), z, e.not(z)),
      );
});

test('extract and broadcast', () => {
  each(scalars, (scalar, lanes) => {
    for (let lane = 0; lane < lanes; lane++)
      agreeOnEdges([scalar], lanes, ([x]) => e.broadcast(e.extract(x, lane), lanes));
  });
});

test('lane counts without a register are refused', () => {
  for (const [scalar, lanes] of [
    ['f32', 3],
    ['f64', 4],
    ['i64', 8],
    ['f32', 16],
  ] as const) {
    const out = e.buffer('out', scalar);
    const stored = e.store(out, e.ramp(0, 1, lanes), e.constant(scalar, 1, lanes));
    assert.throws(() => encodeModule(e.moduleOf([e.kernel('k', [out], stored)])), InternalError);
  }
});
