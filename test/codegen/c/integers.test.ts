import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleToC } from '../../../src/codegen/c/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Kernel, Scalar } from '../../../src/loop/language/nodes.js';
import { compileAndRun, compilers } from './compiler.js';

/*
 * Integers and conversions in C, one by one and as vectors, against integers without bounds that are cut to
 * size. The compiler has the program stop at whatever C leaves undefined.
 */

type Kind = 'i32' | 'i64' | 'f32' | 'f64';
type Element = number | bigint;

const widths = { i32: 32, i64: 64 } as const;
const signed = (width: number, x: bigint): bigint => BigInt.asIntN(width, x);
const unsigned = (width: number, x: bigint): bigint => BigInt.asUintN(width, x);
const absolute = (x: bigint): bigint => (x < 0n ? -x : x);

/** What is computed of two integers of a width; 0 or 1 for conditions. */
interface Form {
  readonly made: (a: Expr, b: Expr) => Expr;
  readonly expected: (a: bigint, b: bigint, width: number) => bigint | boolean;
}

const shift = (b: bigint, width: number): bigint => unsigned(width, b) % BigInt(width);
const chosen = (test: (a: Expr, b: Expr) => Expr): Form['made'] => {
  return (a, b) => e.select(test(a, b), a, b);
};
/** A divisor that is neither 0 nor -1. */
const divisor = (b: Expr): Expr => e.or(e.and(b, 1023), 1);

const forms: Readonly<Record<string, Form>> = {
  add: { made: e.add, expected: (a, b) => a + b },
  sub: { made: e.sub, expected: (a, b) => a - b },
  mul: { made: e.mul, expected: (a, b) => a * b },
  div: { made: (a, b) => e.div(a, divisor(b)), expected: (a, b) => a / ((b & 1023n) | 1n) },
  rem: { made: (a, b) => e.rem(a, divisor(b)), expected: (a, b) => a % ((b & 1023n) | 1n) },
  min: { made: e.min, expected: (a, b) => (a < b ? a : b) },
  max: { made: e.max, expected: (a, b) => (a > b ? a : b) },
  and: { made: e.and, expected: (a, b) => a & b },
  or: { made: e.or, expected: (a, b) => a | b },
  xor: { made: e.xor, expected: (a, b) => a ^ b },
  not: { made: (a) => e.unary('not', a), expected: (a) => ~a },
  neg: { made: e.neg, expected: (a) => -a },
  abs: { made: e.abs, expected: absolute },
  shl: { made: e.shl, expected: (a, b, width) => a << shift(b, width) },
  shr: { made: e.shr, expected: (a, b, width) => a >> shift(b, width) },
  shrU: { made: e.shrU, expected: (a, b, width) => unsigned(width, a) >> shift(b, width) },
  shlFive: { made: (a) => e.shl(a, 5), expected: (a) => a << 5n },
  shrFive: { made: (a) => e.shr(a, 5), expected: (a) => a >> 5n },
  whereLess: { made: chosen(e.lt), expected: (a, b) => (a < b ? a : b) },
  whereNoMore: { made: chosen(e.le), expected: (a, b) => (a <= b ? a : b) },
  whereMore: { made: chosen(e.gt), expected: (a, b) => (a > b ? a : b) },
  whereNoLess: { made: chosen(e.ge), expected: (a, b) => (a >= b ? a : b) },
  whereEqual: { made: (a, b) => e.select(e.eq(a, b), a, 9), expected: (a, b) => (a === b ? a : 9n) },
  isOther: { made: e.ne, expected: (a, b) => a !== b },
  isNot: { made: (a, b) => e.unary('not', e.lt(a, b)), expected: (a, b) => a >= b },
  isBoth: { made: (a, b) => e.and(e.lt(a, b), e.gt(b, 0)), expected: (a, b) => a < b && b > 0n },
  isEither: { made: (a, b) => e.or(e.lt(a, b), e.gt(b, 0)), expected: (a, b) => a < b || b > 0n },
  isOne: { made: (a, b) => e.xor(e.lt(a, b), e.gt(b, 0)), expected: (a, b) => a < b !== b > 0n },
  isAny: { made: (a) => e.cast('bool', a), expected: (a) => a !== 0n },
}; // prettier-ignore

const integers: Readonly<Record<'i32' | 'i64', readonly bigint[]>> = {
  i32: [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 100, -100, 65537, 2 ** 31 - 1, -(2 ** 31), 1 - 2 ** 31, 0x55555555].map(BigInt), // prettier-ignore
  i64: [
    0n, 1n, -1n, 2n, -3n, 7n, 31n, 32n, 63n, 64n, 100n, -(2n ** 31n), 2n ** 31n, 2n ** 32n, 2n ** 40n + 1n, 0x5555555555555555n,
    2n ** 63n - 1n, -(2n ** 63n),
  ], // prettier-ignore
};

const floats: readonly number[] = [
  0, -0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2.75, -2.75, 16777217, 2 ** 31, -(2 ** 31), 2147483647, -2147483649, 2 ** 40 + 1, 2 ** 63,
  -(2 ** 63), 2 ** 62 + 2 ** 12, 1e30, -1e30, Infinity, -Infinity, NaN,
]; // prettier-ignore

/** A conversion by the rules: toward zero, to the nearest end of the range, NaN to 0. */
function converted(x: Element, to: Kind): Element {
  if (to === 'f64') return Number(x);
  if (to === 'f32') return typeof x === 'number' ? Math.fround(x) : nearestFloat32(x);
  const width = widths[to];
  if (typeof x === 'bigint') return signed(width, x);
  if (Number.isNaN(x)) return 0n;
  const [least, greatest] = [-(2n ** BigInt(width - 1)), 2n ** BigInt(width - 1) - 1n];
  if (x === Infinity || x === -Infinity) return x > 0 ? greatest : least;
  const whole = BigInt(Math.trunc(x));
  return whole > greatest ? greatest : whole < least ? least : whole;
}

/** Rounded once, of two equally near ones to the even one. */
function nearestFloat32(x: bigint): number {
  const size = absolute(x);
  const excess = BigInt(Math.max(0, size.toString(2).length - 24));
  const unit = 1n << excess;
  const [whole, rest] = [size / unit, size % unit];
  const isUp = rest * 2n > unit || (rest * 2n === unit && whole % 2n === 1n);
  const rounded = Number((isUp ? whole + 1n : whole) * unit);
  return x < 0n ? -rounded : rounded;
}

const arrays = { i32: Int32Array, i64: BigInt64Array, f32: Float32Array, f64: Float64Array };
const bytesPer = { i32: 4, i64: 8, f32: 4, f64: 8 } as const;

function bytesOf(kind: Kind, list: readonly Element[]): Uint8Array {
  const array = new arrays[kind](list.length);
  list.forEach((x, i) => (array[i] = kind === 'i64' ? BigInt(x) : Number(x)));
  return new Uint8Array(array.buffer);
}

interface Trial {
  readonly kernel: Kernel;
  readonly inputs: readonly (readonly [Kind, readonly Element[]])[];
  readonly output: Kind;
  readonly expected: readonly Element[];
}

/** `out[i] = made(a[i], b[i])`, some lanes at a time. */
function trial(
  name: string,
  lanes: number,
  [from, to]: readonly [Kind, Kind],
  lists: readonly (readonly Element[])[],
  made: (...operands: readonly Expr[]) => Expr,
  expected: readonly Element[],
): Trial {
  const inputs = lists.map((_, k) => e.buffer(`in${k}`, from));
  const out = e.buffer('out', to);
  const body = e.forLoop('i', 0, expected.length, (i) => {
    const at = lanes === 1 ? i : e.ramp(i, 1, lanes);
    const value = made(...inputs.map((input) => e.load(input, at)));
    return e.store(out, at, lanes === 1 ? value : e.broadcast(value, lanes));
  }, { step: lanes }); // prettier-ignore
  return {
    kernel: e.kernel(`${name}_${from}_${to}_${lanes}`, [...inputs, out], body),
    inputs: lists.map((list) => [from, list] as const),
    output: to,
    expected,
  };
}

const elementwise: readonly Trial[] = [
  ...(['i32', 'i64'] as const).flatMap((kind) => {
    const values = integers[kind];
    const left = values.flatMap((x) => values.map(() => x));
    const right = values.flatMap(() => values);
    return Object.entries(forms).flatMap(([name, { made, expected }]) => {
      const wanted = left.map((x, i) => {
        const result = expected(x, right[i], widths[kind]);
        return signed(widths[kind], typeof result === 'bigint' ? result : BigInt(result));
      });
      const whole = (a: Expr, b: Expr): Expr => e.cast(kind, made(a, b));
      return [1, 2, 4].map((lanes) => trial(name, lanes, [kind, kind], [left, right], (...[a, b]) => whole(a, b), wanted)); // prettier-ignore
    });
  }),
  ...(['i32', 'i64', 'f32', 'f64'] as const).flatMap((from) =>
    (['i32', 'i64', 'f32', 'f64'] as const).flatMap((to) => {
      if (from === to) return [];
      const list = from === 'i32' || from === 'i64' ? [...integers[from], ...integers[from].slice(0, 6)] : floats.map((x) => (from === 'f32' ? Math.fround(x) : x)); // prettier-ignore
      const wanted = list.map((x) => converted(x, to));
      return [1, 2, 4, 8].map((lanes) => trial('cast', lanes, [from, to], [list], (x) => e.cast(to, x), wanted)); // prettier-ignore
    }),
  ),
  ...(['f32', 'f64'] as const).flatMap((from) => {
    const list = floats.map((x) => (from === 'f32' ? Math.fround(x) : x));
    const made = (to: Scalar) => (x: Expr) => e.cast(to, e.cast('bool', x));
    const truth = list.map((x) => Number(x !== 0));
    return [1, 4].flatMap((lanes) => [
      trial('truth', lanes, [from, 'i32'], [list], made('i32'), truth),
      trial('truth', lanes, [from, 'i64'], [list], made('i64'), truth),
      trial('truth', lanes, [from, 'f32'], [list], made('f32'), truth),
      trial('truth', lanes, [from, 'f64'], [list], made('f64'), truth),
    ]);
  }),
];

/** Every lane of a block becomes a sum of its first and last, and the number of its ends at which `a < b`. */
const blocks: readonly Trial[] = (['i32', 'i64'] as const).flatMap((kind) => {
  const left = integers[kind].slice(0, 16);
  const right = left.toReversed();
  return [2, 4, 8].flatMap((lanes) => {
    const ends = (list: readonly bigint[], at: number): readonly [bigint, bigint] => {
      const begin = at - (at % lanes);
      return [list[begin], list[begin + lanes - 1]];
    };
    const sums = left.map((_, at) => {
      const [first, last] = ends(left, at);
      return signed(widths[kind], first + last);
    });
    const counts = left.map((_, at) => {
      const [a, b] = [ends(left, at), ends(right, at)];
      return BigInt(a[0] < b[0]) + BigInt(a[1] < b[1]);
    });
    const both = (x: Expr): Expr =>
      e.add(e.cast(kind, e.extract(x, 0)), e.cast(kind, e.extract(x, lanes - 1)));
    return [
      trial('ends', lanes, [kind, kind], [left], (a) => both(a), sums),
      trial('endsBelow', lanes, [kind, kind], [left, right], (a, b) => both(e.lt(a, b)), counts),
    ];
  });
});

const trials = [...elementwise, ...blocks];

/** Room for any array of a trial. */
const room = 8 * Math.max(...trials.map(({ expected }) => expected.length));

const source = (() => {
  const { source: functions, nameOf } = moduleToC(e.moduleOf(trials.map(({ kernel }) => kernel)));
  const runs = trials.map(({ kernel, inputs, output, expected }) => {
    const reads = inputs.map(([kind, list], k) => {
      const bytes = bytesPer[kind] * list.length;
      return `if (fread(memory + ${k * room}, 1, ${bytes}, stdin) != ${bytes}) return 1;`;
    });
    const places = [...inputs, null].map((_, k) => k * room).join(', ');
    return `${reads.join(' ')} ${nameOf(kernel)}(memory, ${places}); fwrite(memory + ${inputs.length * room}, 1, ${bytesPer[output] * expected.length}, stdout);`;
  });
  return `#include <stdio.h>
${functions}
static uint8_t memory[${3 * room}];
int main(void) {
${runs.join('\n')}
  return 0;
}
`;
})();

/** Stops the program at signed overflow, shifts that are too wide and conversions out of range. */
const strict = ['-fsanitize=undefined,float-cast-overflow', '-fno-sanitize-recover=all', '-fno-sanitize=alignment']; // prettier-ignore

const shown = (x: Element): string => (Object.is(x, -0) ? '-0' : String(x));

describe('integers and conversions in C', () => {
  for (const compiler of compilers) {
    for (const flags of [
      ['-O1', ...strict],
      ['-O3', '-march=native'],
    ]) {
      it(`${compiler} ${flags[0]}: as integers without bounds, cut to size`, () => {
        const parts = trials.flatMap(({ inputs }) => inputs.map(([kind, list]) => bytesOf(kind, list))); // prettier-ignore
        const common = ['-std=gnu11', '-ffp-contract=off', '-fno-math-errno', '-w'];
        const found = compileAndRun(compiler, source, [...common, ...flags], Buffer.concat(parts));
        let at = 0;
        for (const { kernel, output, expected, inputs } of trials) {
          const bytes = found.slice(at, (at += bytesPer[output] * expected.length));
          const values = new arrays[output](new Uint8Array(bytes).buffer);
          const wanted = new arrays[output](bytesOf(output, expected).slice().buffer);
          assert.equal(values.length, wanted.length, kernel.name);
          for (let i = 0; i < wanted.length; i++) {
            const operands = inputs.map(([, list]) => shown(list[i])).join(', ');
            assert.ok(
              Object.is(values[i], wanted[i]),
              `${kernel.name}(${operands}) is ${shown(values[i])}, not ${shown(wanted[i])}`,
            );
          }
        }
        assert.equal(at, found.length);
      });
    }
  }
});
