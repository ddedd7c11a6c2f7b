import { ArgumentError, DeviceError } from '../../base/errors.js';
import { compileKernel, type KernelValue } from './statements.js';
import { type BufferArgument, type LaneValue, type Member, memoryOf } from './frame.js';
import type { Kernel, Module, Var } from '../language/nodes.js';

const op = 'interpret';

/**
 * Runs a kernel of a module: the oracle, and the definition of what the loop IR means. Arguments for
 * buffers are byte addresses into `memory`, aligned to their element; numbers are little endian.
 *
 * Of parallel ranges it runs the stretches of one `member` of a team: a team has run once each member has, one after
 * the other in any order, with private memory of its own.
 *
 * Every operation rounds as its type says (`scalar.ts`), lane by lane. The bounds of a `for` are
 * evaluated once, before the first iteration. A `DeviceError` that names kernel and buffer reports an
 * access outside the memory, at a negative index, or through a misaligned address; undefined integer
 * divisions and wrong arguments are reported too.
 */
export function interpret(
  module: Module,
  memory: ArrayBufferLike,
  kernel: string,
  args: readonly number[],
  member?: Member,
): void {
  const found = module.kernels.find((candidate) => candidate.name === kernel);
  if (found === undefined) {
    throw new ArgumentError(`the module has no kernel ${kernel}`, {
      op,
      expected: module.kernels.map((candidate) => candidate.name).join(', '),
    });
  }
  run(found, memory, args, member);
}

/**
 * Runs a kernel each of whose buffers is in a memory of its own, as `interpret` does. Numbers are given in order among
 * the buffers.
 */
export function interpretApart(
  kernel: Kernel,
  args: readonly (number | BufferArgument)[],
  member?: Member,
): void {
  run(kernel, nowhere, args, member);
}

const nowhere = new ArrayBuffer(0);

function run(
  kernel: Kernel,
  memory: ArrayBufferLike,
  args: readonly (number | BufferArgument)[],
  member: Member | undefined,
): void {
  const { name, params } = kernel;
  if (args.length !== params.length) {
    throw new ArgumentError(`kernel ${name} was given the wrong number of arguments`, {
      op,
      expected: `${params.length} arguments`,
      actual: `${args.length} arguments`,
    });
  }
  const values = params.map((param, i): KernelValue => {
    const given = args[i];
    if (typeof given !== 'number' || param.kind === 'buffer') return given;
    return laneOf(name, param, given);
  });
  compileKernel(kernel)(memoryOf(memory), values, member);
}

function laneOf(kernel: string, { type }: Var, value: number): LaneValue {
  if (type.lanes !== 1) {
    throw new DeviceError(`kernel ${kernel} takes a vector and cannot be called from outside`, {
      op,
    });
  }
  switch (type.scalar) {
    case 'i64':
      return BigInt.asIntN(64, BigInt(value));
    case 'i32':
      return value | 0;
    case 'bool':
      return value === 0 ? 0 : 1;
    case 'f32':
      return Math.fround(value);
    case 'f64':
      return value;
  }
}
