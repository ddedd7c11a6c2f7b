import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  addDim,
  applyDim,
  boundsOf,
  ceilDivDim,
  type Dim,
  type DimOperation,
  evaluateDim,
  floorDivDim,
  isStatic,
  maxDim,
  minDim,
  modDim,
  mulDim,
  parseDim,
  sameDim,
  elementCount,
  subDim,
  substituteDim,
  symbol,
  symbolsOf,
} from '../../../src/base/dim/index.js';
import { ArgumentError, GraphError } from '../../../src/base/errors.js';

const ranges = { a: [0, 7], b: [1, 9], c: [2, 5] } as const;
type Name = keyof typeof ranges;
const names = Object.keys(ranges) as Name[];
const symbols = new Map(
  names.map((name) => [name, symbol(name, { min: ranges[name][0], max: ranges[name][1] })]),
);

/** An expression as a tree that is evaluated by definition, and the dimension built from it. */
interface Pair {
  readonly dim: Dim;
  value(at: Readonly<Record<Name, number>>): number;
}

const floor = (x: number, y: number): number => Math.floor(x / y);
const meaning: Readonly<
  Record<'add' | 'sub' | 'mul' | DimOperation, (x: number, y: number) => number>
> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  floorDiv: floor,
  mod: (x, y) => x - y * floor(x, y),
  max: Math.max,
  min: Math.min,
};
const build = { add: addDim, sub: subDim, mul: mulDim } as const;

const leaf: fc.Arbitrary<Pair> = fc.oneof(
  fc.integer({ min: -4, max: 6 }).map((n): Pair => ({ dim: n, value: () => n })),
  fc
    .constantFrom(...names)
    .map((name): Pair => ({ dim: symbols.get(name)!, value: (at) => at[name] })),
);
/** Divisors are positive by construction: a symbol that starts at 1, or a number. */
const divisor: fc.Arbitrary<Pair> = fc.oneof(
  fc.integer({ min: 1, max: 5 }).map((n): Pair => ({ dim: n, value: () => n })),
  fc
    .constantFrom<Name>('b', 'c')
    .map((name): Pair => ({ dim: symbols.get(name)!, value: (at) => at[name] })),
);
const expression = fc.letrec<{ tree: Pair }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'tree' },
    leaf,
    fc
      .tuple(fc.constantFrom('add', 'sub', 'mul', 'max', 'min'), tie('tree'), tie('tree'))
      .map(([kind, x, y]): Pair => {
        const dim =
          kind === 'max' || kind === 'min'
            ? applyDim(kind, x.dim, y.dim)
            : build[kind as 'add'](x.dim, y.dim);
        const f = meaning[kind as 'add'];
        return { dim, value: (at) => f(x.value(at), y.value(at)) };
      }),
    fc.tuple(fc.constantFrom('floorDiv', 'mod'), tie('tree'), divisor).map(([kind, x, y]): Pair => {
      const f = meaning[kind as DimOperation];
      return {
        dim: applyDim(kind as DimOperation, x.dim, y.dim),
        value: (at) => f(x.value(at), y.value(at)),
      };
    }),
  ),
})).tree;
const place = fc.record(
  Object.fromEntries(
    names.map((name) => [name, fc.integer({ min: ranges[name][0], max: ranges[name][1] })]),
  ) as Record<Name, fc.Arbitrary<number>>,
);
const bind = (at: Readonly<Record<Name, number>>): Map<string, number> =>
  new Map(Object.entries(at));
const check = <A extends unknown[]>(
  arbitraries: { [K in keyof A]: fc.Arbitrary<A[K]> },
  holds: (...values: A) => void,
): void =>
  fc.assert(
    fc.property(...(arbitraries as unknown as [fc.Arbitrary<unknown>]), (...values) =>
      holds(...(values as unknown as A)),
    ),
    { seed: 11, numRuns: 1500 },
  );

test('canonical forms mean what was built', () => {
  check<[Pair, Record<Name, number>]>([expression, place], ({ dim, value }, at) =>
    // + 0: the sign of zero is no matter of sizes
    assert.equal(evaluateDim(dim, bind(at)) + 0, value(at) + 0, String(dim)),
  );
});

test('bounds hold every value', () => {
  check<[Pair, Record<Name, number>]>([expression, place], ({ dim, value }, at) => {
    const { min, max } = boundsOf(dim);
    assert.ok(
      min <= value(at) && value(at) <= max,
      `${String(dim)}: ${value(at)} in ${min}..${max}`,
    );
  });
});

test('text parses back to the same form', () => {
  const bounds = new Map(
    names.map((name) => [name, { min: ranges[name][0], max: ranges[name][1] }]),
  );
  check<[Pair]>([expression], ({ dim }) => {
    if (typeof dim !== 'number') assert.equal(dim.toString(), String(dim));
    const again = parseDim(String(dim), bounds);
    assert.ok(sameDim(again, dim), `${String(dim)} became ${String(again)}`);
    assert.deepEqual(boundsOf(again), boundsOf(dim));
  });
});

test('the same dimension always means the same value, and ring laws are found', () => {
  check<[Pair, Pair, Pair, Record<Name, number>]>(
    [expression, expression, expression, place],
    (x, y, z, at) => {
      if (sameDim(x.dim, y.dim)) assert.equal(x.value(at) + 0, y.value(at) + 0);
      assert.ok(sameDim(addDim(x.dim, y.dim), addDim(y.dim, x.dim)));
      assert.ok(sameDim(mulDim(x.dim, y.dim), mulDim(y.dim, x.dim)));
      assert.ok(sameDim(subDim(addDim(x.dim, y.dim), y.dim), x.dim));
      assert.ok(
        sameDim(
          mulDim(x.dim, addDim(y.dim, z.dim)),
          addDim(mulDim(x.dim, y.dim), mulDim(x.dim, z.dim)),
        ),
      );
      assert.ok(sameDim(maxDim(x.dim, y.dim), maxDim(y.dim, x.dim)));
      assert.ok(sameDim(minDim(x.dim, y.dim), minDim(y.dim, x.dim)));
    },
  );
});

test('substituting numbers is evaluating, and leaves no symbol', () => {
  check<[Pair, Record<Name, number>]>([expression, place], ({ dim, value }, at) => {
    const result = substituteDim(dim, bind(at));
    assert.ok(isStatic(result));
    assert.equal(result + 0, value(at) + 0);
  });
});

test('substitution is simultaneous', () => {
  const [a, b] = [symbols.get('a')!, symbols.get('b')!];
  const swapped = substituteDim(subDim(a, mulDim(2, b)), new Map([['a', b], ['b', a]])); // prettier-ignore
  assert.ok(sameDim(swapped, subDim(b, mulDim(2, a))));
});

test('exact quotients are found, others stay', () => {
  const n = symbol('n');
  const m = symbol('m', { min: 1 });
  assert.ok(sameDim(floorDivDim(mulDim(6, n), 3), mulDim(2, n)));
  assert.ok(sameDim(floorDivDim(mulDim(mulDim(n, m), 4), m), mulDim(4, n)));
  assert.equal(modDim(mulDim(n, m), m), 0);
  assert.ok(sameDim(ceilDivDim(mulDim(2, n), 2), n));
  assert.equal(String(floorDivDim(subDim(mulDim(4, n), 5), 2)), '2*n - 3');
  assert.equal(String(floorDivDim(addDim(mulDim(-3, n), 4), -3)), 'n - 2');
  assert.equal(modDim(addDim(mulDim(6, n), 5), 3), 2);
  assert.equal(String(floorDivDim(n, 2)), 'floorDiv(n, 2)');
  assert.equal(String(floorDivDim(subDim(n, modDim(n, 2)), 2)), 'floorDiv(n, 2)');
  const less = subDim(n, 1);
  assert.equal(String(floorDivDim(subDim(less, modDim(less, m)), m)), 'floorDiv(n - 1, m)');
  assert.equal(String(ceilDivDim(n, 2)), 'floorDiv(n + 1, 2)');
  assert.equal(String(elementCount([n, 2, m])), '2*m*n');
  assert.equal(elementCount([]), 1);
});

test('what is left of a size after a part of it is not negative', () => {
  const [whole, part] = [symbol('whole'), symbol('part')];
  const taken = minDim(whole, part);
  const rest = subDim(whole, taken);
  assert.equal(boundsOf(rest).min, 0);
  assert.equal(String(maxDim(0, rest)), String(rest));
  assert.ok(sameDim(addDim(taken, maxDim(0, rest)), whole));
  assert.equal(boundsOf(subDim(whole, maxDim(whole, part))).max, 0);
  assert.equal(boundsOf(subDim(mulDim(2, maxDim(whole, part)), addDim(whole, part))).max, Infinity);
});

test('extremes that bounds decide are decided', () => {
  const n = symbol('n', { min: 3, max: 8 });
  assert.equal(maxDim(n, 2), n);
  assert.equal(minDim(n, 9), n);
  assert.equal(maxDim(n, 8), 8);
  assert.equal(String(maxDim(n, 4)), 'max(4, n)');
});

test('symbols are collected', () => {
  const dim = parseDim('2*n + floorDiv(m, k) - max(j, 3)');
  assert.deepEqual([...symbolsOf(dim)].sort(), ['j', 'k', 'm', 'n']);
  assert.deepEqual([...symbolsOf(7)], []);
});

test('refusals', () => {
  for (const name of ['', '1n', 'a-b', 'max', 'floorDiv', 'a b', 'é']) {
    assert.throws(() => symbol(name), ArgumentError, name);
  }
  for (const bounds of [{ min: -1 }, { min: 3, max: 2 }, { min: NaN }]) {
    assert.throws(() => symbol('n', bounds), ArgumentError);
  }
  for (const text of [
    '',
    'n +',
    '+',
    'max(n)',
    'max(n, 2',
    'n n',
    '2.5',
    '(n)',
    'n^2',
    '1e3',
    '99999999999999999999',
  ]) {
    assert.throws(() => parseDim(text), GraphError, text);
  }
  assert.throws(() => floorDivDim(symbol('n'), 0), GraphError);
  assert.throws(() => modDim(3, 0), GraphError);
  assert.throws(() => evaluateDim(symbol('n'), new Map()), GraphError);
});
