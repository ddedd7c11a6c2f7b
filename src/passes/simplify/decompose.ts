import { InternalError } from '../../base/errors.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { Attributes } from '../../base/attributes/schema.js';
import { type KernelLowering, mostOperands } from '../../ops/declare/lowering.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { isMeasured, measureFirst, withUnreadExtents } from '../rewrite/measure.js';
import { throughRegions, transform } from '../rewrite/transform.js';

/** No honest chain of decompositions is longer; one that is expands into itself. */
const deepest = 64;

/**
 * Replaces every call of an operator that is written in other operators by those, until none is left,
 * in regions too. The new calls carry the source of the call they stand for. Before a call whose data
 * decides sizes, in whatever way it is computed, come the calls that compute these.
 */
export function decompose(program: Program): Program {
  return throughRegions(program, (inner, region) => {
    let current = withUnreadExtents(inner, region);
    for (let depth = 0; ; depth++) {
      let last: CallNode | undefined;
      const introducers = new Set([...current.decidedSizes.values()].map(({ node }) => node));
      const next = transform(
        current,
        ({ node, id, operands, into }) => {
          if (node.kind !== 'call') return undefined;
          const isMeasuredHere = introducers.has(id) && isMeasured(node);
          if (!isMeasuredHere && !isDecomposed(node, operands.length)) return undefined;
          last = node;
          if (isMeasuredHere) measureFirst(node, operands, into);
          return expanded(node, operands, into);
        },
        {
          wanted: (call) =>
            isDecomposed(call, Infinity) || (introducers.size > 0 && isMeasured(call)),
        },
      );
      if (last === undefined) return current;
      if (depth === deepest) {
        throw new InternalError('the decomposition never ends', { op: last.op.name });
      }
      current = next;
    }
  });
}

function isDecomposed({ op }: CallNode, operands: number): boolean {
  const { lowering } = declarationOf(op);
  if (lowering.kind === 'kernel') return lowering.divided !== undefined && operands > mostOperands;
  return lowering.kind === 'decompose';
}

/** A call by other operators, or by itself. */
function expanded(call: CallNode, operands: readonly Value[], into: Program): readonly Value[] {
  const { lowering } = declarationOf(call.op);
  const { attributes, types: outputTypes } = call;
  const context = { attributes, inputs: operands, outputTypes };
  if (lowering.kind === 'decompose') return into.assuming(() => lowering.decompose(context));
  if (!isDecomposed(call, operands.length)) return into.appendNode(call, operands);
  return into.assuming(() => (lowering as KernelLowering<Attributes>).divided!(context));
}
