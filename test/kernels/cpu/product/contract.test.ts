import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instantiateModule, reservedBytes } from '../../../../src/codegen/wasm/index.js';
import * as e from '../../../../src/loop/language/build.js';
import type { Buffer, Expr, Stmt, Var } from '../../../../src/loop/language/nodes.js';
import {
  relaxedWasmTarget,
  type Target,
  wasmTarget,
} from '../../../../src/loop/language/target.js';
import { optimize } from '../../../../src/loop/optimize/optimize.js';
import { contract } from '../../../../src/kernels/cpu/product/contract.js';
import { contractDirect } from '../../../../src/kernels/cpu/gemm/direct.js';
import { contractDot } from '../../../../src/kernels/cpu/gemm/dot.js';
import { contractPacked } from '../../../../src/kernels/cpu/gemm/packed.js';
import type { Contraction } from '../../../../src/kernels/contraction/spec.js';
import { scalarDTypes } from '../../../../src/ops/elements.js';
import { roomForPanels } from '../../../../src/kernels/cpu/gemm/right.js';
import {
  type PackedAllocator,
  type PackedMemory,
  packedStates,
} from '../../../../src/ops/declare/lowering.js';
import { contractStreaming } from '../../../../src/kernels/cpu/gemm/streaming.js';
import { crossed } from '../../../support/settings.js';
import {
  type Layout,
  type Product,
  productOf,
  type ProductSizes,
  wholeNumber,
} from './definition.js';

type Scalar = Contraction['scalar'];

interface Problem extends ProductSizes {
  readonly scalar: Scalar;
  /** Whether the kernel learns the extents only when it runs. */
  readonly symbolic: boolean;
  /** Whether operands are wrong where lanes begin elsewhere than at a multiple of their number. */
  readonly isAligned?: boolean;
  /** Whether what is kept of `b` is kept in every run. */
  readonly isCertain?: boolean;
  /** Elements; small whole numbers by default, so that every order of summation gives the same float. */
  readonly sample?: (at: number, spread: number) => number;
  /** How far sums may be off, relative to themselves; not at all by default. */
  readonly within?: number;
}

const arrays = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  i64: BigInt64Array,
} as const;
const storages = { float32: 'f32', float64: 'f64', int32: 'i32', int64: 'i64' } as const;

type Method = (spec: Contraction) => Stmt;

/** Multiplies with the loops for either kind of WebAssembly. */
function multiplies(problem: Problem, method: Method = contract): void {
  const product = productOfProblem(problem);
  for (const target of [wasmTarget, relaxedWasmTarget]) {
    multipliesFor(target, problem, method, product);
  }
}

function productOfProblem(problem: Problem): Product {
  const product = productOf(problem, problem.sample ?? wholeNumber);
  const { x, y, sums } = product;
  return problem.scalar === 'f32' ? { x, y, sums: sums.map(Math.fround) } : product;
}

let last = new WebAssembly.Memory({ initial: 16 });

/** Memory of so many bytes, with what the product before left there: new memory each time keeps the collector busy. */
function memoryOf(bytes: number): WebAssembly.Memory {
  if (last.buffer.byteLength < bytes) {
    last = new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) });
  }
  return last;
}

/** Multiplies in WebAssembly; the sums must be those of the definition, and stored once each. */
function multipliesFor(target: Target, problem: Problem, method: Method, product: Product): void {
  const { batch, m, n, k, scalar, symbolic, within = 0 } = problem;
  const [left, right, out, counts] = ['a', 'b', 'out'].map((name) => e.buffer(name, scalar)).concat(e.buffer('counts', 'i32')); // prettier-ignore
  const scratches: { buffer: Buffer; length: Expr }[] = [];
  const state = e.variable('state', 'i32');
  let kept: PackedMemory | null = null;
  const sizes = new Map<Var, number>();
  const size = (name: string, value: number): Expr => {
    if (!symbolic) return e.i32(value);
    const parameter = e.variable(name, 'i32');
    sizes.set(parameter, value);
    return parameter;
  };
  const [bigM, bigN, bigK] = [size('m', m), size('n', n), size('k', k)];
  const aligned = (index: Expr): Expr => {
    if (problem.isAligned !== true || index.kind !== 'ramp') return index;
    const { lanes } = index.type;
    return e.ramp(e.mul(e.div(index.base, lanes), lanes), 1, lanes);
  };
  const element = (from: Buffer, layout: Layout, places: Expr[], [rows, columns]: Expr[]) => {
    const [b, i, j] = places.map(aligned);
    const base = e.mul(b, e.mul(rows, columns));
    const at = layout === 'rows' ? e.add(e.mul(i, columns), j) : e.add(e.mul(j, rows), i);
    return e.load(from, e.add(base, at));
  };
  const body = method({
    context: {
      target,
      isDivided: false,
      scratch: (name, dtype, length) => {
        const buffer = e.buffer(name, storages[dtype as keyof typeof storages]);
        scratches.push({ buffer, length });
        return buffer;
      },
    },
    scalar,
    rightKeeper: {
      isCertain: problem.isCertain === true,
      keep: (name, _, room) => {
        const buffer = e.buffer(name, scalar);
        scratches.push({ buffer, length: e.i32(room.whole) });
        return (kept = { buffer, state, isCertain: problem.isCertain === true });
      },
    },
    batch: size('batch', batch),
    m: bigM,
    n: bigN,
    k: bigK,
    a: (b, i, kk) => element(left, problem.a, [b, i, kk], [bigM, bigK]),
    b: (b, kk, j) => element(right, problem.b, [b, kk, j], [bigK, bigN]),
    store: (b, i, j, value) => {
      const at = e.add(e.mul(e.add(e.mul(b, bigM), i), bigN), j);
      return e.block(
        e.store(out, at, value),
        e.store(counts, at, e.add(e.load(counts, at), e.constant('i32', 1, at.type.lanes))),
      );
    },
  });
  const elementBytes = e.scalarBytes(scalar);
  const lengths = [
    batch * m * k * elementBytes,
    batch * k * n * elementBytes,
    batch * m * n * elementBytes,
    batch * m * n * 4,
    ...scratches.map(
      ({ buffer, length }) => valueOf(length, sizes) * e.storageBytes(buffer.storage),
    ),
  ];
  const addresses: number[] = [];
  let next = reservedBytes;
  for (const length of lengths) {
    addresses.push(next);
    next += Math.ceil(length / 16) * 16 + 16;
  }
  const memory = memoryOf(next);
  const view = (at: number, length: number) =>
    new (arrays[scalar] as Float64ArrayConstructor)(memory.buffer, addresses[at], length);
  const [x, y, sums] = [view(0, batch * m * k), view(1, batch * k * n), view(2, batch * m * n)];
  const cast = (value: number): number => (scalar === 'i64' ? (BigInt(value) as never) : value);
  for (let at = 0; at < x.length; at++) x[at] = cast(product.x[at]);
  for (let at = 0; at < y.length; at++) y[at] = cast(product.y[at]);
  const params = [left, right, out, counts, ...scratches.map(({ buffer }) => buffer)];
  const states = kept === null ? [] : [state];
  const kernel = e.kernel('main', [...params, ...sizes.keys(), ...states], body);
  const module = e.moduleOf([optimize(kernel, { vectorBytes: 16 })]);
  const { main } = instantiateModule(module, memory);
  const stored = new Int32Array(memory.buffer, addresses[3], batch * m * n);
  const run = (...states: readonly number[]): void => {
    const what = `${target.name}: ${JSON.stringify(problem)} ${states.join()}`;
    sums.fill(cast(-1) as never);
    stored.fill(0);
    main(...addresses, ...sizes.values(), ...states);
    for (let at = 0; at < sums.length; at++) {
      const [found, expected] = [Number(sums[at]), product.sums[at]];
      const isRight =
        within === 0 ? Object.is(found, expected) : Math.abs(found / expected - 1) <= within;
      if (!isRight) assert.fail(`element ${at}: ${found}, not ${expected}: ${what}`);
    }
    assert.ok(
      stored.every((count) => count === 1),
      `each element is stored once: ${what}`,
    );
  };
  if (kept === null) {
    run();
    return;
  }
  if (problem.isCertain !== true) run(packedStates.nothing);
  run(packedStates.empty);
  // What is there already is not read again.
  y.fill(cast(0) as never);
  run(packedStates.full);
}

function valueOf(expr: Expr, sizes: ReadonlyMap<Var, number>): number {
  if (expr.kind === 'const') return Number(expr.value);
  if (expr.kind === 'var') return sizes.get(expr)!;
  assert.ok(expr.kind === 'binary', 'lengths are arithmetic on sizes');
  const [a, b] = [valueOf(expr.a, sizes), valueOf(expr.b, sizes)];
  const operations: Partial<Record<typeof expr.op, number>> = {
    add: a + b,
    sub: a - b,
    mul: a * b,
    div: Math.floor(a / b),
    min: Math.min(a, b),
    max: Math.max(a, b),
  };
  return operations[expr.op]!;
}

const layouts: readonly (readonly [Layout, Layout])[] = [
  ['rows', 'rows'],
  ['rows', 'columns'],
  ['columns', 'rows'],
  ['columns', 'columns'],
];
const scalars: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64'];
const awkward = [
  [1, 1, 1], [4, 8, 3], [5, 9, 7], [3, 2, 1], [13, 17, 19], [1, 33, 5], [33, 1, 18], [1, 1, 37], [0, 3, 2],
  [3, 0, 2], [3, 6, 0], [8, 16, 4], [6, 7, 21],
] as const; // prettier-ignore

test('every layout, type and awkward size, by the method that is chosen', () => {
  for (const [[a, b], scalar, [m, n, k], symbolic] of crossed(layouts, scalars, awkward, [
    false,
    true,
  ]))
    multiplies({ batch: 2, m, n, k, scalar, a, b, symbolic });
});

const floats = ['f32', 'f64'] as const;
const cutSizes = [...awkward, [21, 37, 25], [16, 32, 12]] as const;
const smallBlocks = { rows: 3, vectors: 2, blockRows: 6, blockDepth: 6 } as const;

const methods: Readonly<Record<string, (spec: Contraction) => Stmt>> = {
  'packed side by side': (spec) =>
    contractPacked(spec, { ...smallBlocks, left: 'interleaved', isTurned: false, isWhole: false }),
  'packed in rows': (spec) =>
    contractPacked(spec, { ...smallBlocks, left: 'in rows', isTurned: false, isWhole: false }),
  'packed on the right alone': (spec) =>
    contractPacked(spec, { ...smallBlocks, left: 'in place', isTurned: false, isWhole: false }),
  'packed and turned': (spec) =>
    contractPacked(spec, { ...smallBlocks, left: 'in place', isTurned: true, isWhole: false }),
  'packed as a whole': (spec) =>
    contractPacked(spec, {
      ...smallBlocks,
      blockDepth: 40,
      left: 'interleaved',
      isTurned: false,
      isWhole: true,
    }),
  'packed as a whole and turned': (spec) =>
    contractPacked(spec, {
      ...smallBlocks,
      blockDepth: 40,
      left: 'in place',
      isTurned: true,
      isWhole: true,
    }),
  direct: (spec) => contractDirect(spec, { rows: 3, vectors: 2 }),
  'direct in parts of the depth': (spec) => contractDirect(spec, { rows: 3, vectors: 2 }, 6),
  streaming: (spec) => contractStreaming(spec, 40),
  dot: (spec) => contractDot(spec, { rows: 2, columns: 3 }),
};

for (const [name, method] of Object.entries(methods)) {
  test(`${name}: several blocks and tiles, all of them cut at the edges`, () => {
    for (const [[a, b], scalar, [m, n, k], symbolic] of crossed(layouts, floats, cutSizes, [
      false,
      true,
    ]))
      multiplies({ batch: 1, m, n, k, scalar, a, b, symbolic }, method);
  });
}

test('lanes begin at a multiple of their number, whatever the height of tiles', () => {
  const tiles = [1, 2, 3, 4, 6].map((rows): Method => (spec) =>
    contractPacked(spec, { rows, vectors: 2, blockRows: 2 * rows, blockDepth: 6, left: 'interleaved', isTurned: false, isWhole: false })); // prettier-ignore
  for (const method of [contract, ...tiles, ...Object.values(methods)])
    for (const [a, b] of layouts)
      for (const [m, n, k] of [[13, 17, 19], [12, 12, 12]] as const) // prettier-ignore
        multiplies({ batch: 1, m, n, k, scalar: 'f32', a, b, symbolic: false, isAligned: true }, method); // prettier-ignore
});

test('panels that are there already are read in the place of `b`', () => {
  const small = { ...smallBlocks, left: 'in place', isTurned: false } as const;
  const forms = [
    { ...small, isWhole: false },
    { ...small, isWhole: true, blockDepth: 40 },
    { ...small, isWhole: false, isTurned: true },
    { ...small, isWhole: true, isTurned: true, blockDepth: 40 },
  ];
  for (const form of forms)
    for (const [[a, b], scalar, [m, n, k], isCertain] of crossed(layouts, floats, cutSizes, [
      false,
      true,
    ])) {
      const problem = { batch: 1, m, n, k, scalar, a, b, symbolic: false, isCertain };
      multiplies(problem, (spec) => {
        const width = form.vectors * (scalar === 'f32' ? 4 : 2);
        const room = roomForPanels(k, n, { ...form, width, depth: form.blockDepth });
        const kept = spec.rightKeeper!.keep('panels', scalarDTypes[scalar], room);
        return contractPacked(spec, { ...form, kept });
      });
    }
});

test('what is kept is chosen by size and layout', () => {
  const keeps = (problem: Partial<Problem>): boolean => {
    let wasAsked = false;
    const method: Method = (spec) => {
      const { isCertain, keep } = spec.rightKeeper!;
      const noted: PackedAllocator['keep'] = (...args) => {
        wasAsked = true;
        return keep(...args);
      };
      return contract({ ...spec, rightKeeper: { isCertain, keep: noted } });
    };
    multiplies({ batch: 1, m: 20, n: 190, k: 90, scalar: 'f32', a: 'rows', b: 'rows', symbolic: false, ...problem }, method); // prettier-ignore
    return wasAsked;
  };
  assert.ok(keeps({ m: 190 }), 'a product that copies panels in any case');
  assert.ok(keeps({ m: 190, isCertain: true }));
  assert.ok(keeps({ b: 'columns', m: 12, isCertain: true }), 'inner products of a few rows');
  assert.ok(!keeps({ b: 'columns', m: 12 }), 'which would be rounded otherwise from then on');
  assert.ok(keeps({ b: 'columns', isCertain: true }), 'a product that turns weights');
  assert.ok(!keeps({ m: 20 }), 'operands that a small product reads where they are');
  assert.ok(!keeps({ m: 190, k: 30 }), 'weights that the first cache holds');
  assert.ok(!keeps({ m: 600 }), 'so many rows that panels cost little');
  assert.ok(!keeps({ m: 190, batch: 2 }), 'one matrix for each of a batch');
  assert.ok(!keeps({ m: 190, symbolic: true }), 'panels of an unknown number');
});

test('sizes beyond one block of each extent', () => {
  const common = { batch: 1, scalar: 'f32', a: 'rows' } as const;
  for (const symbolic of [false, true]) {
    multiplies({ ...common, m: 245, n: 530, k: 270, b: 'columns', symbolic });
    multiplies({ ...common, m: 3, n: 1100, k: 250, b: 'rows', symbolic });
    multiplies({ ...common, m: 100, n: 20, k: 17_000, b: 'rows', symbolic });
  }
});

test('long sums of one sign keep their digits, by every method', () => {
  const tenth = (_: number, spread: number): number => Math.fround(spread === 13 ? 0.1 : 0.7);
  const positive = (at: number, spread: number): number =>
    Math.fround((((at * 7919) % 8191) + spread) / 8192);
  const kept: Method = (spec) => {
    const form = { ...smallBlocks, left: 'in place', isTurned: false, isWhole: false } as const;
    const size = { width: 2 * (spec.scalar === 'f32' ? 4 : 2), depth: 6 };
    const room = roomForPanels(6011, 9, { ...form, ...size });
    return contractPacked(spec, {
      ...form,
      kept: spec.rightKeeper!.keep('panels', 'float32', room),
    });
  };
  const tall = { rows: 3, vectors: 2, blockRows: 6, blockDepth: 3000 } as const;
  const packedOnce: Method = (spec) =>
    contractPacked(spec, { ...tall, left: 'in rows', isTurned: false, isWhole: false });
  const all = Object.entries({ ...methods, 'packed in few stretches': packedOnce, kept, contract });
  for (const [, method] of all)
    for (const [a, b] of [
      ['rows', 'rows'],
      ['rows', 'columns'],
    ] as const)
      for (const sample of [tenth, positive])
        for (const symbolic of method === kept ? [false] : [false, true]) {
          const common = { scalar: 'f32', a, b, symbolic, sample, within: 1e-6 } as const;
          multiplies({ ...common, batch: 1, m: 5, n: 9, k: 6011 }, method);
        }
});

test('long sums that overflow are infinite, and what is not a number stays that', () => {
  const gives = (element: (at: number) => number): void => {
    const sample = (at: number, spread: number): number => (spread === 17 ? 1 : element(at));
    const common = { batch: 1, m: 1, n: 5, scalar: 'f32', a: 'rows', b: 'rows', sample } as const;
    const problem = { ...common, k: 3000, symbolic: false };
    for (const method of Object.values(methods))
      multipliesFor(wasmTarget, problem, method, productOfProblem(problem));
  };
  for (const place of [0, 700, 2999])
    for (const value of [Infinity, -Infinity, NaN]) gives((at) => (at === place ? value : 1));
  gives((at) => (at === 5 ? -1 : 3e38));
  gives((at) => (at === 0 ? 3e38 : -3e38));
  gives((at) => (at === 5 ? Infinity : at === 2900 ? -Infinity : 1));
});
