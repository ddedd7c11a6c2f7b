import { InternalError } from '../../base/errors.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { controlOf } from '../../passes/lower/main/control.js';
import type { Inspectable } from '../execution/executable.js';
import { HostBranch } from './branch.js';
import { chunkOf, HostChunks } from './chunks.js';
import { HostForeach } from './foreach.js';
import type { HostCall, CompiledRegions } from './host-call.js';
import { HostWhile } from './while.js';

/** What runs a loop or branch on the host; `compile` is for programs without cuts. */
export function hostCallOf(
  call: CallNode,
  operands: readonly TensorType[],
  regions: CompiledRegions,
  compile: (program: Program) => Inspectable,
): HostCall {
  const control = controlOf(call);
  switch (control?.kind) {
    case 'foreach': {
      const form = control.loop(call.attributes);
      return new HostForeach(call, form, regions.executable(call.regions[0]));
    }
    case 'while': {
      const form = control.loop(call.attributes);
      const [condition, body] = call.regions;
      const chunk = chunkOf(call, form, operands);
      if (chunk !== null) {
        const executor = compile(chunk.program);
        return new HostChunks(call, form, chunk, executor, () => regions.executable(condition));
      }
      return new HostWhile(call, form, regions.executable(condition), regions.executable(body));
    }
    case 'branch':
      return new HostBranch(call, regions);
    case undefined:
      throw new InternalError('the host runs loops and branches only', { op: call.op.name });
  }
}
