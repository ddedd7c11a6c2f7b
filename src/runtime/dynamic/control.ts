import { InternalError } from '../../base/errors.js';
import type { CallNode } from '../../ir/program.js';
import { declarationOf } from '../../passes/facets.js';
import { HostBranch } from './branch.js';
import { HostForeach } from './foreach.js';
import type { HostCall, Regions } from './hostcall.js';
import { HostWhile } from './while.js';

/** What runs a loop or branch on the host. */
export function hostCallOf(call: CallNode, regions: Regions): HostCall {
  const { op, attributes } = call;
  const { lowering } = declarationOf(op);
  switch (lowering.kind) {
    case 'foreach':
      return new HostForeach(call, lowering.loop(attributes), regions.executable(call.regions[0]));
    case 'while':
      return new HostWhile(
        call,
        lowering.loop(attributes),
        regions.executable(call.regions[0]),
        regions.executable(call.regions[1]),
      );
    case 'branch':
      return new HostBranch(call, regions);
    default:
      throw new InternalError('the host runs loops and branches only', { op: op.name });
  }
}
