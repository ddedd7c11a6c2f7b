import { type Dim, elementCount, symbolsOf } from '../../../base/dim/index.js';
import type { CallNode, Program } from '../../../ir/program.js';
import type { ControlLowering } from '../../../ops/declare/lowering.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import { dimsOf } from '../../../ir/requirement.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import { isExtents } from '../../rewrite/measure.js';
import { givesOwnSizes } from '../../rewrite/outputs.js';
import { nameOfSize } from '../../../ir/size-sources.js';
import { symbolicUpperBound, type UnknownSymbols } from '../../groups/room.js';

/** Control form of a call; null for a call without control flow. */
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
 * True when a loop or branch can be part of a kernel module: every size of its results is `known` before it
 * starts, and data-dependent sizes inside are bounded, so that its memory can be planned.
 */
export function canCompile(call: CallNode, known: (symbol: string) => boolean): boolean {
  const isKnown = call.types.every(({ shape }) =>
    shape.every((dim) => [...symbolsOf(dim)].every(known)),
  );
  return (
    isKnown &&
    !mayBranchRefuse(call) &&
    call.regions.every((region) => isBounded(region) && !givesOwnSizes(region))
  );
}

/** True for a branch that requires more of sizes than the program around it. */
function mayBranchRefuse(call: CallNode): boolean {
  return (
    controlOf(call)?.kind === 'branch' &&
    call.regions.some(({ requirements }) => requirements.length > 0)
  );
}

/** True when all sizes of a program follow from those of its inputs, or are bounded by these. */
function isBounded(program: Program): boolean {
  if (program.decidedSizes.size > 0 && !boundsItself(program)) return false;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    if (mayBranchRefuse(node) || !node.regions.every(isBounded)) return false;
  }
  return true;
}

/** True when the data-dependent sizes of a program need neither checks nor unbounded memory. */
function boundsItself(program: Program): boolean {
  const own = program.decidedSizes;
  const isOwn = (dim: Dim): boolean => [...symbolsOf(dim)].some((name) => own.has(name));
  const bounds = new Map<string, Dim | null>();
  const unknown: UnknownSymbols = {
    has: (name) => own.has(name),
    most: (name) => bounds.get(name) ?? null,
  };
  for (const [name, { node }] of own) {
    const call = program.node(node) as CallNode;
    if (!isExtents(call)) return false;
    const most = call.decides.find(({ size }) => nameOfSize(size) === name)?.most ?? null;
    bounds.set(name, most === null ? null : symbolicUpperBound(most, unknown));
  }
  // A kernel cannot refuse sizes, and must not run on wrong ones.
  if (program.requirements.some((requirement) => dimsOf(requirement).some(isOwn))) return false;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call' || isExtents(node)) continue;
    for (const { shape } of node.types) {
      if (shape.some(isOwn) && symbolicUpperBound(elementCount(shape), unknown) === null)
        return false;
    }
  }
  return true;
}
