import { meeting } from '../../../loop/language/team.js';
import type { ByteWriter } from './bytes.js';
import { controlOpcodes, emptyBlock, opcodes } from './opcodes.js';

/** Atomic instructions: the prefix byte, then the code. */
const atomic = {
  notify: 0x00,
  wait32: 0x01,
  load: 0x10,
  store: 0x17,
  add: 0x1e,
  sub: 0x25,
} as const;

/** Number of polls of a waiting thread before it sleeps: about 10 microseconds. */
const looks = 4096;

/** Operands of a barrier's code: locals, and code that pushes the numbers of the team. */
export interface BarrierParts {
  readonly meeting: number;
  /** Two i32 locals of its own. */
  readonly passed: number;
  readonly left: number;
  thread(): void;
  threads(): void;
}

/**
 * A barrier. The last thread to arrive opens it by incrementing `passed`; the others poll that count for a
 * while, then sleep until it changes. `passed` is read before `failed`, and a failing thread sets them in the
 * other order, so no thread waits for one that is gone.
 */
export function writeBarrier(code: ByteWriter, parts: BarrierParts): void {
  const get = (local: number): void => {
    code.u8(opcodes['local.get']);
    code.u32(local);
  };
  const set = (local: number): void => {
    code.u8(controlOpcodes.localSet);
    code.u32(local);
  };
  const i32 = (value: number): void => {
    code.u8(opcodes['i32.const']);
    code.s32(value);
  };
  const access = (operation: number, word: number): void => {
    code.u8(0xfe);
    code.u8(operation);
    code.u32(2);
    code.u32(4 * word);
  };
  const read = (word: number): void => {
    get(parts.meeting);
    access(atomic.load, word);
  };
  const change = (operation: number, word: number, by: number): void => {
    get(parts.meeting);
    i32(by);
    access(operation, word);
  };
  const drop = (): void => code.u8(controlOpcodes.drop);
  const open = (opcode: number): void => {
    code.u8(opcode);
    code.u8(emptyBlock);
  };
  const branchIf = (depth: number): void => {
    code.u8(controlOpcodes.brIf);
    code.u32(depth);
  };
  const end = (): void => code.u8(controlOpcodes.end);
  const leaveIfFailed = (): void => {
    read(meeting.failed);
    open(controlOpcodes.if);
    code.u8(controlOpcodes.return);
    end();
  };
  const leaveLoopsIfPassed = (): void => {
    read(meeting.passed);
    get(parts.passed);
    code.u8(opcodes['i32.ne']);
    branchIf(1);
  };

  parts.threads();
  i32(1);
  code.u8(opcodes['i32.gt_s']);
  open(controlOpcodes.if);
  read(meeting.passed);
  set(parts.passed);
  leaveIfFailed();
  change(atomic.add, meeting.arrived, 1);
  i32(1);
  code.u8(opcodes['i32.add']);
  parts.threads();
  code.u8(opcodes['i32.eq']);
  open(controlOpcodes.if);
  change(atomic.store, meeting.arrived, 0);
  change(atomic.add, meeting.passed, 1);
  drop();
  read(meeting.sleeping);
  open(controlOpcodes.if);
  change(atomic.notify, meeting.passed, -1);
  drop();
  end();
  code.u8(controlOpcodes.else);
  i32(looks);
  set(parts.left);
  open(controlOpcodes.block);
  open(controlOpcodes.loop);
  leaveLoopsIfPassed();
  get(parts.left);
  i32(1);
  code.u8(opcodes['i32.sub']);
  code.u8(controlOpcodes.localTee);
  code.u32(parts.left);
  branchIf(0);
  end();
  open(controlOpcodes.loop);
  leaveLoopsIfPassed();
  // The first thread must keep polling where it may not sleep.
  parts.thread();
  read(meeting.maySleep);
  code.u8(opcodes['i32.or']);
  code.u8(opcodes['i32.eqz']);
  branchIf(0);
  change(atomic.add, meeting.sleeping, 1);
  drop();
  get(parts.meeting);
  get(parts.passed);
  code.u8(opcodes['i64.const']);
  code.s64(-1n);
  access(atomic.wait32, meeting.passed);
  drop();
  change(atomic.sub, meeting.sleeping, 1);
  drop();
  code.u8(controlOpcodes.br);
  code.u32(0);
  end();
  end();
  end();
  leaveIfFailed();
  end();
}
