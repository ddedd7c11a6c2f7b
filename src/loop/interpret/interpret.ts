import { ArgumentError, DeviceError } from '../../base/errors.js';
import { compileKernel } from './statements.js';
import { type Member, memoryOf } from './frame.js';
import type { Module } from '../language/nodes.js';

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
  if (args.length !== found.params.length) {
    throw new ArgumentError(`kernel ${kernel} was given the wrong number of arguments`, {
      op,
      expected: `${found.params.length} arguments`,
      actual: `${args.length} arguments`,
    });
  }
  const lanes = found.params.map((param, i) => {
    if (param.kind === 'buffer') return args[i];
    if (param.type.lanes !== 1) {
      throw new DeviceError(`kernel ${kernel} takes a vector and cannot be called from outside`, {
        op,
      });
    }
    switch (param.type.scalar) {
      case 'i64':
        return BigInt.asIntN(64, BigInt(args[i]));
      case 'i32':
        return args[i] | 0;
      case 'bool':
        return args[i] === 0 ? 0 : 1;
      case 'f32':
        return Math.fround(args[i]);
      case 'f64':
        return args[i];
    }
  });
  compileKernel(found)(memoryOf(memory), lanes, member);
}
