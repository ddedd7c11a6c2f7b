/* Sizes that calls decide, in files and texts: read, and found for calls that do not state them. */
import { checkAttributes } from '../../base/attributes/schema.js';
import { type Dim, symbol } from '../../base/dim/index.js';
import { bindResults, symbolsOfTypes } from '../bind.js';
import type { CallNode, DecidedSize, Program, Value } from '../program.js';
import { requireNow } from '../requirement.js';
import { differentTypes, properCall } from '../verify.js';

/**
 * The sizes that a call decides, for a program written without them: its types are inferred with placeholders,
 * which are then found by matching the recorded types.
 *
 * @throws GraphError for a call that its operator refuses.
 */
export function findDecided(
  program: Program,
  call: Omit<CallNode, 'kind' | 'decides'>,
  operands: readonly Value[],
): readonly DecidedSize[] {
  const { op, attributes, regions, types } = call;
  const inputs = operands.map(({ type }) => type);
  const taken = new Set(symbolsOfTypes([...inputs, ...types]).keys());
  const asked: { readonly name: string; readonly size: Dim; readonly most: Dim | null }[] = [];
  return properCall(program.graph.nodeCount, call, () => {
    checkAttributes(op.name, op.attributes, attributes);
    const inferred = op.infer({
      inputs,
      attributes,
      regions,
      fresh: (hint, bounds) => {
        let name = `${hint}__${asked.length}`;
        while (taken.has(name)) name += '_';
        taken.add(name);
        const size = symbol(name, bounds);
        asked.push({ name, size, most: bounds?.most ?? null });
        return size;
      },
      require: requireNow,
    });
    // The verifier compares types that differ otherwise.
    if (asked.length === 0 || inferred.length !== types.length) return [];
    const known = new Map<string, Dim>();
    for (const [name, bounds] of symbolsOfTypes(inferred)) known.set(name, symbol(name, bounds));
    for (const { name } of asked) known.delete(name);
    try {
      const found = bindResults<Dim>(inferred, types, op.name, known);
      // A size that no result has keeps its placeholder.
      return asked.map(({ name, size, most }) => ({ size: found.get(name) ?? size, most }));
    } catch (error) {
      throw differentTypes(inferred, types, error);
    }
  });
}
