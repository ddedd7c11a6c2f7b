import { symbolsOf } from '../base/dim.js';
import { symbolsOfAttributes } from '../base/schema.js';
import type { NodeId } from '../graph/graph.js';
import { symbolsOfTypes } from '../ir/bind.js';
import type { CallNode, Program, Value } from '../ir/program.js';
import { dimsOf } from '../ir/requirement.js';

/**
 * The symbols that no input brings, by the call that introduces each: the first whose results speak of
 * it. Only the data decides them. Other inputs than `inputs` are taken to bring nothing.
 */
export function ownSymbols(
  program: Program,
  inputs: readonly Value[] = program.inputs,
): ReadonlyMap<string, NodeId> {
  const own = new Map<string, NodeId>();
  const seen = new Set<string>();
  const given = new Set<string>();
  for (const { type } of inputs) {
    for (const dim of type.shape) if (typeof dim !== 'number') symbolsOf(dim, given);
  }
  for (const id of program.graph.nodes()) {
    for (const { type } of program.results(id)) {
      for (const dim of type.shape) {
        if (typeof dim === 'number' || seen.has(dim.key)) continue;
        seen.add(dim.key);
        for (const name of symbolsOf(dim)) {
          if (!given.has(name) && !own.has(name)) own.set(name, id);
        }
      }
    }
  }
  return own;
}

/** Those of them of which the program requires something. */
export function requiredOwnSymbols(
  { requirements }: Program,
  own: ReadonlyMap<string, NodeId>,
): ReadonlyMap<string, NodeId> {
  const found = new Map<string, NodeId>();
  if (own.size === 0) return found;
  for (const dim of requirements.flatMap(dimsOf)) {
    for (const name of symbolsOf(dim)) {
      const introducer = own.get(name);
      if (introducer !== undefined) found.set(name, introducer);
    }
  }
  return found;
}

/** The symbols that a call's results and attributes speak of. */
export function symbolsOfCall({ op, attributes, types }: CallNode): Iterable<string> {
  return symbolsOfAttributes(op.attributes, attributes, symbolsOfTypes(types)).keys();
}
