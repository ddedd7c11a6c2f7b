import type { ByteWriter } from './bytes.js';
import { type Op, opcodes, resultOf, type ValueType } from './opcodes.js';

/**
 * Operand of an opcode: a constant or a local's number, a lane, sixteen bytes (`v128.const`,
 * shuffle), or the static part of a memory access.
 */
export type Immediate = number | bigint | Uint8Array | MemoryImmediate;

export interface MemoryImmediate {
  /** Bytes added to the address, without wrapping around. */
  readonly offset: number;
  /** For accesses of one lane. */
  readonly lane?: number;
}

/**
 * One instruction with the instructions that produce its operands: a node of the DAG of one statement.
 * Equal instructions of one statement are one object (`InstrPool`), so sharing is seen as identity.
 */
export interface Instr {
  readonly id: number;
  readonly op: Op;
  readonly type: ValueType;
  readonly args: readonly Instr[];
  readonly immediate: Immediate | undefined;
  /** Certainly not negative, as an i32, wherever the promise about index sums holds (`loop/language/nodes.ts`). */
  readonly nonNegative: boolean;
}

/** Makes the instructions of one statement, each distinct one once. */
export class InstrPool {
  readonly #made: Map<string, Instr> = new Map();

  make(op: Op, args: readonly Instr[], immediate?: Immediate, nonNegative: boolean = false): Instr {
    let key = op as string;
    for (let i = 0; i < args.length; i++) key += ` ${args[i].id}`;
    if (immediate !== undefined) key += ` #${keyOf(immediate)}`;
    let instr = this.#made.get(key);
    if (instr === undefined) {
      const type = op === 'select' ? args[0].type : resultOf(op);
      instr = { id: this.#made.size, op, type, args, immediate, nonNegative };
      this.#made.set(key, instr);
    }
    return instr;
  }

  /** The value of a local. */
  get(local: number, type: ValueType, nonNegative: boolean): Instr {
    const key = `local ${local}`;
    let instr = this.#made.get(key);
    if (instr === undefined) {
      instr = {
        id: this.#made.size,
        op: 'local.get',
        type,
        args: [],
        immediate: local,
        nonNegative,
      };
      this.#made.set(key, instr);
    }
    return instr;
  }
}

function keyOf(immediate: Immediate): string {
  if (typeof immediate === 'number') return Object.is(immediate, -0) ? '-0' : String(immediate);
  if (typeof immediate === 'bigint') return String(immediate);
  if (immediate instanceof Uint8Array) return immediate.join();
  return `${immediate.offset}@${immediate.lane ?? ''}`;
}

/** Writes an opcode and its immediates; the operands are already on the stack. */
export function writeInstr(code: ByteWriter, { op, immediate }: Instr): void {
  writeOpcode(code, opcodes[op]);
  switch (op) {
    case 'local.get':
      return code.u32(immediate as number);
    case 'i32.const':
      return code.s32(immediate as number);
    case 'i64.const':
      return code.s64(immediate as bigint);
    case 'f32.const':
      return code.append(new Uint8Array(new Float32Array([immediate as number]).buffer));
    case 'f64.const':
      return code.append(new Uint8Array(new Float64Array([immediate as number]).buffer));
    default:
      if (immediate === undefined) return;
      if (immediate instanceof Uint8Array) return code.append(immediate);
      if (typeof immediate === 'object') return writeAccess(code, op, immediate);
      code.u8(Number(immediate)); // a lane
  }
}

function writeOpcode(code: ByteWriter, opcode: number): void {
  if (opcode < 0x100) return code.u8(opcode);
  code.u8(opcode >> 12);
  code.u32(opcode & 0xfff);
}

/** Writes a load or store whose operands are already on the stack. */
export function writeMemoryInstr(code: ByteWriter, op: Op, immediate: MemoryImmediate): void {
  writeOpcode(code, opcodes[op]);
  writeAccess(code, op, immediate);
}

/** The alignment is a hint, and its logarithm must not exceed the size of the access. */
function writeAccess(code: ByteWriter, op: Op, { offset, lane }: MemoryImmediate): void {
  let alignment = alignments.get(op);
  if (alignment === undefined) alignments.set(op, (alignment = Math.log2(accessBytes(op))));
  code.u32(alignment);
  code.u32(offset);
  if (lane !== undefined) code.u8(lane);
}

const alignments = new Map<Op, number>();

/** The bytes that an access touches, which its name says: `v128.load32_splat` 4, `i32.load8_s` 1. */
function accessBytes(op: Op): number {
  const [type, access] = op.split('.');
  const bits = /^(?:load|store)(\d+)(?:x(\d+))?/.exec(access);
  if (bits !== null) return (Number(bits[1]) * Number(bits[2] ?? 1)) / 8;
  return type === 'v128' ? 16 : Number(type.slice(1)) / 8;
}
