import { bytesOf } from '../../base/dtype.js';
import { type Dim, floorDivDim, mulDim, sameShape, elementCount } from '../../base/dim/index.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Costs } from './cost.js';
import { type Continuation, continuations, effortOf, fitsBehind, together } from './epilogue.js';
import { isExtents } from '../rewrite/measure.js';
import { isView, sameButForOnes, viewed } from '../rewrite/views.js';

/** A group under construction. */
export interface Draft {
  anchors: NodeId[];
  members: Set<NodeId>;
  /** The shape over which the loops run. */
  domain: readonly Dim[];
  /**
   * A loop or branch, or a call that makes sizes from data, is not a kernel and fuses with nothing. `rows`:
   * several dependent reductions over the same rows.
   */
  kind: 'point' | 'reduce' | 'rows' | 'kernel' | 'control';
  /** True when it was kept apart from its reader, so that a kernel can compute it as an epilogue. */
  continuesKernel: boolean;
  /**
   * Indices at which members are evaluated. A member may be evaluated at several indices for one point of the
   * domain; each is a path, named here, with the total number of evaluations.
   */
  paths: Map<NodeId, Map<string, Dim>>;
}

/** The path of values at the index of the domain itself. */
export const identityPath = 'i';

/**
 * Work that may be repeated instead of stored. A store and a load cost about as much as a few additions when
 * the data is in the cache, and far more when it is not.
 */
const cheapWork = 4;

/** Limit of members: a larger kernel gains nothing, and takes ever longer to compile. */
export const mostMembers = 64;

/** A reader of a value, looking through views. */
interface Use {
  readonly reader: NodeId;
  readonly operand: number;
  /** False when a view in between changes indices by more than axes of size 1. */
  readonly keepsIndex: boolean;
}

/**
 * Decides for every point operator, readers first, whether it is inlined into its readers. The rules:
 *
 * - an output of the program, and a value read through a reshape, goes to memory;
 * - so does an operand of a kernel, unless it is a rearrangement and the kernel reads in any order;
 * - a value evaluated no more often than it has elements, by one group, is inlined;
 * - others are inlined only when the whole chain of repeated work stays cheap;
 * - a possible epilogue of a kernel stays out of a group that is too long to be one, such as a bias before an
 *   activation.
 */
export function inlinePoints(program: Program, costs: Costs): Draft[] {
  const { graph } = program;
  const uses = collectUses(program);
  const homes: (readonly Draft[])[] = [];
  /** By node: the work that repeating it repeats. */
  const repeated = new Map<NodeId, number>();
  const outputs = new Set(program.outputs.map(({ value }) => viewed(program, value).node));
  const drafts: Draft[] = [];
  const continued = continuations(program, costs, (id) => uses[id].length);

  for (let n = graph.nodeCount - 1; n >= 0; n--) {
    const id = n as NodeId;
    const node = program.node(id);
    if (node.kind !== 'call' || isView(program, id)) continue;
    const { lowering } = declarationOf(node.op);
    if (lowering.kind === 'point' && !isExtents(node)) {
      const [value] = program.results(id);
      const places = outputs.has(id) ? null : readingPaths(program, value, uses[id], homes, costs);
      if (places !== null && places.length > 0) {
        const evaluations = places.flatMap(({ paths }) => [...paths.values()]);
        const isOnce =
          places.length === 1 && atMostOnce(evaluations, elementCount(value.type.shape));
        const chain = isOnce ? 0 : repeatedWork(id, uses[id], repeated, costs);
        const fits = places.every(({ draft }) => draft.members.size < mostMembers);
        const isCut = isOnce && wouldBeTooLong(continued.get(id), places[0].draft, costs);
        if (fits && !isCut && (isOnce || chain <= cheapWork)) {
          if (!isOnce) repeated.set(id, chain);
          for (const { draft, paths } of places) {
            draft.members.add(id);
            draft.paths.set(id, paths);
          }
          homes[id] = places.map(({ draft }) => draft);
          continue;
        }
      }
    }
    const draft = newDraft(program, id, node);
    draft.continuesKernel = continued.has(id);
    homes[id] = [draft];
    drafts.push(draft);
  }
  return drafts.reverse();
}

/** The work that repeating a node repeats: its own, and the longest chain of repeated work before it. */
function repeatedWork(
  id: NodeId,
  uses: readonly Use[],
  repeated: ReadonlyMap<NodeId, number>,
  costs: Costs,
): number {
  let behind = 0;
  for (const { reader } of uses) behind = Math.max(behind, repeated.get(reader) ?? 0);
  return costs.of(id).work + behind;
}

/** True when a group that absorbs a possible epilogue could not become an epilogue itself. */
function wouldBeTooLong(
  before: Continuation | undefined,
  { kind, members }: Draft,
  costs: Costs,
): boolean {
  if (before === undefined || kind !== 'point') return false;
  const effort = together(before.effort, effortOf(members, costs));
  return !fitsBehind(before.kernel, effort, costs);
}

function newDraft(program: Program, id: NodeId, node: CallNode): Draft {
  const kind = kindOf(node);
  // A loop may have no result.
  const [{ shape }] = kind === 'reduce' ? operandTypes(program, id) : [...node.types, noType];
  const domain = shape;
  const paths = new Map([[id, new Map([[identityPath, elementCount(domain)]])]]);
  return { anchors: [id], members: new Set([id]), domain, kind, continuesKernel: false, paths };
}

const noType = { shape: [] };

function operandTypes(program: Program, id: NodeId): readonly { readonly shape: readonly Dim[] }[] {
  return program.operands(id).map(({ type }) => type);
}

function kindOf(node: CallNode): Draft['kind'] {
  const { kind } = declarationOf(node.op).lowering;
  if (isExtents(node)) return 'control';
  return kind === 'point' || kind === 'reduce' || kind === 'kernel' ? kind : 'control';
}

function collectUses(program: Program): readonly (readonly Use[])[] {
  const uses: Use[][] = Array.from({ length: program.graph.nodeCount }, () => []);
  for (const reader of program.graph.nodes()) {
    if (program.node(reader).kind !== 'call' || isView(program, reader)) continue;
    program.operands(reader).forEach((value, operand) => {
      const base = viewed(program, value);
      const keepsIndex = base === value || sameButForOnes(base.type.shape, value.type.shape);
      uses[base.node].push({ reader, operand, keepsIndex });
    });
  }
  return uses;
}

/** The readers in which a value can be inlined, with the paths; null when it cannot be. */
function readingPaths(
  program: Program,
  value: Value,
  uses: readonly Use[],
  homes: readonly (readonly Draft[])[],
  costs: Costs,
): { readonly draft: Draft; readonly paths: Map<string, Dim> }[] | null {
  const byDraft = new Map<Draft, Map<string, Dim>>();
  for (const { reader, operand, keepsIndex } of uses) {
    const call = program.node(reader) as CallNode;
    const { lowering } = declarationOf(call.op);
    if (!keepsIndex || kindOf(call) === 'control') return null;
    if (lowering.kind === 'reduce' && operand !== 0) return null;
    if (lowering.kind === 'kernel' && lowering.readsAnyOrder !== true) return null;
    // A kernel may read an element several times: it looks through rearrangements, but not through work.
    const isInKernel = homes[reader].some(({ kind }) => kind === 'kernel');
    if (isInKernel && (costs.of(value.node).work > 0 || isWider(costs, value))) return null;
    const seen = program.operands(reader)[operand].type.shape;
    const isDirect = seen.length === value.type.shape.length;
    for (const draft of homes[reader]) {
      let paths = byDraft.get(draft);
      if (paths === undefined) byDraft.set(draft, (paths = new Map()));
      if (lowering.kind !== 'point') {
        const isFolded = lowering.kind === 'reduce' && isDirect;
        paths.set(isFolded ? identityPath : `${reader}.${operand}`, elementCount(value.type.shape));
        continue;
      }
      for (const [path, evaluations] of draft.paths.get(reader)!) {
        if (lowering.elementwise && isDirect && sameShape(seen, call.types[0].shape)) {
          paths.set(path, evaluations);
        } else if (lowering.elementwise) {
          // Broadcasting to one shape along one path always reads the same elements.
          paths.set(`${path}[${value.type.shape.map(String).join()}]`, evaluations);
        } else {
          const reads = costs.of(reader).reads[operand];
          paths.set(`${path}/${reader}.${operand}`, mulDim(evaluations, reads));
        }
      }
    }
  }
  return [...byDraft].map(([draft, paths]) => ({ draft, paths }));
}

/** True when a value needs wider scalars than the kernel's vectors hold, as gathering at 64-bit indices does. */
function isWider(costs: Costs, { node, type }: Value): boolean {
  return costs.of(node).width > Math.max(4, bytesOf(type.dtype));
}

/** True when evaluations provably do not exceed the number of elements. */
function atMostOnce(evaluations: readonly Dim[], elements: Dim): boolean {
  let total = 0;
  for (const count of evaluations) {
    if (typeof count === 'number' && typeof elements === 'number') {
      total += elements === 0 ? 0 : count / elements;
    } else {
      const ratio = elements === 0 ? 0 : floorDivDim(count, elements);
      if (typeof ratio !== 'number') return false;
      total += ratio; // exact: of polynomials, only exact quotients are numbers
    }
  }
  return total <= 1;
}
