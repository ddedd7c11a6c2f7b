import type { Dim } from '../../base/dim/index.js';
import { bindProgram, symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program } from '../../ir/program.js';
import { nameOfSize } from '../../ir/size-sources.js';
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
        bindDecided(node, into, dims);
        return instantiate(body, into, operands, dims);
      },
      {
        region,
        wanted: (call) => declarationOf(call.op).lowering.kind === 'inline' && wanted(call),
      },
    ),
  );
}

/**
 * Binds sizes that a body decides to those that its call does, in the order in which the call's inference asks for them. A
 * result's size may be an expression of them, which types alone could not be solved for.
 */
function bindDecided(
  { regions: [body], decides }: CallNode,
  into: Program,
  dims: Map<string, Dim>,
): void {
  const names = [...symbolsOfTypes(body.outputs.map(({ value }) => value.type)).keys()].filter((name) => !dims.has(name)); // prettier-ignore
  names.forEach((name, k) => {
    const size = decides[k]?.size ?? 0;
    const own = nameOfSize(size);
    if (own !== null && !into.knowsSize(own)) dims.set(name, size);
  });
}
