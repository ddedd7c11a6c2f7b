import type { Buffer, Expr, Load, ElementKind, Store } from '../../../loop/language/nodes.js';
import { storageBytes } from '../../../loop/language/build.js';
import type { Instr } from '../encoding/instr.js';
import type { Op } from '../encoding/opcodes.js';
import { gatherLanes, i32Add, i32Const, i32Mul, i32Shl, instr, laneOf, type LinearIndex, type Selector, vectorShapeOf, shuffle } from './selector.js'; // prettier-ignore

/**
 * Lowest address of a buffer. The static offset of a memory access is added without wrapping around, so `x +
 * c` may only be split into address and offset when `x` alone is a valid address: that holds for any `x` that
 * is not negative, and below this many bytes for every `x`.
 */
export const reservedBytes = 1024;

interface Place {
  readonly address: Instr;
  readonly offset: number;
}

function placeOf(s: Selector, buffer: Buffer, at: LinearIndex, lane: number = 0): Place {
  const shift = Math.log2(storageBytes(buffer.storage));
  const moved = typeof at.stride === 'number' ? lane * at.stride : 0;
  let { rest } = at;
  if (typeof at.stride !== 'number' && lane > 0) {
    const step = i32Mul(s, at.stride, i32Const(s, lane));
    rest = rest === null ? step : i32Add(s, rest, step);
  }
  const base = s.base(buffer);
  const address = rest === null ? base : addressAdd(s, base, scaledIndex(s, rest, shift));
  const bytes = ((at.constant + moved) | 0) * storageBytes(buffer.storage);
  const mayFold = rest === null || rest.nonNegative || bytes <= reservedBytes;
  if (bytes >= 0 && bytes < 2 ** 31 && mayFold) return { address, offset: bytes };
  return { address: addressAdd(s, address, addressConst(s, bytes)), offset: 0 };
}

function addressAdd(s: Selector, a: Instr, b: Instr): Instr {
  return s.addresses === 'i32' ? i32Add(s, a, b) : instr(s, 'i64.add', [a, b]);
}

function addressConst(s: Selector, value: number): Instr {
  return s.addresses === 'i32' ? i32Const(s, value) : instr(s, 'i64.const', [], BigInt(value));
}

/** `index * 2^shift` as a distance of addresses. Index sums do not overflow, so that an i32 may be extended. */
function scaledIndex(s: Selector, index: Instr, shift: number): Instr {
  if (s.addresses === 'i32') return i32Shl(s, index, shift);
  const sign = index.nonNegative ? 'u' : 's';
  const wide = index.type === 'i64' ? index : instr(s, `i64.extend_i32_${sign}`, [index]);
  return shift === 0 ? wide : instr(s, 'i64.shl', [wide, addressConst(s, shift)]);
}

/** Address of each lane: evenly spaced, or read from a vector of indices. */
function places(s: Selector, buffer: Buffer, index: Expr): (lane: number) => Place {
  const at = s.linear(index);
  if (at !== null) return (lane) => placeOf(s, buffer, at, lane);
  const indices = s.lower(index);
  return (lane) =>
    placeOf(s, buffer, { rest: laneOf(s, 'i32x4', indices, lane), constant: 0, stride: 0 });
}

function access(
  s: Selector,
  op: Op,
  { address, offset }: Place,
  more: readonly Instr[],
  lane?: number,
): Instr {
  const immediate = lane === undefined ? { offset } : { offset, lane };
  return s.pool.make(
    op,
    [address, ...more],
    immediate,
    op === 'i32.load8_u' || op === 'i32.load16_u',
  );
}

const scalarLoads: Readonly<Record<ElementKind, Op>> = {
  f32: 'f32.load',
  f64: 'f64.load',
  i32: 'i32.load',
  i64: 'i64.load',
  i8: 'i32.load8_s',
  u8: 'i32.load8_u',
  u16: 'i32.load16_u',
};

const scalarStores: Readonly<Record<ElementKind, Op>> = {
  f32: 'f32.store',
  f64: 'f64.store',
  i32: 'i32.store',
  i64: 'i64.store',
  i8: 'i32.store8',
  u8: 'i32.store8',
  u16: 'i32.store16',
};

/** Instruction selection for loads. */
export function selectLoad(s: Selector, { buffer, index, type }: Load): Instr {
  const { storage } = buffer;
  if (type.lanes === 1)
    return access(s, scalarLoads[storage], placeOf(s, buffer, s.linear(index)!), []);
  const shape = vectorShapeOf(type);
  const at = s.linear(index);
  if (at?.stride === 1) return contiguousLoad(s, storage, type.lanes, placeOf(s, buffer, at));
  if (at?.stride === 0) {
    const op = splatLoads[storage];
    const place = placeOf(s, buffer, at);
    if (op !== undefined) return access(s, op, place, []);
    return s.pool.make('i32x4.splat', [access(s, scalarLoads[storage], place, [])]);
  }
  if (at?.stride === -1 && type.lanes * storageBytes(storage) === 16) {
    const last = placeOf(s, buffer, { ...at, constant: at.constant - type.lanes + 1 });
    return reversed(s, access(s, 'v128.load', last, []), storageBytes(storage));
  }
  const place = places(s, buffer, index);
  const lanes = Array.from({ length: type.lanes }, (_, lane) => place(lane));
  if (storageBytes(storage) < 4)
    return gatherLanes(
      s,
      shape,
      lanes.map((lane) => access(s, scalarLoads[storage], lane, [])),
    );
  const bits = storageBytes(storage) === 8 ? 64 : 32;
  return lanes
    .slice(1)
    .reduce(
      (vector, at, lane) => access(s, `v128.load${bits}_lane`, at, [vector], lane + 1),
      access(s, `v128.load${bits}_zero`, lanes[0], []),
    );
}

const splatLoads: Readonly<Partial<Record<ElementKind, Op>>> = {
  f32: 'v128.load32_splat',
  f64: 'v128.load64_splat',
  i32: 'v128.load32_splat',
  i64: 'v128.load64_splat',
};

/** A scalar load whose value goes to all lanes, or null for other expressions. */
export function selectSplatLoad(s: Selector, x: Expr): Instr | null {
  if (x.kind !== 'load') return null;
  const op = splatLoads[x.buffer.storage];
  if (op === undefined) return null;
  return access(s, op, placeOf(s, x.buffer, s.linear(x.index)!), []);
}

function contiguousLoad(s: Selector, storage: ElementKind, lanes: number, place: Place): Instr {
  const bytes = lanes * storageBytes(storage);
  switch (storage) {
    case 'i8':
    case 'u8': {
      const sign = storage === 'i8' ? 's' : 'u';
      const raw = access(s, bytes === 4 ? 'v128.load32_zero' : 'v128.load16_splat', place, []);
      const middle = s.pool.make(`i16x8.extend_low_i8x16_${sign}`, [raw]);
      return s.pool.make(`i32x4.extend_low_i16x8_${sign}`, [middle]);
    }
    case 'u16':
      if (bytes === 8) return access(s, 'v128.load16x4_u', place, []);
      return s.pool.make('i32x4.extend_low_i16x8_u', [access(s, 'v128.load32_zero', place, [])]);
    default:
      return access(s, bytes === 16 ? 'v128.load' : 'v128.load64_zero', place, []);
  }
}

function reversed(s: Selector, x: Instr, laneBytes: number): Instr {
  const bytes = Array.from({ length: 16 }, (_, byte) => {
    const lane = Math.floor(byte / laneBytes);
    return 16 - (lane + 1) * laneBytes + (byte % laneBytes);
  });
  return shuffle(s, x, x, bytes);
}

/** The instructions of a store: one, or one a lane, in the order of the lanes. */
export function selectStore(s: Selector, { buffer, index, value }: Store): readonly Instr[] {
  const { storage } = buffer;
  const stored = s.lower(value);
  const { lanes } = value.type;
  if (lanes === 1)
    return [access(s, scalarStores[storage], placeOf(s, buffer, s.linear(index)!), [stored])];
  const shape = vectorShapeOf(value.type);
  const at = s.linear(index);
  if (at?.stride === 1) return [contiguousStore(s, storage, lanes, placeOf(s, buffer, at), stored)];
  const place = places(s, buffer, index);
  return Array.from({ length: lanes }, (_, lane) => {
    if (storageBytes(storage) < 4)
      return access(s, scalarStores[storage], place(lane), [laneOf(s, shape, stored, lane)]);
    const op = storageBytes(storage) === 8 ? 'v128.store64_lane' : 'v128.store32_lane';
    return access(s, op, place(lane), [stored], lane);
  });
}

function contiguousStore(
  s: Selector,
  storage: ElementKind,
  lanes: number,
  place: Place,
  value: Instr,
): Instr {
  const bytes = lanes * storageBytes(storage);
  if (bytes === 16) return access(s, 'v128.store', place, [value]);
  const packed = storageBytes(storage) < 4 ? lowBytes(s, value, storageBytes(storage)) : value;
  const op = `v128.store${bytes === 8 ? 64 : bytes === 4 ? 32 : 16}_lane` as const;
  return access(s, op, place, [packed], 0);
}

/** The low bytes of the 32-bit lanes, packed; the bytes after them are arbitrary. */
function lowBytes(s: Selector, x: Instr, kept: number): Instr {
  const bytes = Array.from({ length: 16 }, (_, byte) => {
    const lane = Math.floor(byte / kept) % 4;
    return 4 * lane + (byte % kept);
  });
  return shuffle(s, x, x, bytes);
}
