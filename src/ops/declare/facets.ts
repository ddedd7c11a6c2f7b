import { passedSizes } from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import type { Operator } from '../../ir/operator.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { Declaration } from './declare.js';

/** The declaration of a program's operator. Passes ask for facets, never for names. */
export function declarationOf(op: Operator): Declaration {
  if (!('lowering' in op && 'gradient' in op)) {
    throw new InternalError(`operator ${op.name} was not declared by operator()`);
  }
  return op as Declaration;
}

/** The sizes that a call passes to each of its regions that takes some. */
export function sizesPassedBy({
  op,
  attributes,
}: Pick<CallNode, 'op' | 'attributes'>): readonly Dim[] {
  return op.attributes['sizes'] === passedSizes ? (attributes['sizes'] as readonly Dim[]) : [];
}

const rootPrograms = new WeakMap<Program, boolean>();

/** True if an operator, or a call in one of its regions, refuses elements although nobody reads its results. */
export function isRootCall(op: Operator, regions: readonly Program[]): boolean {
  // Operators of tests have no declarations.
  return (op as Partial<Declaration>).check?.isRoot === true || regions.some(hasRootCall);
}

/** True if a finished program, or a region in it, has such a call. */
export function hasRootCall(program: Program): boolean {
  let found = rootPrograms.get(program);
  if (found === undefined) {
    found = [...program.graph.nodes()].some((id) => {
      const node = program.node(id);
      return node.kind === 'call' && isRootCall(node.op, node.regions);
    });
    rootPrograms.set(program, found);
  }
  return found;
}
