import assert from 'node:assert/strict';
import {
  encodeModule,
  instantiateModule,
  reservedBytes,
  supportsMemory64,
} from '../../../src/codegen/wasm/index.js';
import * as e from '../../../src/loop/language/build.js';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type {
  Buffer,
  Expr,
  Kernel,
  Scalar,
  Stmt,
  ElementKind,
} from '../../../src/loop/language/nodes.js';

export type Elements =
  Float32Array | Float64Array | Int32Array | BigInt64Array | Int8Array | Uint8Array | Uint16Array;

interface Home {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Elements;
  from(values: readonly number[]): Elements;
}

export const homes: Readonly<Record<Exclude<ElementKind, 'i64'>, Home>> & {
  readonly i64: BigInt64ArrayConstructor;
} = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  i64: BigInt64Array,
  i8: Int8Array,
  u8: Uint8Array,
  u16: Uint16Array,
};

/** A buffer parameter and what lies in it before the kernel runs. */
export interface Filled {
  readonly buffer: Buffer;
  readonly elements: Elements;
}

/** Values at which operations change their behavior. */
export const edges: Readonly<Record<Scalar, readonly (number | bigint)[]>> = {
  f32: [0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-45, 3.4028234663852886e38, Infinity, -Infinity, NaN, 2 ** 31, -(2 ** 31), 2147483520, 1e20, -1e20, 0.1, 16777217],
  f64: [0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, 5e-324, Number.MAX_VALUE, Infinity, -Infinity, NaN, 2 ** 31, -(2 ** 31), 2147483647.5, 2 ** 63, -(2 ** 63), 0.1, 1e-320],
  i32: [0, 1, -1, 2, 3, 7, 31, 32, 33, -32, 255, 256, 65535, -65536, 2 ** 31 - 1, -(2 ** 31), 123456789, -987654321, 16777217, 5],
  i64: [0n, 1n, -1n, 2n, 3n, 63n, 64n, 65n, -64n, 2n ** 31n, -(2n ** 31n), 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, 123456789012345n, -5n, 2n ** 24n + 1n, 2n ** 62n + 1n, 9n],
  bool: [0, 1],
}; // prettier-ignore

export function fill(storage: ElementKind, values: readonly (number | bigint)[]): Elements {
  if (storage === 'i64') return BigInt64Array.from(values, (value) => BigInt(value));
  return homes[storage].from(values.map(Number));
}

/** A memory of one page whose addresses have 64 bits. */
export function wideMemory(): WebAssembly.Memory {
  const wide = { address: 'i64', initial: 1n };
  // The types of TypeScript know no such memory.
  return new WebAssembly.Memory(wide as unknown as WebAssembly.MemoryDescriptor);
}

/**
 * Runs a kernel in the interpreter and as WebAssembly, there with addresses of 32 bits and, where the engine has
 * them, of 64, and compares all memory afterwards.
 */
export function agree(
  body: Stmt,
  buffers: readonly Filled[],
  helpers: readonly Kernel[] = [],
): void {
  const kernel = e.kernel(
    'main',
    buffers.map(({ buffer }) => buffer),
    body,
  );
  const module = e.moduleOf([...helpers, kernel]);
  assert.ok(WebAssembly.validate(encodeModule(module)), 'the module is valid');
  const expected = new ArrayBuffer(65536);
  const memories = [new WebAssembly.Memory({ initial: 1 })];
  if (supportsMemory64()) memories.push(wideMemory());
  const addresses: number[] = [];
  let next = reservedBytes;
  for (const { elements } of buffers) {
    addresses.push(next);
    for (const bytes of [...memories.map(({ buffer }) => buffer), expected])
      new Uint8Array(bytes).set(new Uint8Array(elements.buffer), next);
    next += Math.ceil(elements.byteLength / 16) * 16 + 32;
  }
  interpret(module, expected, 'main', addresses);
  instantiateModule(module, memories[0]).main(...addresses);
  if (memories.length > 1)
    instantiateModule(module, memories[1], { addresses: 'i64' }).main(...addresses.map(BigInt));
  for (const memory of memories) assertSame(buffers, addresses, memory.buffer, expected);
}

/** Asserts that two memories hold the same. */
function assertSame(
  buffers: readonly Filled[],
  addresses: readonly number[],
  actual: ArrayBuffer,
  expected: ArrayBuffer,
): void {
  buffers.forEach(({ buffer, elements }, i) => {
    const read = (bytes: ArrayBuffer): readonly (number | bigint)[] =>
      Array.from(new homes[buffer.storage](bytes, addresses[i], elements.length) as Int32Array);
    assert.deepEqual(read(actual), read(expected), `buffer ${buffer.name}`);
  });
  // Floats are compared as numbers above, since the bits of a NaN are free; all other bytes must agree.
  const clear = (bytes: ArrayBuffer): Uint8Array => {
    const all = new Uint8Array(bytes.slice(0));
    buffers.forEach(({ elements }, i) =>
      all.fill(0, addresses[i], addresses[i] + elements.byteLength),
    );
    return all;
  };
  assert.ok(sameBytes(clear(actual), clear(expected)), 'nothing else was written');
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The storage in which results of a scalar type are kept; bool is kept as i32. */
export function storageOf(scalar: Scalar): Exclude<Scalar, 'bool'> {
  return scalar === 'bool' ? 'i32' : scalar;
}

/** Reads operands of a type: bool ones come from i32 elements. */
export function operand(from: Buffer, index: Expr, scalar: Scalar): Expr {
  const loaded = e.load(from, index);
  return scalar === 'bool' ? e.ne(e.and(loaded, 1), 0) : loaded;
}

/** Applies `f` to pairs of edge values of two types with the given lanes, in both worlds. */
export function agreeOnEdges(
  scalars: readonly Scalar[],
  lanes: number,
  f: (operands: readonly Expr[]) => Expr,
  allowed: (values: readonly (number | bigint)[]) => boolean = () => true,
): void {
  const rows = product(scalars.map((scalar) => edges[scalar])).filter(allowed);
  while (rows.length % 4 !== 0) rows.push(rows[0]);
  const inputs = scalars.map((scalar, i) => ({
    buffer: e.buffer(`in${i}`, storageOf(scalar)),
    elements: fill(
      storageOf(scalar),
      rows.map((row) => row[i]),
    ),
  }));
  const index = (i: Expr): Expr => (lanes === 1 ? i : e.ramp(i, 1, lanes));
  const probe = f(scalars.map((scalar, i) => operand(inputs[i].buffer, index(e.i32(0)), scalar)));
  const storage = storageOf(probe.type.scalar);
  const out = {
    buffer: e.buffer('out', storage),
    elements: fill(
      storage,
      rows.map(() => 0),
    ),
  };
  const body = e.forLoop(
    'i',
    0,
    rows.length,
    (i) => {
      const value = f(scalars.map((s, k) => operand(inputs[k].buffer, index(i), s)));
      return e.store(out.buffer, index(i), e.cast(storage, value));
    },
    { step: lanes },
  );
  agree(body, [...inputs, out]);
}

function product(sets: readonly (readonly (number | bigint)[])[]): (number | bigint)[][] {
  return sets.reduce<(number | bigint)[][]>(
    (rows, set) => rows.flatMap((row) => set.map((value) => [...row, value])),
    [[]],
  );
}
