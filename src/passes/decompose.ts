import { InternalError } from '../base/errors.js';
import type { CallNode, Program } from '../ir/program.js';
import { declarationOf } from './facets.js';
import { throughRegions, transform } from './transform.js';

/** No honest chain of decompositions is longer; one that is expands into itself. */
const deepest = 64;

/**
 * Replaces every call of an operator that is written in other operators by those, until none is left,
 * in regions too. The new calls carry the source of the call they stand for.
 */
export function decompose(program: Program): Program {
  return throughRegions(program, (inner, region) => {
    let current = transform(inner, () => undefined, { region, wanted: () => false });
    for (let depth = 0; ; depth++) {
      let last: CallNode | undefined;
      const next = transform(
        current,
        ({ node, operands }) => {
          if (node.kind !== 'call') return undefined;
          const { lowering } = declarationOf(node.op);
          if (lowering.kind !== 'decompose') return undefined;
          last = node;
          return lowering.decompose({
            attributes: node.attributes,
            inputs: operands,
            outputTypes: node.types,
          });
        },
        { wanted: ({ op }) => declarationOf(op).lowering.kind === 'decompose' },
      );
      if (last === undefined) return current;
      if (depth === deepest) {
        throw new InternalError('the decomposition never ends', { op: last.op.name });
      }
      current = next;
    }
  });
}
