import {
  boundsOf,
  type Dim,
  elementCount,
  fromAtom,
  sameDim,
  substituteDim,
  symbolsOf,
} from '../../../base/dim/index.js';
import type { NodeId } from '../../../graph/graph.js';
import { symbolsOfTypes } from '../../../ir/bind.js';
import type { CallNode, Program } from '../../../ir/program.js';
import { dimsOf, type Requirement } from '../../../ir/requirement.js';
import { nameOfSize, symbolsOfCall } from '../../../ir/size-sources.js';
import { symbolicUpperBound, type UnknownSymbols } from '../../groups/room.js';
import { isExtents } from '../../rewrite/measure.js';

/**
 * The calls whose data decides sizes that an island need not stop for: the sizes have bounds in sizes that are known
 * before, so that there is room for all arrays. What is required of them the host refuses when the island has run, which
 * is right where it holds for the bounds: what is read beyond a size until then lies within the room of the array. An
 * array with two such sizes in one product is not made room for: it would be far larger than what is selected.
 *
 * @param mayKeep False for a call that cannot be in an island, or whose sizes the host knows anyway.
 */
export function keptSizes(
  program: Program,
  mayKeep: (call: CallNode, id: NodeId) => boolean,
): ReadonlySet<NodeId> {
  const kept = new Map<string, { readonly id: NodeId; readonly most: Dim | null }>();
  for (const [id, call] of program.calls()) {
    if (!isExtents(call)) continue;
    if (!isOpen(program, call, id) || !mayKeep(call, id)) continue;
    for (const { size, most } of call.decides) kept.set(nameOfSize(size)!, { id, most });
  }
  if (kept.size === 0) return new Set();
  const unknown: UnknownSymbols = {
    has: (name) => kept.has(name),
    most: (name) => {
      const most = kept.get(name)?.most ?? null;
      return most === null ? null : symbolicUpperBound(most, unknown);
    },
  };
  /** The others of a call go with one of its sizes. */
  const drop = (id: NodeId): boolean => {
    for (const [name, each] of kept) if (each.id === id) kept.delete(name);
    return true;
  };
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const name of refused(program, unknown)) {
      const found = kept.get(name);
      if (found !== undefined) isChanged = drop(found.id);
    }
  }
  return new Set([...kept.values()].map(({ id }) => id));
}

/** Names of sizes that cannot be kept. */
function refused(program: Program, unknown: UnknownSymbols): ReadonlySet<string> {
  const names = new Set<string>();
  const refuse = (dim: Dim): void => {
    for (const name of symbolsOf(dim)) if (unknown.has(name)) names.add(name);
  };
  for (const requirement of program.requirements) {
    if (!holdsForBounds(requirement, unknown)) dimsOf(requirement).forEach(refuse);
  }
  for (const [, node] of program.calls()) {
    if (isExtents(node)) continue;
    for (const { shape } of node.types) {
      if (!shape.some((dim) => [...symbolsOf(dim)].some((name) => unknown.has(name)))) continue;
      const count = elementCount(shape);
      if (isProduct(count, unknown) || symbolicUpperBound(count, unknown) === null) refuse(count);
    }
  }
  return names;
}

/** True where a requirement holds if all sizes that are not known are as large as they can be. */
function holdsForBounds({ condition }: Requirement, unknown: UnknownSymbols): boolean {
  const { dim, relation } = condition;
  const most = new Map<string, Dim>();
  for (const name of symbolsOf(dim)) {
    if (!unknown.has(name)) continue;
    const bound = unknown.most!(name);
    if (bound === null) return false;
    most.set(name, bound);
  }
  const { min, max } = boundsOf(substituteDim(dim, most));
  return relation === '=' ? min === 0 && max === 0 : min >= 0;
}

/** True for a sum of which a term multiplies sizes that are not known. */
function isProduct(dim: Dim, unknown: UnknownSymbols): boolean {
  if (typeof dim === 'number') return false;
  return dim.terms.some(({ atoms }) => {
    const open = atoms.filter((atom) => {
      // As the factors of sizes that meet, which are 0 or 1.
      if (boundsOf(fromAtom(atom)).max <= 1) return false;
      const names = atom.kind === 'symbol' ? [atom.name] : [atom.left, atom.right].flatMap((side) => [...symbolsOf(side)]); // prettier-ignore
      return names.some((name) => unknown.has(name));
    });
    return open.length > 1;
  });
}

/** True for a call whose sizes it is the first to decide, each a symbol of its own. */
function isOpen(program: Program, call: CallNode, id: NodeId): boolean {
  const sources = program.decidedSizes;
  const [{ shape }] = call.types;
  return (
    shape.length === call.decides.length &&
    call.decides.every(({ size }, axis) => {
      const name = nameOfSize(size);
      return name !== null && sources.get(name)?.node === id && sameDim(shape[axis], size);
    })
  );
}

/** The symbols that a call, its operands and its results speak of. */
export function symbolsAround(program: Program, id: NodeId): ReadonlySet<string> {
  const operands = program.operands(id).map(({ type }) => type);
  return new Set([
    ...symbolsOfTypes(operands).keys(),
    ...symbolsOfCall(program.node(id) as CallNode),
  ]);
}
