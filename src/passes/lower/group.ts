import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Stmt } from '../../loop/nodes.js';
import type { Target } from '../../loop/target.js';
import { declarationOf } from '../facets.js';
import type { Group } from '../fuse.js';
import { isStaged } from '../rows.js';
import { KernelBuilder, type LoweredKernel } from './builder.js';
import { Epilogue } from './epilogue.js';
import { kernelNest } from './kernel.js';
import { pointNest } from './point.js';
import { reduceNest } from './reduce.js';
import { rowNest } from './rowNest.js';
import { type Placement, Scope } from './scope.js';

/** Lowers the nodes of a group to one kernel. `number` makes its name unique. */
export function lowerGroup(
  program: Program,
  group: Group,
  placement: Placement,
  number: number,
  target: Target,
): LoweredKernel {
  const builder = new KernelBuilder();
  const scope = new Scope(program, builder, placement, new Set(group.members));
  const body = groupBody(program, group, scope, target);
  return builder.finish(kernelName(program, number, group.members), body);
}

function groupBody(program: Program, group: Group, scope: Scope, target: Target): Stmt {
  const [anchor] = group.anchors;
  const call = program.node(anchor) as CallNode;
  const { lowering } = declarationOf(call.op);
  switch (lowering.kind) {
    case 'point':
      return pointNest(
        scope.builder.extents,
        call.types[0].shape,
        group.writes.map((value) => ({ sink: scope.sink(value), at: scope.compute(value) })),
      );
    case 'reduce': {
      if (isStaged(program, group)) return rowNest(scope, group, target);
      const epilogue = new Epilogue(program, group, scope);
      const beside = group.beside.map((value) => ({
        sink: scope.sink(value),
        at: scope.compute(value),
      }));
      return reduceNest(scope, group.anchors, beside, epilogue, target);
    }
    case 'kernel': {
      const epilogue = new Epilogue(program, group, scope);
      const sinks = program.results(anchor).map((result) => epilogue.sink(result));
      return kernelNest(scope, anchor, call, lowering, sinks, target);
    }
    default:
      throw new InternalError(`${call.op.name} cannot be the anchor of a kernel`);
  }
}

/** A name for a kernel that tells what is in it. */
function kernelName(program: Program, number: number, nodes: readonly NodeId[]): string {
  const names = nodes.flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3}_more`] : names;
  return `k${number}_${shown.join('_')}`;
}
