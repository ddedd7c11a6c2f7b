import { bytesOf } from '../../base/dtype.js';
import { sameShape } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { viewed } from '../rewrite/views.js';
import type { Cluster } from './clusters.js';
import type { Costs } from './cost.js';
import { effortOf, fitsBehind } from './epilogue.js';
import { identityPath, mostMembers } from './inline.js';

/** Most arrays that one nest keeps in flight: registers, and the ways of a cache, are few. */
const mostStreams = 24;

/** True when values that one cluster writes can be passed in registers to another that reads them. */
export function canPassInRegisters(
  program: Program,
  costs: Costs,
  from: Cluster,
  into: Cluster,
): boolean {
  if (from.draft.kind === 'control' || into.draft.kind === 'control') return false;
  if (from.draft.kind === 'rows') return false;
  const isEpilogue = from.draft.kind !== 'point';
  if (isEpilogue ? into.draft.kind !== 'point' : into.draft.kind === 'kernel') return false;
  if (!isSmallEnough(from, into)) return false;
  if (from.draft.kind === 'kernel') {
    const [anchor] = from.draft.anchors;
    const effort = effortOf(into.draft.members, costs);
    if (!fitsBehind(program.results(anchor)[0], effort, costs)) return false;
  }
  const { domain } = into.draft;
  if (!isEpilogue && !sameShape(from.draft.domain, domain)) return false;
  const continued = isEpilogue ? epilogueValues(program, from) : null;
  for (const value of into.reads) {
    if (!from.writes.has(value)) continue;
    if (continued !== null) {
      if (!continued.has(value) || !sameShape(value.type.shape, domain)) return false;
    }
    if (!readOnlyAtIdentity(program, value, into)) return false;
  }
  return true;
}

/**
 * Values that a kernel's epilogue may read: the kernel's results and values derived from them in the
 * epilogue. Operators with several results store them separately, so they have no epilogue.
 */
function epilogueValues(program: Program, { draft, writes, beside }: Cluster): ReadonlySet<Value> {
  const [anchor] = draft.anchors;
  if (draft.kind === 'kernel' && program.results(anchor).length > 1) return new Set();
  return new Set([...writes].filter((value) => !beside.has(value)));
}

/** True when every member that reads a value does so at the index of the domain. */
export function readOnlyAtIdentity(program: Program, value: Value, { draft }: Cluster): boolean {
  for (const id of draft.members) {
    const operands = program.operands(id);
    for (let k = 0; k < operands.length; k++) {
      const operand = operands[k];
      if (viewed(program, operand) !== value) continue;
      if (operand !== value) return false;
      const call = program.node(id) as CallNode;
      const { lowering } = declarationOf(call.op);
      if (lowering.kind === 'reduce') {
        if (k !== 0) return false;
        continue;
      }
      if (lowering.kind !== 'point' || !lowering.elementwise) return false;
      if (!sameShape(value.type.shape, call.types[0].shape)) return false;
      const paths = draft.paths.get(id);
      if (paths === undefined || paths.size !== 1 || !paths.has(identityPath)) return false;
    }
  }
  return true;
}

/**
 * True when two point groups over one domain write elements of one width, so that the vectors of the nest of both are
 * as wide as those of each.
 */
export function haveSamePoints(a: Cluster, b: Cluster): boolean {
  const widths = new Set([...a.writes, ...b.writes].map(({ type }) => bytesOf(type.dtype)));
  return sameShape(a.draft.domain, b.draft.domain) && widths.size === 1;
}

/** True when two reductions fold the same axes of values of one shape. */
export function haveSameFolds(program: Program, a: Cluster, b: Cluster): boolean {
  const [x, y] = [a, b].map(({ draft }) => foldedAxes(program, draft.anchors[0]));
  return sameShape(a.draft.domain, b.draft.domain) && x.join() === y.join();
}

function foldedAxes(program: Program, id: NodeId): readonly number[] {
  const call = program.node(id) as CallNode;
  const { lowering } = declarationOf(call.op);
  if (lowering.kind !== 'reduce') return [];
  return lowering.axes(call.attributes, program.operands(id)[0].type.shape.length);
}

/** True when the merged kernel of two clusters is small enough to profit. */
export function isSmallEnough(from: Cluster, into: Cluster): boolean {
  const streams = from.reads.size + into.reads.size + from.writes.size + into.writes.size;
  return streams <= mostStreams && from.draft.members.size + into.draft.members.size <= mostMembers;
}
