import { boundsOf } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import type { NodeId } from '../../../graph/graph.js';
import type { CallNode, Program } from '../../../ir/program.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { alone, type Team } from '../../../loop/language/team.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { Group } from '../../groups/group.js';
import { isStaged } from '../../groups/rows.js';
import { KernelBuilder, type LoweredKernel } from '../nests/builder.js';
import { type Division, grainsOf, undivided } from '../nests/cost.js';
import { Epilogue } from '../nests/epilogue.js';
import { sideStore } from '../reductions/fold.js';
import { kernelNest } from '../nests/kernel.js';
import { pointNest } from '../nests/point.js';
import { reduceNest } from '../reductions/reduce.js';
import { rowNest } from './row-nest.js';
import { type ValueLocations, KernelScope } from '../nests/scope.js';
import type { PackedLifetime } from '../nests/steady.js';

/**
 * Lowers the nodes of a group to one kernel. `number` makes its name unique. Where there are several threads
 * and enough to do, the kernel divides its results among them.
 */
export function lowerGroup(
  program: Program,
  group: Group,
  placement: ValueLocations,
  number: number,
  target: DeviceTarget,
  division: Division = undivided,
  steady: PackedLifetime | null = null,
): LoweredKernel {
  const name = kernelName(program, number, group.members);
  const members = new Set(group.members);
  const lower = (divided: boolean): { readonly builder: KernelBuilder; readonly body: Stmt } => {
    const builder = new KernelBuilder();
    const scope = new KernelScope(program, builder, placement, members);
    const body = groupBody(
      program,
      group,
      scope,
      target,
      steady,
      divided ? () => builder.team : null,
    );
    return { builder, body };
  };
  const single = lower(false);
  const whole = single.builder.finish(name, single.body);
  if (division.threads === 1) return whole;
  const grains = grainsOf(whole.kernel, single.builder.extents, target.vectorBytes, division);
  if (boundsOf(grains).max < 2) return whole;
  const { builder, body } = lower(true);
  return builder.isDivided ? builder.finish(name, body, grains) : whole;
}

/** `team`, where it is not null, gives the threads that may divide the results. */
function groupBody(
  program: Program,
  group: Group,
  scope: KernelScope,
  target: DeviceTarget,
  steady: PackedLifetime | null,
  team: (() => Team) | null,
): Stmt {
  const [anchor] = group.anchors;
  const call = program.node(anchor) as CallNode;
  const { lowering } = declarationOf(call.op);
  switch (lowering.kind) {
    case 'point':
      return pointNest(
        scope.builder.extents,
        call.types[0].shape,
        group.writes.map((value) => ({ sink: scope.sink(value), at: scope.compute(value) })),
        team,
      );
    case 'reduce': {
      if (isStaged(program, group)) return rowNest(scope, group, target, team);
      const epilogue = new Epilogue(program, group, scope);
      const domain = program.operands(anchor)[0].type.shape;
      const beside = group.beside.map((value) =>
        sideStore(domain, scope.sink(value), scope.compute(value)),
      );
      return reduceNest(scope, group.anchors, beside, epilogue, target, team);
    }
    case 'kernel': {
      const epilogue = new Epilogue(program, group, scope);
      const sinks = program.results(anchor).map((result) => epilogue.sink(result));
      const members = team !== null && lowering.divides === true ? team() : alone;
      return kernelNest(scope, anchor, call, lowering, sinks, target, members, steady);
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
