import { symbolsOf } from '../../base/dim.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { ControlLowering } from '../../ops/lowering.js';
import type { Attributes } from '../../base/schema.js';
import { declarationOf } from '../facets.js';

/** How a call uses its regions; null for one that is no control flow. */
export function controlOf({ op }: CallNode): ControlLowering<Attributes> | null {
  const { lowering } = declarationOf(op);
  switch (lowering.kind) {
    case 'foreach':
    case 'while':
    case 'branch':
      return lowering;
    default:
      return null;
  }
}

/**
 * Whether a loop or branch can be part of a kernel module: every size of its results is `known` before it
 * starts, and nothing inside decides any, so that all of its memory can be planned.
 */
export function canCompile(call: CallNode, known: (symbol: string) => boolean): boolean {
  const isKnown = call.types.every(({ shape }) =>
    shape.every((dim) => [...symbolsOf(dim)].every(known)),
  );
  return isKnown && call.regions.every(decidesNoSize);
}

/** Whether all sizes of a program follow from those of its inputs. */
export function decidesNoSize(program: Program): boolean {
  const known = symbolsOfTypes(program.inputs.map(({ type }) => type));
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    for (const name of symbolsOfTypes(node.types).keys()) if (!known.has(name)) return false;
    if (node.regions.length > 0 && !node.regions.every(decidesNoSize)) return false;
  }
  return true;
}
