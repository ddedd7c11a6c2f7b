import { sameShape } from '../../base/dim/index.js';
import type { CallNode, Program } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { isSmallEnough } from './agree.js';
import type { Cluster, Clusters } from './clusters.js';

/**
 * The point group that makes all operands of a concatenation over its own domain, and so can store them in the result
 * itself; null when there is none.
 */
export function joinedProducer(
  program: Program,
  clusters: Clusters,
  cluster: Cluster,
): Cluster | null {
  const { kind, members, anchors } = cluster.draft;
  if (kind !== 'kernel' || members.size > 1) return null;
  const [id] = anchors;
  const call = program.node(id) as CallNode;
  const { lowering } = declarationOf(call.op);
  if (lowering.kind !== 'kernel' || lowering.joinedAxis === undefined) return null;
  const [from, ...others] = clusters.producers(cluster);
  if (from === undefined || others.length > 0 || from.draft.kind !== 'point') return null;
  const { domain } = from.draft;
  // A result of the producer's own shape, as of empty arrays, could take the place of what the producer reads.
  if (sameShape(domain, call.types[0].shape)) return null;
  const isMadeHere = program
    .operands(id)
    .every((operand) => from.writes.has(operand) && sameShape(operand.type.shape, domain));
  return isMadeHere && isSmallEnough(from, cluster) ? from : null;
}
