import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleToC } from '../../../../src/codegen/c/index.js';
import * as e from '../../../../src/loop/language/build.js';
import { interpret } from '../../../../src/loop/interpret/interpret.js';
import type { Buffer as Memory, Expr, Kernel } from '../../../../src/loop/language/nodes.js';
import { optimize } from '../../../../src/loop/optimize/optimize.js';
import { avx2Target, avx512Target, neonTarget, relaxedWasmTarget, type Target } from '../../../../src/loop/language/target.js'; // prettier-ignore
import { contract } from '../../../../src/kernels/cpu/product/contract.js';
import type { Contraction } from '../../../../src/kernels/contraction/spec.js';
import { compileAndRun, compilers } from '../../../codegen/c/compiler.js';
import { type Layout, productOf, type ProductSizes, wholeNumber } from './definition.js';

type Scalar = Contraction['scalar'];

interface Problem extends ProductSizes {
  readonly target: Target;
  readonly scalar: Scalar;
}

const arrays = { f32: Float32Array, f64: Float64Array, i32: Int32Array } as const;
const storages = { float32: 'f32', float64: 'f64', int32: 'i32' } as const;

/** A kernel with the places of its buffers: `a`, `b`, the result, then temporary memory. */
interface Lowered {
  readonly problem: Problem;
  readonly kernel: Kernel;
  readonly addresses: readonly number[];
  readonly bytes: number;
}

function lower(problem: Problem, name: string): Lowered {
  const { target, scalar, batch, m, n, k } = problem;
  const [left, right, out] = ['a', 'b', 'out'].map((buffer) => e.buffer(buffer, scalar));
  const scratches: Memory[] = [];
  const elements = [batch * m * k, batch * k * n, batch * m * n];
  const element = (from: Memory, layout: Layout, at: Expr[], rows: number, columns: number) => {
    const [b, i, j] = at;
    const inner = layout === 'rows' ? e.add(e.mul(i, columns), j) : e.add(e.mul(j, rows), i);
    return e.load(from, e.add(e.mul(b, rows * columns), inner));
  };
  const body = contract({
    context: {
      target,
      isDivided: false,
      scratch: (scratch, dtype, length) => {
        assert.ok(length.kind === 'const', 'all sizes are known');
        elements.push(Number(length.value));
        scratches.push(e.buffer(scratch, storages[dtype as keyof typeof storages]));
        return scratches[scratches.length - 1];
      },
    },
    scalar,
    batch: e.i32(batch),
    m: e.i32(m),
    n: e.i32(n),
    k: e.i32(k),
    a: (b, i, kk) => element(left, problem.a, [b, i, kk], m, k),
    b: (b, kk, j) => element(right, problem.b, [b, kk, j], k, n),
    // What follows a product, stored once: the second time would add again.
    store: (b, i, j, value) => {
      const at = e.add(e.mul(e.add(e.mul(b, m), i), n), j);
      return e.store(out, at, e.add(e.load(out, at), value));
    },
  });
  const kernel = e.kernel(name, [left, right, out, ...scratches], body);
  let next = 64;
  const addresses = elements.map((count) => {
    const address = next;
    next += Math.ceil((count * e.scalarBytes(scalar)) / 64) * 64 + 64;
    return address;
  });
  return { problem, kernel: optimize(kernel, target), addresses, bytes: next };
}

function startOf({ problem, addresses, bytes }: Lowered): ArrayBuffer {
  const { scalar, batch, m, n, k } = problem;
  const memory = new ArrayBuffer(bytes);
  const view = (at: number, length: number) =>
    new arrays[scalar as keyof typeof arrays](memory, addresses[at], length);
  view(0, batch * m * k).forEach((_, at, all) => (all[at] = wholeNumber(at, 13)));
  view(1, batch * k * n).forEach((_, at, all) => (all[at] = wholeNumber(at, 17)));
  view(2, batch * m * n).forEach((_, at, all) => (all[at] = 1000));
  return memory;
}

function check({ problem, addresses }: Lowered, memory: ArrayBuffer): void {
  const { sums } = productOf(problem, wholeNumber);
  const { scalar, target } = problem;
  const found = new arrays[scalar as keyof typeof arrays](memory, addresses[2], sums.length);
  const what = JSON.stringify({ ...problem, target: target.name });
  assert.deepEqual(
    Array.from(found),
    Array.from(sums, (sum) => 1000 + sum),
    what,
  );
}

const allTargets = [avx512Target, avx2Target, neonTarget, relaxedWasmTarget];
const layouts: readonly (readonly [Layout, Layout])[] = [['rows', 'rows'], ['rows', 'columns'], ['columns', 'rows'], ['columns', 'columns']]; // prettier-ignore

/** Around the edges of tiles and vectors, primes, and nothing. */
const small = [
  [1, 1, 1], [0, 3, 2], [3, 0, 2], [6, 5, 0], [1, 17, 33], [4, 16, 16], [5, 31, 7], [7, 10, 3],
  [13, 33, 2], [15, 47, 5], [29, 20, 1], [17, 1, 9],
] as const; // prettier-ignore

function problemsOf(
  sizes: readonly (readonly [number, number, number])[],
  scalars: readonly Scalar[],
  batch: number,
  targets: readonly Target[] = allTargets,
): readonly Lowered[] {
  let count = 0;
  return targets.flatMap((target) =>
    layouts.flatMap(([a, b]) =>
      scalars.flatMap((scalar) =>
        sizes.map(([m, n, k]) =>
          lower({ target, scalar, batch, m, n, k, a, b }, `product_${count++}`),
        ),
      ),
    ),
  );
}

describe('products for every target', () => {
  it('by the definition of the loop IR', () => {
    for (const lowered of problemsOf(small, ['f32'], 1)) {
      const memory = startOf(lowered);
      interpret(e.moduleOf([lowered.kernel]), memory, lowered.kernel.name, lowered.addresses);
      check(lowered, memory);
    }
  });

  for (const compiler of compilers) {
    for (const [name, cases] of [
      ['edges', () => problemsOf([[29, 20, 3]], ['f32', 'f64', 'i32'], 2, [avx512Target])],
      ['narrower vectors', () => problemsOf([[15, 47, 5]], ['f32'], 1, [avx2Target, neonTarget])],
      ['several blocks', () => problemsOf([[70, 530, 1090]], ['f32'], 1, [avx512Target])],
      [
        'parts of the inner index',
        () =>
          problemsOf(
            [
              [33, 500, 700],
              [9, 400, 1100],
            ],
            ['f32'],
            1,
            [avx512Target],
          ),
      ],
    ] as const) {
      it(`${compiler}, ${name}`, () => {
        const lowered = cases();
        const { source, nameOf } = moduleToC(e.moduleOf(lowered.map(({ kernel }) => kernel)));
        const most = Math.max(...lowered.map(({ bytes }) => bytes));
        const calls = lowered.map(
          ({ kernel, addresses, bytes }) =>
            `if (fread(memory, 1, ${bytes}, stdin) != ${bytes}) return 1; ${nameOf(kernel)}(${['memory', ...addresses].join(', ')}); fwrite(memory, 1, ${bytes}, stdout);`,
        );
        const program = `#include <stdio.h>\n${source}\nstatic uint8_t memory[${most}];\nint main(void) {\n${calls.join('\n')}\nreturn 0;\n}\n`;
        const input = Buffer.concat(lowered.map((each) => Buffer.from(startOf(each))));
        const flags = ['-O1', '-ffp-contract=off', '-march=native', '-w'];
        const output = compileAndRun(compiler, program, flags, input);
        let at = output.byteOffset;
        for (const each of lowered) {
          check(each, output.buffer.slice(at, (at += each.bytes)) as ArrayBuffer);
        }
      });
    }
  }
});
