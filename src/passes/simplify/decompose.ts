import { InternalError } from '../../base/errors.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { Attributes } from '../../base/attributes/schema.js';
import { type KernelLowering, mostOperands } from '../../ops/declare/lowering.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { isMeasured, measureFirst, withUnreadExtents } from '../rewrite/measure.js';
import { throughRegions, transform } from '../rewrite/transform.js';

/** Limit of chained decompositions: a longer chain expands into itself. */
const deepest = 64;

/** Decomposes operators into other operators until none is left to decompose, in regions too. */
export function decompose(program: Program): Program {
  return decomposeUnless(program, () => false);
}

/**
 * Decomposes all operators but calls that are to stay as they are. The new calls carry the source of the original. A
 * call whose data decides sizes is preceded by the calls that compute these, whether it is to stay or not.
 */
export function decomposeUnless(
  program: Program,
  stays: (call: CallNode, operands: readonly Value[]) => boolean,
): Program {
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
          const isExpanded = isDecomposed(node, operands.length) && !stays(node, operands);
          if (!isMeasuredHere && !isExpanded) return undefined;
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

/** The expansion of a call, or the call itself. */
function expanded(call: CallNode, operands: readonly Value[], into: Program): readonly Value[] {
  const { lowering } = declarationOf(call.op);
  const { attributes, types: outputTypes } = call;
  const context = { attributes, inputs: operands, outputTypes };
  if (lowering.kind === 'decompose') return into.assuming(() => lowering.decompose(context));
  if (!isDecomposed(call, operands.length)) return into.appendNode(call, operands);
  return into.assuming(() => (lowering as KernelLowering<Attributes>).divided!(context));
}
