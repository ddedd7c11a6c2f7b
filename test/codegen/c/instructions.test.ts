import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleToC } from '../../../src/codegen/c/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Kernel } from '../../../src/loop/language/nodes.js';
import { compileAndRun, compilers } from './compiler.js';

type Float = 'f32' | 'f64';

/** Every pair of these is tried: zeros of both signs, halves, what has no fraction, and what is no number. */
const numbers = [
  0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3.75, -3.75, 8388607.5, -8388609,
  2 ** 40, -(2 ** 40), 1e-40, 3, 7, -7, Infinity, -Infinity, NaN, 2,
]; // prettier-ignore
const count = numbers.length ** 2;
const lanesOf: Readonly<Record<Float, readonly number[]>> = { f32: [4, 8, 16], f64: [2, 4, 8] };

/** To the nearest whole number, of two to the even one; zeros keep the sign. */
function nearest(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest === 0 || Number.isNaN(rest)) return x;
  const isUp = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  const whole = isUp ? below + 1 : below;
  return whole === 0 && x < 0 ? -0 : whole;
}

interface Form {
  readonly made: (a: Expr, b: Expr) => Expr;
  readonly expected: (a: number, b: number) => number;
}

const forms: Readonly<Record<string, Form>> = {
  min: { made: e.min, expected: Math.min },
  max: { made: e.max, expected: Math.max },
  atMost: { made: (a) => e.min(a, 2.5), expected: (a) => Math.min(a, 2.5) },
  atLeast: { made: (a) => e.max(a, -1), expected: (a) => Math.max(a, -1) },
  positive: { made: (a) => e.max(a, 0), expected: (a) => Math.max(a, 0) },
  nearest: { made: e.nearest, expected: nearest },
  floor: { made: e.floor, expected: Math.floor },
  ceil: { made: e.ceil, expected: Math.ceil },
  trunc: { made: e.trunc, expected: Math.trunc },
  sqrt: { made: e.sqrt, expected: Math.sqrt },
  whereEqual: { made: (a, b) => e.select(e.eq(a, b), a, 9), expected: (a, b) => (a === b ? a : 9) },
  whereOther: { made: (a, b) => e.select(e.ne(a, b), a, 9), expected: (a, b) => (a !== b ? a : 9) },
  whereLess: { made: (a, b) => e.select(e.lt(a, b), a, b), expected: (a, b) => (a < b ? a : b) },
  whereNoMore: { made: (a, b) => e.select(e.le(a, b), a, b), expected: (a, b) => (a <= b ? a : b) },
  whereMore: { made: (a, b) => e.select(e.gt(a, b), a, b), expected: (a, b) => (a > b ? a : b) },
  whereNoLess: { made: (a, b) => e.select(e.ge(a, b), a, b), expected: (a, b) => (a >= b ? a : b) },
  // Signs are compared as integers, which are as wide as the floats.
  whereSigned: {
    made: (a, b) => {
      const bits = a.type.scalar === 'f32' ? 'i32' : 'i64';
      return e.select(e.lt(e.bitcast(bits, a), e.constant(bits, bits === 'i32' ? 0 : 0n)), b, 5);
    },
    expected: (a, b) => (Object.is(a, -0) || a < 0 ? b : 5),
  },
};

/** `out[i] = form(a[i], b[i])`, some lanes at a time. */
function kernelFor(name: string, scalar: Float, lanes: number): Kernel {
  const [a, b, out] = ['a', 'b', 'out'].map((each) => e.buffer(each, scalar));
  const body = e.forLoop(
    'i',
    0,
    count,
    (i) => {
      const at = e.ramp(i, 1, lanes);
      const made = forms[name].made(e.load(a, at), e.load(b, at));
      return e.store(out, at, e.broadcast(made, lanes));
    },
    { step: lanes },
  );
  return e.kernel(`${name}_${scalar}_${lanes}`, [a, b, out], body);
}

const floats = ['f32', 'f64'] as const;
const tried = floats.flatMap((scalar) =>
  lanesOf[scalar].flatMap((lanes) =>
    Object.keys(forms).map((name) => ({ scalar, name, kernel: kernelFor(name, scalar, lanes) })),
  ),
);

const arrayOf = (scalar: Float, list: readonly number[]): Float32Array | Float64Array =>
  scalar === 'f32' ? Float32Array.from(list) : Float64Array.from(list);

const left = numbers.flatMap((x) => numbers.map(() => x));
const right = numbers.flatMap(() => numbers);
const bytesEach = 8 * count;

const source = (() => {
  const { source: functions, nameOf } = moduleToC(e.moduleOf(tried.map(({ kernel }) => kernel)));
  const runs = tried.map(({ kernel, scalar }) => {
    const [a, b] = scalar === 'f32' ? [0, 1] : [2, 3];
    const places = [a, b, 4].map((at) => at * bytesEach).join(', ');
    return `${nameOf(kernel)}(memory, ${places}); fwrite(memory + ${4 * bytesEach}, 1, ${bytesEach}, stdout);`;
  });
  return `#include <stdio.h>
${functions}
static uint8_t memory[${5 * bytesEach}];
int main(void) {
  if (fread(memory, 1, ${4 * bytesEach}, stdin) != ${4 * bytesEach}) return 1;
${runs.join('\n')}
  return 0;
}
`;
})();

const shown = (x: number): string => (Object.is(x, -0) ? '-0' : String(x));

describe('operations on whole vectors in C', () => {
  it('are instructions of the processor where it has them, for registers of its width', () => {
    const text = (name: string, scalar: Float, lanes: number): string =>
      moduleToC(e.moduleOf([kernelFor(name, scalar, lanes)])).source;
    for (const name of ['floor', 'ceil', 'trunc', 'nearest']) {
      assert.match(text(name, 'f32', 8), /_mm256_round_ps/);
      assert.match(text(name, 'f64', 4), /_mm256_round_pd/);
    }
    for (const name of ['min', 'max']) {
      assert.match(text(name, 'f32', 16), /_mm512_range_ps/);
      assert.match(text(name, 'f64', 8), /_mm512_range_pd/);
      assert.match(text(name, 'f32', 4), new RegExp(`v${name}q_f32`));
      assert.match(text(name, 'f64', 2), new RegExp(`v${name}q_f64`));
    }
  });

  for (const compiler of compilers) {
    for (const processor of ['native', 'x86-64-v3', 'x86-64']) {
      if (processor !== 'native' && process.arch !== 'x64') continue;
      it(`${compiler} for ${processor}: keep NaN, signs of zeros and halves`, () => {
        const input = new Uint8Array(4 * bytesEach);
        for (const [k, list] of [left, right].entries()) {
          for (const [s, scalar] of floats.entries()) {
            input.set(new Uint8Array(arrayOf(scalar, list).buffer), (2 * s + k) * bytesEach);
          }
        }
        const flags = ['-std=gnu11', '-O3', `-march=${processor}`, '-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math', '-w']; // prettier-ignore
        const output = new Uint8Array(compileAndRun(compiler, source, flags, input));
        assert.equal(output.length, tried.length * bytesEach);
        for (const [at, { scalar, name, kernel }] of tried.entries()) {
          const bytes = output.slice(at * bytesEach, (at + 1) * bytesEach).buffer;
          const found = scalar === 'f32' ? new Float32Array(bytes, 0, count) : new Float64Array(bytes); // prettier-ignore
          const [a, b] = [arrayOf(scalar, left), arrayOf(scalar, right)];
          const expected = arrayOf(
            scalar,
            [...a].map((x, i) => forms[name].expected(x, b[i])),
          );
          for (let i = 0; i < count; i++) {
            // The sign of NaN is nobody's business.
            if (name === 'whereSigned' && Number.isNaN(a[i])) continue;
            assert.ok(
              Object.is(found[i], expected[i]),
              `${kernel.name}(${shown(a[i])}, ${shown(b[i])}) is ${shown(found[i])}, not ${shown(expected[i])}`,
            );
          }
        }
      });
    }
  }
});
