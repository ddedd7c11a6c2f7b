import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Facts } from '../../../src/loop/analysis/facts.js';
import { Interner } from '../../../src/loop/analysis/intern.js';
import * as e from '../../../src/loop/language/build.js';
import type { BinaryOp, Expr, For, Load } from '../../../src/loop/language/nodes.js';
import { exprMapper } from '../../../src/loop/language/visit.js';

/** Loops `i` from -3 to 5, `j` from `i` to 9, and `k` over nothing but 2. */
const [i, j, k] = ['i', 'j', 'k'].map((name) => e.variable(name, 'i32'));
const i8 = e.load(e.buffer('i8', 'i8'), i) as Load;
const u8 = e.load(e.buffer('u8', 'u8'), i) as Load;
const u16 = e.load(e.buffer('u16', 'u16'), i) as Load;
const i32 = e.load(e.buffer('i32', 'i32'), i) as Load;
const truth = e.variable('truth', 'bool');
const leaves = [
  i,
  j,
  k,
  i8,
  u8,
  u16,
  i32,
  e.cast('i32', truth),
  ...[0, 1, -1, 2, 3, 7, -8, 31, 255, 100_000, 2 ** 31 - 1, -(2 ** 31)].map(e.i32),
];

interface Setting {
  readonly facts: Facts;
  readonly intern: (expr: Expr) => Expr;
}

function setting(): Setting {
  const interner = new Interner();
  const intern = exprMapper((expr) => interner.intern(expr));
  const facts = new Facts(interner.number.bind(interner), []);
  const loop = (variable: typeof i, begin: Expr, end: Expr): For => ({
    ...e.forLoop('x', intern(begin), intern(end), () => e.block()),
    variable: variable as For['variable'],
  });
  facts.enterLoop(loop(i, e.i32(-3), e.i32(5)), 1);
  facts.enterLoop(loop(j, i, e.i32(9)), 2);
  facts.enterLoop(loop(k, e.i32(2), e.i32(3)), 3);
  facts.enterLocal(truth as never, 0, null);
  return { facts, intern };
}

/** Values of everything that is not an operation. */
type Point = ReadonlyMap<Expr, number>;

const point: fc.Arbitrary<Point> = fc
  .record({
    i: fc.integer({ min: -3, max: 4 }),
    ahead: fc.nat(),
    i8: fc.integer({ min: -128, max: 127 }),
    u8: fc.integer({ min: 0, max: 255 }),
    u16: fc.integer({ min: 0, max: 65535 }),
    i32: fc.integer(),
    truth: fc.integer({ min: 0, max: 1 }),
  })
  .map(
    (at) =>
      new Map<Expr, number>([
        [i, at.i],
        [j, at.i + (at.ahead % (9 - at.i))],
        [k, 2],
        [i8, at.i8],
        [u8, at.u8],
        [u16, at.u16],
        [i32, at.i32],
        [truth, at.truth],
      ]),
  );

const arithmetic: Readonly<Partial<Record<BinaryOp, (a: bigint, b: bigint) => bigint>>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  div: (a, b) => a / b,
  rem: (a, b) => a % b,
  and: (a, b) => a & b,
  shl: (a, b) => a << (b & 31n),
  shr: (a, b) => a >> (b & 31n),
  shrU: (a, b) => BigInt.asUintN(32, a) >> (b & 31n),
};

/** The value of an expression; null where the language leaves it open, or where an index overflows. */
function valueAt(expr: Expr, at: Point): bigint | null {
  const known = at.get(expr);
  if (known !== undefined) return BigInt(known);
  switch (expr.kind) {
    case 'const':
      return BigInt(expr.value);
    case 'cast':
      return valueAt(expr.x, at);
    case 'select': {
      const [a, b] = [valueAt(expr.a, at), valueAt(expr.b, at)];
      if (a === null || b === null) return null;
      return at.get(expr.condition) === 1 ? a : b;
    }
    case 'unary':
    case 'binary': {
      const operands = expr.kind === 'unary' ? [e.i32(0), expr.x] : [expr.a, expr.b];
      const [a, b] = operands.map((operand) => valueAt(operand, at));
      if (a === null || b === null) return null;
      const op = expr.kind === 'unary' ? 'sub' : expr.op;
      if ((op === 'div' || op === 'rem') && (b === 0n || b === -1n)) return null;
      const exact = arithmetic[op]!(a, b);
      const wrapped = BigInt.asIntN(32, exact);
      const isOpen =
        wrapped !== exact &&
        (op === 'add' || op === 'sub' || op === 'mul' || op === 'shl') &&
        isIndex(expr);
      return isOpen ? null : wrapped;
    }
    default:
      throw new Error(`no value for ${expr.kind}`);
  }
}

/** True where nothing but loops decides: of an index the author promises that it does not overflow. */
function isIndex(expr: Expr): boolean {
  if (expr.kind === 'unary') return isIndex(expr.x);
  if (expr.kind === 'binary') return isIndex(expr.a) && isIndex(expr.b);
  return expr.kind === 'const' || expr === i || expr === j || expr === k;
}

const { tree } = fc.letrec<{ tree: Expr }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Expr>(...leaves),
    fc
      .tuple(
        fc.constantFrom<BinaryOp>(...(Object.keys(arithmetic) as BinaryOp[])),
        tie('tree'),
        tie('tree'),
      )
      .map(([op, a, b]) => e.binary(op, a, b)),
    // Shifts and masks by constants, which facts know more about.
    fc
      .tuple(
        fc.constantFrom<BinaryOp>('shl', 'shr', 'shrU', 'and', 'div', 'rem'),
        tie('tree'),
        fc.constantFrom(0, 1, 3, 4, 15, 31),
      )
      .map(([op, a, b]) => e.binary(op, a, e.i32(b))),
    tie('tree').map((x) => e.neg(x)),
    fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => e.select(truth, a, b)),
  ),
}));

const intervalOf = (expr: Expr): readonly [number, number] => {
  const { facts, intern } = setting();
  const { min, max } = facts.interval(intern(expr));
  return [min, max];
};

describe('intervals', () => {
  it('hold every value that an expression can have', () => {
    let checked = 0;
    fc.assert(
      fc.property(tree, fc.array(point, { minLength: 20, maxLength: 20 }), (expr, points) => {
        const [min, max] = intervalOf(expr);
        for (const at of points) {
          const value = valueAt(expr, at);
          if (value === null) continue;
          checked++;
          assert.ok(min <= value && value <= max, `${value} is not in ${min}..${max}`);
        }
      }),
      { seed: 1, numRuns: 3000 },
    );
    assert.ok(checked > 30_000);
  });

  it('are those of loops, of narrow elements and of truth', () => {
    assert.deepEqual(intervalOf(i), [-3, 4]);
    assert.deepEqual(intervalOf(j), [-3, 8]);
    assert.deepEqual(intervalOf(k), [2, 2]);
    assert.deepEqual(intervalOf(i8), [-128, 127]);
    assert.deepEqual(intervalOf(u8), [0, 255]);
    assert.deepEqual(intervalOf(u16), [0, 65535]);
    assert.deepEqual(intervalOf(i32), [-(2 ** 31), 2 ** 31 - 1]);
    assert.deepEqual(intervalOf(e.cast('i32', truth)), [0, 1]);
  });

  it('are no wider than arithmetic makes them', () => {
    const cases: readonly (readonly [Expr, number, number])[] = [
      [e.add(e.mul(i, 10), k), -28, 42],
      [e.sub(u8, i8), -127, 383],
      [e.mul(i, j), -24, 32],
      [e.neg(u8), -255, 0],
      [e.shl(u8, 4), 0, 4080],
      [e.shr(i8, 3), -16, 15],
      [e.shrU(i32, 24), 0, 255],
      [e.shrU(i32, 1), 0, 2 ** 31 - 1],
      [e.and(i32, 7), 0, 7],
      [e.and(u8, u16), 0, 255],
      [e.min(u8, 9), 0, 9],
      [e.max(i8, 3), 3, 127],
      [e.div(u8, 10), 0, 25],
      [e.div(i8, 10), -12, 12],
      [e.div(u8, e.add(u16, 1)), 0, 255],
      [e.rem(u8, 10), 0, 9],
      [e.rem(i8, 10), -9, 9],
      [e.rem(i, 10), -3, 4],
      [e.rem(u8, u16), 0, 255],
      [e.select(truth, u8, i8), -128, 255],
      [e.sub(i, i), 0, 0],
    ]; // prettier-ignore
    for (const [n, [expr, min, max]] of cases.entries()) {
      assert.deepEqual(intervalOf(expr), [min, max], `case ${n}`);
    }
  });
});
