import { boundsOf, type Dim } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import { currentDebugging } from '../../../base/flags.js';
import type { NodeId } from '../../../graph/graph.js';
import type { CallNode, Program } from '../../../ir/program.js';
import type { SizeChoices } from '../../../loop/language/choices.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import { verifyKernel } from '../../../loop/language/verify.js';
import { rangesIn } from '../../../loop/language/verify-ranges.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { Group } from '../../groups/group.js';
import { isStaged } from '../../groups/rows.js';
import type { ExtentParameters } from '../../../loop/language/extents.js';
import { amongThreads, KernelBuilder, type LoweredKernel } from '../nests/builder.js';
import { type Division, grainsOf, undivided } from '../../../ops/nests/cost.js';
import { Epilogue } from '../nests/epilogue.js';
import { sideStore } from '../../../ops/nests/fold.js';
import { kernelNest } from '../nests/kernel.js';
import { pointNest, pointResults } from '../nests/point.js';
import { reduceNest } from './reduce.js';
import { rowNest } from './row-nest.js';
import { type ValueLocations, KernelScope } from '../nests/scope.js';
import type { PackedLifetime } from '../nests/steady.js';

/**
 * Lowers the nodes of a group to one kernel. `number` makes its name unique. With several threads and enough
 * work, the kernel divides its results among them. `choices` records what it chooses by sizes.
 */
export function lowerGroup(
  program: Program,
  group: Group,
  placement: ValueLocations,
  number: number,
  target: DeviceTarget,
  division: Division = undivided,
  steady: PackedLifetime | null = null,
  choices: SizeChoices | null = null,
): LoweredKernel {
  const name = kernelName(program, number, group.members);
  const lower = (isDivided: boolean): GroupKernel =>
    groupKernel(program, group, placement, name, target, isDivided, steady, choices);
  if (division.keepsRanges === true) return lower(true).lowered;
  const { lowered: single, extents } = lower(false);
  if (division.threads === 1) return single;
  const grains = grainsOf(single.kernel, extents, target.vectorBytes, division);
  if (!isWorthThreads(grains, choices)) return single;
  const { lowered } = lower(true);
  if (rangesIn(lowered.kernel.body).length === 0) return single;
  if (currentDebugging().flags.verify) verifyKernel(lowered.kernel);
  return amongThreads(lowered, grains);
}

function isWorthThreads(grains: Dim, choices: SizeChoices | null): boolean {
  const most = (count: number | null): number => count ?? boundsOf(grains).max;
  return choices === null ? most(null) >= 2 : choices.choose([grains], (count) => most(count) >= 2);
}

/** A kernel, and the sizes that it takes. */
export interface GroupKernel {
  readonly lowered: LoweredKernel;
  readonly extents: ExtentParameters;
}

/** The kernel of a group; `isDivided`: with parallel ranges, where there is something to divide. */
export function groupKernel(
  program: Program,
  group: Group,
  placement: ValueLocations,
  name: string,
  target: DeviceTarget,
  isDivided: boolean,
  steady: PackedLifetime | null = null,
  choices: SizeChoices | null = null,
): GroupKernel {
  const builder = new KernelBuilder(choices);
  const scope = new KernelScope(program, builder, placement, new Set(group.members), target);
  const body = groupBody(program, group, scope, target, steady, isDivided);
  return { lowered: builder.finish(name, body), extents: builder.extents };
}

function groupBody(
  program: Program,
  group: Group,
  scope: KernelScope,
  target: DeviceTarget,
  steady: PackedLifetime | null,
  isDivided: boolean,
): Stmt {
  const [anchor] = group.anchors;
  const call = program.node(anchor) as CallNode;
  const { lowering } = declarationOf(call.op);
  switch (lowering.kind) {
    case 'point':
      return pointNest(
        scope.builder.extents,
        call.types[0].shape,
        group.writes.flatMap((value) => pointResults(scope, value)),
        isDivided,
        target,
      );
    case 'reduce': {
      if (isStaged(program, group)) return rowNest(scope, group, target, isDivided);
      const epilogue = new Epilogue(program, group, scope);
      const domain = program.operands(anchor)[0].type.shape;
      const beside = group.beside.map((value) =>
        sideStore(domain, scope.sink(value), scope.compute(value)),
      );
      return reduceNest(scope, group.anchors, beside, epilogue, target, isDivided);
    }
    case 'kernel': {
      const epilogue = new Epilogue(program, group, scope);
      const sinks = program.results(anchor).map((result) => epilogue.sink(result));
      return kernelNest(scope, anchor, call, lowering, sinks, target, isDivided, steady);
    }
    default:
      throw new InternalError(`${call.op.name} cannot be the anchor of a kernel`);
  }
}

/** A kernel name that shows its contents. */
function kernelName(program: Program, number: number, nodes: readonly NodeId[]): string {
  const names = nodes.flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
  const shown = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3}_more`] : names;
  return `k${number}_${shown.join('_')}`;
}
