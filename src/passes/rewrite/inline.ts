import type { Dim } from '../../base/dim/index.js';
import { bindProgram } from '../../ir/bind.js';
import type { CallNode, Program } from '../../ir/program.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import { instantiate, throughRegions, transform } from './transform.js';

/** True for calls whose gradient is their own derivative, so that their bodies may stand in their places at any time. */
export function hasOwnDerivative({ regions }: CallNode): boolean {
  return regions.length === 1;
}

/** Inlines calls that only run their first region; all of them, or those that `wanted` accepts. */
export function inline(
  program: Program,
  wanted: (call: CallNode) => boolean = () => true,
): Program {
  return throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        const [body] = node.regions;
        const types = operands.map(({ type }) => type);
        const dims = bindProgram<Dim>(body, types, sizesPassedBy(node), node.op.name);
        return instantiate(body, into, operands, dims);
      },
      {
        region,
        wanted: (call) => declarationOf(call.op).lowering.kind === 'inline' && wanted(call),
      },
    ),
  );
}
