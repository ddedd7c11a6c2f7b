import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { c99, gnu, moduleToC } from '../../../src/codegen/c/index.js';
import * as e from '../../../src/loop/language/build.js';
import type { Expr, Kernel, Var } from '../../../src/loop/language/nodes.js';
import { compileAndRun, compilers } from './compiler.js';

type Float = 'f32' | 'f64';

const count = 16;
const floats = ['f32', 'f64'] as const;
const laneCounts: Readonly<Record<Float, readonly number[]>> = { f32: [1, 2, 4, 8, 16], f64: [1, 2, 4, 8] }; // prettier-ignore
const forms: Readonly<Record<string, (a: Expr, b: Expr, c: Var) => Expr>> = {
  accumulation: (a, b, c) => e.add(c, e.mul(a, b)),
  turned: (a, b, c) => e.add(e.mul(a, b), c),
  difference: (a, b, c) => e.sub(c, e.mul(a, b)),
  // Not assigned to what is added to.
  ordinary: (a, b) => e.add(a, e.mul(a, b)),
};

/**
 * `out[i] = f(a[i], b[i], c[i])`, some lanes at a time; buffers lie one after the other. Before that an
 * accumulation is stored, for which functions are compiled in a way of their own: it must not change the others.
 */
function kernelFor(scalar: Float, lanes: number, form: string): Kernel {
  const [a, b, c, out] = ['a', 'b', 'c', 'out'].map((name) => e.buffer(name, scalar));
  const [sum, before] = ['sum', 'before'].map((name) => e.variable(name, scalar, lanes));
  const body = e.forLoop(
    'i',
    0,
    count,
    (i) => {
      const at = lanes === 1 ? i : e.ramp(i, 1, lanes);
      return e.block(
        e.declare(before, e.load(c, at)),
        e.assign(before, forms.accumulation(e.load(a, at), e.load(b, at), before)),
        e.store(out, at, before),
        e.declare(sum, e.load(c, at)),
        e.assign(sum, forms[form](e.load(a, at), e.load(b, at), sum)),
        e.store(out, at, sum),
      );
    },
    { step: lanes },
  );
  return e.kernel(`${form}_${scalar}_${lanes}`, [a, b, c, out], body);
}

const kernels = floats.flatMap((scalar) =>
  laneCounts[scalar].flatMap((lanes) =>
    Object.keys(forms).map((form) => ({
      scalar,
      lanes,
      form,
      kernel: kernelFor(scalar, lanes, form),
    })),
  ),
);

/** Numbers whose products do not fit their type: 1 + x rounds, and so does its square. */
function operands(scalar: Float): readonly Float64Array[] {
  const step = scalar === 'f32' ? 2 ** -15 : 2 ** -40;
  return [3, 5].map((factor) => Float64Array.from({ length: count }, (_, i) => 1 + (factor * i + 1) * step)); // prettier-ignore
}

/** The value of `c` that leaves of a product what one rounding keeps and two lose. */
const minusRounded = (scalar: Float, x: number, y: number): number =>
  -(scalar === 'f32' ? Math.fround(x * y) : x * y);

const bytes = count * 8;

/** Runs every kernel on a memory of its own that stdin gives; writes its results. */
function run(compiler: string, flags: readonly string[], dialect = gnu): ArrayBuffer {
  const { source, nameOf } = moduleToC(e.moduleOf(kernels.map(({ kernel }) => kernel)), dialect);
  const calls = kernels.map(
    ({ kernel }) =>
      `if (fread(memory, 1, sizeof memory, stdin) != sizeof memory) return 1; ${nameOf(kernel)}(memory, 0, ${bytes}, ${2 * bytes}, ${3 * bytes}); fwrite(memory + ${3 * bytes}, 1, ${bytes}, stdout);`,
  );
  const program = `#include <stdio.h>\n${source}\nstatic uint8_t memory[${4 * bytes}];\nint main(void) {\n${calls.join('\n')}\nreturn 0;\n}\n`;
  const input = new Uint8Array(kernels.length * 4 * bytes);
  kernels.forEach(({ scalar }, at) => {
    const home = scalar === 'f32' ? Float32Array : Float64Array;
    const [x, y] = operands(scalar);
    [x, y, x.map((value, i) => minusRounded(scalar, value, y[i]))].forEach((values, part) =>
      new home(input.buffer, at * 4 * bytes + part * bytes, count).set(values),
    );
  });
  const output = compileAndRun(compiler, program, flags, input);
  return output.buffer.slice(output.byteOffset, output.byteOffset + output.byteLength) as ArrayBuffer; // prettier-ignore
}

const strict = ['-O2', '-ffp-contract=off', '-Wno-psabi'];

describe('accumulations in C', () => {
  for (const compiler of compilers) {
    for (const [name, flags, dialect] of [
      ['this processor', [...strict, '-march=native'], gnu],
      ['any processor', strict, gnu],
      ['C99', ['-std=c99', '-O2', '-ffp-contract=off', '-march=native'], c99],
    ] as const) {
      it(`${compiler}, ${name}: round once at most, and nothing else does`, () => {
        const found = run(compiler, flags, dialect);
        kernels.forEach(({ scalar, kernel, form }, at) => {
          const home = scalar === 'f32' ? Float32Array : Float64Array;
          const got = new home(found, at * bytes, count);
          const [x, y] = operands(scalar);
          const twice = Array.from(x, (value, i) => {
            const product = minusRounded(scalar, value, y[i]);
            if (form === 'difference') return 2 * product;
            return form === 'ordinary' ? Number(new home([value - product])[0]) : 0;
          });
          // Exactly what rounding has cut off of the products, in integers.
          const scale = scalar === 'f32' ? 2n ** 46n : 2n ** 104n;
          const integer = (value: number): bigint => {
            let [digits, power] = [value, 0n];
            while (!Number.isInteger(digits)) [digits, power] = [digits * 2, power + 1n];
            return (BigInt(digits) * scale) / 2n ** power;
          };
          const once = Array.from(x, (value, i) => {
            const exact = (integer(value) * integer(y[i])) / scale;
            return Number(exact + integer(minusRounded(scalar, value, y[i]))) / Number(scale);
          });
          const isAccumulation = form === 'accumulation' || form === 'turned';
          const allowed = isAccumulation ? [twice, once] : [twice];
          assert.ok(
            allowed.some((values) => values.every((value, i) => value === got[i])),
            `${kernel.name}: ${got.join()}`,
          );
        });
      });
    }
  }

  it('of vectors are in functions that GCC is told to keep sums in registers in, and nothing else is', () => {
    for (const dialect of [gnu, c99]) {
      for (const { lanes, kernel } of kernels) {
        const { source } = moduleToC(e.moduleOf([kernel]), dialect);
        assert.equal(/^k_sums static void/m.test(source), lanes > 1 && dialect === gnu);
      }
    }
  });

  it('need a compiler to be tried', (test) => {
    if (compilers.length === 0) test.skip('there is no C compiler here');
    assert.ok(kernels.length > 0);
  });
});
