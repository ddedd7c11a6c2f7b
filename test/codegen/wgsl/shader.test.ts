import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { fromFloat16Bits } from '../../../src/base/element.js';
import { UnsupportedError } from '../../../src/base/errors.js';
import { shaderOf } from '../../../src/codegen/wgsl/index.js';
import type { ShaderFeatures } from '../../../src/codegen/wgsl/shader.js';
import * as e from '../../../src/loop/language/build.js';
import { fastTwoSum } from '../../../src/loop/language/compensation.js';
import type { BinaryOp, ElementKind, Expr, Kernel, Scalar, Stmt, UnaryOp } from '../../../src/loop/language/nodes.js'; // prettier-ignore
import { overGridOfVectors } from '../../../src/loop/language/team.js';
import { loadElement, storeElement } from '../../../src/ops/elements.js';
import { interpreted, KernelsOnGpu } from '../../support/gpu-kernels.js';
import { gpuForTests } from '../../support/webgpu.js';

const gpu = await gpuForTests();
const skip = typeof gpu === 'string' ? gpu : false;
const runner = typeof gpu === 'string' ? null : new KernelsOnGpu(gpu);
after(() => {
  if (typeof gpu !== 'string') gpu.close();
});

const usual: ShaderFeatures = {
  maxWorkgroupInvocations: 256,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 8,
};

/** A range over all of `n` elements, in steps of so many. */
function each(n: Expr, step: number, body: (at: Expr) => Stmt): Stmt {
  return e.parallel(0, n, step, (from, to) => e.forLoop('i', from, to, body));
}

const n = e.variable('n', 'i32');
const sizes = [0, 1, 2, 63, 64, 65, 255, 256, 257];

/** `out[i] = f(a[i], b[i])`. */
function pointKernel(
  scalar: 'f32' | 'f64' | 'i32' | 'i64',
  made: 'f32' | 'f64' | 'i32' | 'i64',
  f: (a: Expr, b: Expr) => Expr,
): Kernel {
  // prettier-ignore
  const [out, a, b] = [e.buffer('out', made), e.buffer('a', scalar), e.buffer('b', scalar)];
  const body = each(n, 1, (i) => e.store(out, i, f(e.load(a, i), e.load(b, i))));
  return e.kernel('point', [out, a, b, n], body);
}

/** The same, of four neighbors at once. */
function vectorKernel(...[scalar, made, f]: Parameters<typeof pointKernel>): Kernel {
  const [out, a, b] = [e.buffer('out', made), e.buffer('a', scalar), e.buffer('b', scalar)];
  const body = overGridOfVectors([n], ([i]) => e.store(out, i, f(e.load(a, i), e.load(b, i))));
  return e.kernel('point', [out, a, b, n], body);
}

const floats = [
  0, -0, 1, -1, NaN, Infinity, -Infinity, 0.5, 1.5, 2.5, -0.5, -1.5, 3e38, -3e38, 7, 1e-30, 2 ** 31, -(2 ** 31), 2 ** 33, 16777217, 1e19,
]; // prettier-ignore
const integers = [0, 1, -1, 2, -2, 7, -8, 31, 32, 33, 2 ** 31 - 1, -(2 ** 31), 65535, 65536, 255];
const wide = [
  0n, 1n, -1n, 2n, 31n, 32n, 33n, 63n, 64n, -5n, 1n << 31n, 1n << 32n, (1n << 32n) - 1n, (1n << 63n) - 1n, -(1n << 63n), 0x123456789abcdefn,
  (1n << 24n) + 1n, (1n << 40n) + (1n << 16n), (1n << 40n) + (1n << 16n) + 1n, (1n << 40n) + 3n * (1n << 16n), -(1n << 62n) - 12345678901n,
]; // prettier-ignore

/** Every pair of two elements. */
function pairs<T>(all: readonly T[]): readonly [readonly T[], readonly T[]] {
  return [all.flatMap((x) => all.map(() => x)), all.flatMap(() => all)];
}

const doubles = [
  ...floats, 1e-300, 2.2250738585072014e-308, 1e308, -1.7976931348623157e308, 1 / 3, -1e-45, 1e-46, 3.4028235677973366e38, 3.402823669e38,
  4503599627370495.5, 2 ** 53 + 2, 2 ** 51 + 0.5, -(2 ** 51) - 1.5, 0.1, 1 + 2 ** -52, 1 + 2 ** -24, 1 + 3 * 2 ** -24, 2 ** 63, 2 ** 63 - 1024, -2147483649,
]; // prettier-ignore
const arrayOf = {
  f64: (of: readonly (number | bigint)[]) => Float64Array.from(of as readonly number[]),
  f32: (of: readonly (number | bigint)[]) => Float32Array.from(of as readonly number[]),
  i32: (of: readonly (number | bigint)[]) => Int32Array.from(of as readonly number[]),
  i64: (of: readonly (number | bigint)[]) => BigInt64Array.from(of as readonly bigint[]),
};
const valuesOf = { f32: floats, f64: doubles, i32: integers, i64: wide };

async function compare(
  kernel: Kernel,
  args: Parameters<typeof interpreted>[1],
  what: string,
): Promise<void> {
  // prettier-ignore
  const found = await runner!.run(kernel, args);
  const given = args.filter((arg) => typeof arg === 'object' && !('privateBytes' in arg));
  interpreted(kernel, args).forEach((expected, which) => {
    expected.forEach((element, k) => {
      const actual = found[which][k];
      // GPUs may take numbers that are subnormal for 0.
      const isFloat = expected instanceof Float32Array || expected instanceof Float64Array;
      const least = expected instanceof Float32Array ? 2 ** -126 : 2 ** -1022;
      if (isFloat && Math.abs(Number(element)) < least && Number(actual) === 0) return;
      if (Object.is(actual, element)) return;
      const operands = given.map((array) => String((array as Float32Array)[k])).join(', ');
      assert.fail(`${what}: array ${which} has ${actual}, not ${element}, at ${k}: ${operands}`);
    });
  });
}

async function comparePairs(
  scalar: 'f32' | 'f64' | 'i32' | 'i64',
  made: 'f32' | 'f64' | 'i32' | 'i64',
  what: string,
  f: (a: Expr, b: Expr) => Expr,
  isAllowed: (a: number | bigint, b: number | bigint) => boolean = () => true,
): Promise<void> {
  const [left, right] = pairs<number | bigint>(valuesOf[scalar]);
  const kept = left.map((_, k) => k).filter((k) => isAllowed(left[k], right[k]));
  const [a, b] = [left, right].map((all) => arrayOf[scalar](kept.map((k) => all[k])));
  const out = arrayOf[made](kept.map(() => (made === 'i64' ? 0n : 0)));
  await compare(pointKernel(scalar, made, f), [out, a, b, kept.length], what);
  const isWide = [scalar, made].some((each) => each === 'f64' || each === 'i64');
  if (isWide) return;
  const count = kept.length - (kept.length % 4);
  await compare(vectorKernel(scalar, made, f), [out, a, b, count], `${what}, in vectors`);
}

/** Unary operations that are defined for every float. */
const roundings = ['neg', 'abs', 'floor', 'ceil', 'trunc', 'nearest'] as const satisfies readonly UnaryOp[]; // prettier-ignore
const comparisons: readonly BinaryOp[] = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'];

describe('kernels as WGSL', () => {
  it('compute operations on floats as IEEE 754 says', { skip }, async () => {
    for (const op of ['add', 'sub', 'mul', 'div', 'min', 'max'] as const) {
      await comparePairs('f32', 'f32', op, (a, b) => e.binary(op, a, b));
    }
    for (const op of comparisons) {
      await comparePairs('f32', 'i32', op, (a, b) => e.cast('i32', e.binary(op, a, b)));
      await comparePairs('f32', 'i32', `not ${op}`, (a, b) => e.cast('i32', e.not(e.binary(op, a, b)))); // prettier-ignore
      await comparePairs('f32', 'f32', `select ${op}`, (a, b) => e.select(e.binary(op, a, b), a, b)); // prettier-ignore
      await comparePairs('f32', 'f32', `select ${op}, turned`, (a, b) => e.select(e.binary(op, a, b), b, a)); // prettier-ignore
    }
    for (const op of roundings) {
      await comparePairs('f32', 'f32', op, (a) => e.unary(op, a));
    }
    await comparePairs('f32', 'f32', 'sqrt', (a) => e.sqrt(e.abs(a)));
  });

  it('widen and narrow every float16', { skip }, async () => {
    const all = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);
    const floatsOf = Float32Array.from(all, fromFloat16Bits);
    const [wide, narrow] = [e.buffer('wide', 'f32'), e.buffer('narrow', 'u16')];
    const widen = e.kernel(
      'widen',
      [wide, narrow, n],
      overGridOfVectors([n], ([i]) => e.store(wide, i, loadElement('float16', narrow, i))),
    );
    const [found] = await runner!.run(widen, [new Float32Array(2 ** 16), all, 2 ** 16]);
    const wrong = [...all].filter((half) => !Object.is(found[half], floatsOf[half]));
    assert.deepEqual(wrong, []);
    const back = e.kernel(
      'back',
      [narrow, wide, n],
      overGridOfVectors([n], ([i]) => storeElement('float16', narrow, i, e.load(wide, i))),
    );
    const [bits] = await runner!.run(back, [new Uint16Array(2 ** 16), floatsOf, 2 ** 16]);
    // All NaN are one.
    assert.deepEqual(bits, all.map((half) => ((half & 0x7fff) > 0x7c00 ? 0x7e00 : half))); // prettier-ignore
  });

  it('compute float64 as IEEE 754 says', { skip }, async () => {
    for (const op of ['add', 'sub', 'mul', 'div', 'min', 'max'] as const) {
      await comparePairs('f64', 'f64', op, (a, b) => e.binary(op, a, b));
    }
    for (const op of comparisons) {
      await comparePairs('f64', 'i32', op, (a, b) => e.cast('i32', e.binary(op, a, b)));
    }
    for (const op of [...roundings, 'sqrt'] as const) {
      await comparePairs('f64', 'f64', op, (a) => e.unary(op, a));
    }
    await comparePairs('f64', 'f64', 'a constant', (a) => e.add(a, Math.PI));
    await comparePairs('f64', 'i64', 'bits', (a) => e.bitcast('i64', e.select(e.eq(a, a), a, 0)));
  });

  it('keep what drivers take for real numbers', { skip }, async () => {
    const big = e.constant('f32', 12582912);
    const laws: Readonly<Record<string, (a: Expr, b: Expr) => Expr>> = {
      'a != a': (a) => e.cast('f32', e.ne(a, a)),
      'a == a': (a) => e.cast('f32', e.eq(a, a)),
      'a - a': (a) => e.sub(a, a),
      'a / a': (a) => e.div(a, a),
      'a * 0': (a) => e.mul(a, 0),
      'a + 0': (a) => e.add(a, 0),
      '0 / a': (a) => e.div(e.constant('f32', 0), a),
      '(a + c) - c': (a) => e.sub(e.add(a, big), big),
      '(a + b) - a': (a, b) => e.sub(e.add(a, b), a),
      'a * c + b * c': (a, b) => e.add(e.mul(a, 0.25), e.mul(b, 0.25)),
      '(a * b) * c': (a, b) => e.mul(e.mul(a, b), 0.017453292519943295),
      '(a * c) * d': (a) => e.mul(e.mul(a, 2 ** 100), 2 ** 100),
      'the error of a sum': (a, b) => fastTwoSum(a, b).error,
      NaN: () => e.constant('f32', NaN),
      'an infinity': (a) => e.add(a, e.constant('f32', -Infinity)),
      '-0': () => e.constant('f32', -0),
    };
    for (const [name, law] of Object.entries(laws)) await comparePairs('f32', 'f32', name, law);
  });

  it('begin sums with 0', { skip }, async () => {
    const [out, from] = [e.buffer('out', 'f32'), e.buffer('from', 'f32')];
    const sum = e.variable('sum', 'f32');
    const body = each(n, 1, (i) =>
      e.block(
        e.declare(sum, e.constant('f32', 0)),
        e.forLoop('k', 0, 1, () => e.assign(sum, e.add(sum, e.load(from, i)))),
        e.store(out, i, sum),
      ),
    );
    const kernel = e.kernel('sums', [out, from, n], body);
    await compare(kernel, [new Float32Array(2), Float32Array.of(-0, 0), 2], 'a sum of one term');
  });

  it('compute integers as the loop IR does', { skip }, async () => {
    const bits: readonly BinaryOp[] = ['and', 'or', 'xor', 'shl', 'shr', 'shrU', 'add', 'sub', 'mul', 'min', 'max']; // prettier-ignore
    const divides = (a: number | bigint, b: number | bigint): boolean =>
      Number(b) !== 0 && !(Number(b) === -1 && (a === -(2 ** 31) || a === -(1n << 63n)));
    for (const scalar of ['i32', 'i64'] as const) {
      for (const op of bits) await comparePairs(scalar, scalar, `${op} of ${scalar}`, (a, b) => e.binary(op, a, b)); // prettier-ignore
      for (const op of ['div', 'rem'] as const) {
        await comparePairs(scalar, scalar, `${op} of ${scalar}`, (a, b) => e.binary(op, a, b), divides); // prettier-ignore
      }
      for (const op of comparisons) {
        await comparePairs(scalar, 'i32', `${op} of ${scalar}`, (a, b) => e.cast('i32', e.binary(op, a, b))); // prettier-ignore
      }
      for (const op of ['neg', 'abs', 'not'] as const) {
        await comparePairs(scalar, scalar, `${op} of ${scalar}`, (a) => e.unary(op, a));
      }
      for (const value of [5, 31, 32, 33, -1]) {
        await comparePairs(scalar, scalar, `shifts by ${value}`, (a) => e.xor(e.shl(a, value), e.shrU(a, value))); // prettier-ignore
      }
    }
  });

  it('cast as the loop IR does', { skip }, async () => {
    const scalars = ['f32', 'f64', 'i32', 'i64'] as const;
    for (const from of scalars) {
      for (const to of scalars) {
        if (from !== to) await comparePairs(from, to, `${from} to ${to}`, (a) => e.cast(to, a));
      }
      await comparePairs(from, 'i32', `${from} to bool`, (a) => e.cast('i32', e.cast('bool', a)));
    }
    await comparePairs('i32', 'f32', 'bits', (a) => e.bitcast('f32', e.or(a, 1 << 23)));
    await comparePairs('f32', 'i32', 'bits', (a) => e.bitcast('i32', e.select(e.eq(a, a), a, 0)));
  });

  it('store parts of words beside one another', { skip }, async () => {
    for (const storage of ['u8', 'i8', 'u16'] as const) {
      const [out, from] = [e.buffer('out', storage), e.buffer('from', storage)];
      const kernel = e.kernel(
        'narrow',
        [out, from, n],
        each(n, 1, (i) => e.store(out, i, e.add(e.mul(e.load(from, i), 3), i))),
      );
      const made = (values: readonly number[]): Uint8Array | Int8Array | Uint16Array => {
        if (storage === 'u16') return Uint16Array.from(values);
        return storage === 'u8' ? Uint8Array.from(values) : Int8Array.from(values);
      };
      for (const size of sizes) {
        const given = Array.from({ length: size + 3 }, (_, k) => k * 37);
        const before = given.map(() => 5);
        await compare(kernel, [made(before), made(given), size], `${storage}, ${size}`);
      }
    }
  });

  it('read and store vectors', { skip }, async () => {
    const made = { u8: Uint8Array, i8: Int8Array, u16: Uint16Array, i32: Int32Array, f32: Float32Array }; // prettier-ignore
    const places: Readonly<
      Record<string, readonly [from: (i: Expr) => Expr, to: (i: Expr) => Expr]>
    > = {
      neighbors: [(i) => i, (i) => i],
      'neighbors from elsewhere': [(i) => e.add(i, 3), (i) => i],
      'neighbors to elsewhere': [(i) => i, (i) => e.add(i, 1)],
      'elements apart': [(i) => e.mul(i, 2), (i) => e.sub(e.mul(n, 2), e.mul(i, 2))],
      'one element': [() => e.i32(5), (i) => i],
      'elements anywhere': [(i) => e.rem(e.mul(i, 7), 11), (i) => e.xor(i, 5)],
    };
    for (const [storage, Elements] of Object.entries(made) as [ElementKind, typeof Int32Array][]) {
      for (const [name, [from, to]] of Object.entries(places)) {
        const [out, a] = [e.buffer('out', storage), e.buffer('in', storage)];
        const body = overGridOfVectors([n], ([i]) => {
          const value = e.load(a, from(i));
          return e.store(out, to(i), e.add(value, value));
        });
        const kernel = e.kernel('vectors', [out, a, n], body);
        for (const offset of [0, 1, 4]) {
          runner!.offset = offset;
          const given = Elements.from({ length: 600 }, (_, k) => (k * 37) % 101);
          const before = Elements.from({ length: 600 }, () => 9);
          await compare(kernel, [before, given, 264], `${name} of ${storage}, ${offset} elements behind the beginning`); // prettier-ignore
        }
        runner!.offset = 0;
      }
    }
  });

  it('divide ranges of any length and step among their invocations', { skip }, async () => {
    for (const step of [1, 4, 64]) {
      const out = e.buffer('out', 'i32');
      // In each stretch, the number of the stretch's first element.
      const body = e.parallel(1, n, step, (from, to) =>
        e.forLoop('i', from, to, (i) => e.store(out, i, e.add(e.mul(from, 1000), e.sub(i, from)))),
      );
      const kernel = e.kernel('stretches', [out, n], body);
      for (const size of sizes) {
        const shader = shaderOf(kernel, { memories: [0], isAligned: true }, usual);
        const found = shader.workgroups([undefined, size], 1000);
        assert.equal(found, Math.max(1, Math.ceil(Math.ceil((size - 1) / step) / 64)));
        if (runner === null) continue;
        const [many] = await runner.run(kernel, [new Int32Array(300), size]);
        runner.mostGroups = 1;
        const [one] = await runner.run(kernel, [new Int32Array(300), size]);
        runner.mostGroups = Infinity;
        const expected = new Int32Array(300);
        for (let i = 1; i < size; i++) {
          const from = 1 + Math.floor((i - 1) / step) * step;
          expected[i] = from * 1000 + (i - from);
        }
        assert.deepEqual(many, expected);
        assert.deepEqual(one, expected);
      }
    }
  });

  it('have memory for each invocation, and loops and branches of all kinds', { skip }, async () => {
    const [out, a, own] = [
      e.buffer('out', 'f32'),
      e.buffer('in', 'f32'),
      e.buffer('own', 'f32', { isPrivate: true }),
    ];
    const count = e.variable('if', 'i32'); // names are those of the loop IR, not of WGSL
    const body = each(n, 1, (i) =>
      e.block(
        e.forLoop('var', 0, 5, (k) => e.store(own, k, e.mul(e.load(a, i), e.cast('f32', k)))),
        e.declare(count, e.i32(0)),
        e.whileLoop(
          e.lt(e.load(own, count), 100),
          e.block(
            e.assign(count, e.add(count, 1)),
            e.ifThen(e.ge(count, 4), e.store(own, count, e.constant('f32', 1000))),
          ),
        ),
        e.store(out, i, e.add(e.cast('f32', count), e.load(own, 2))),
      ),
    );
    const kernel = e.kernel('loops', [out, a, own, n], body);
    for (const size of sizes) {
      const given = Float32Array.from({ length: size }, (_, k) => k * 1.5);
      await compare(kernel, [new Float32Array(size), given, { privateBytes: 20 }, size], `${size}`);
    }
  });

  it('take numbers of all kinds', { skip }, async () => {
    const out = e.buffer('out', 'f32');
    const scalars: readonly Scalar[] = ['f32', 'i64', 'bool', 'f64', 'i32'];
    const numbers = scalars.map((scalar) => e.variable(scalar, scalar));
    const sum = numbers.map((x) => e.cast('f32', x)).reduce((a, b) => e.add(a, b));
    const kernel = e.kernel('numbers', [out, ...numbers], e.store(out, 0, sum));
    await compare(kernel, [new Float32Array(1), 0.5, -(2 ** 40), 1, 0.25, -3], 'numbers');
  });

  it('refuse too many buffers', () => {
    const of = (kernel: Kernel, memories: readonly number[]) => () => shaderOf(kernel, { memories, isAligned: true }, usual); // prettier-ignore
    const many = Array.from({ length: 9 }, (_, k) => e.buffer(`b${k}`, 'f32'));
    const kernel = e.kernel('k', many, e.block());
    assert.throws(of(kernel, many.map((_, k) => k)), UnsupportedError); // prettier-ignore
    assert.equal(shaderOf(kernel, { memories: many.map(() => 0), isAligned: true }, usual).bindings.length, 1); // prettier-ignore
  });
});
