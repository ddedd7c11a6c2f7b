import {
  boundsOf,
  type Dim,
  substituteDim,
  symbol,
  symbolsOf,
  symbolTable,
} from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import {
  bindResults,
  givenSizes,
  substituteCall,
  substituteType,
  symbolsOfTypes,
} from '../../ir/bind.js';
import {
  type CallNode,
  type ConstantNode,
  Program,
  typeToString,
  type Value,
} from '../../ir/program.js';
import { requireAt, type Requirement, requireOrKeep, speaksOnlyOf } from '../../ir/requirement.js';
import { programRanges } from '../../ir/formats/text.js';
import { sameType, type TensorType } from '../../ir/types.js';
import { boundsIn, haveSameBounds, withInferredTypes } from './decided-sizes.js';

/** A node of the old program while it is rebuilt. */
export interface Site {
  /** The original node, but in the new program's dimensions and with transformed regions. */
  readonly node: CallNode | ConstantNode;
  /** Its id in the old program. */
  readonly id: NodeId;
  /** Its operands, in the new program. */
  readonly operands: readonly Value[];
  /** The new program; nodes appended to it here get the node's source. */
  readonly into: Program;
  /** Copies the node now, for a visitor that needs the copy's values. */
  copy(): readonly Value[];
}

/** Results of an omitted node; one shared object, since there may be many. */
const nothing: readonly Value[] = [];

/** The replacement of a node's results, or undefined to copy the node. */
export type Visit = (site: Site) => readonly Value[] | undefined;

export interface RewriteOptions {
  /** Transformation of the regions of calls; they are kept when absent. */
  readonly region?: (region: Program) => Program;
  /** False for nodes to omit; no remaining node may read them. */
  readonly keep?: (id: NodeId) => boolean;
  /** Calls to visit; everything else is copied. Without any, nothing is built. Default all nodes. */
  readonly wanted?: (call: CallNode, id: NodeId) => boolean;
}

/**
 * Rebuilds a program node by node into a new one. Variables keep their names and order, copies keep their
 * sources, outputs keep their names. A replacement must have the types of the original; where the original
 * node introduced a dimension of its own, the replacement's dimension takes its place in everything that
 * follows. When nothing was replaced or omitted, the result is `program` itself.
 */
export function transform(program: Program, visit: Visit, options: RewriteOptions = {}): Program {
  if (hasNothingToDo(program, options)) return program;
  const { region = (inner) => inner, keep = () => true, wanted } = options;
  let changed = false;
  const rebuilt = Program.from(program, (into) => {
    const dims = new Map<string, Dim>();
    const results: (readonly Value[])[] = [];
    const moved = (value: Value): Value => results[value.node][value.port];
    const { graph } = program;
    for (let at = 0; at < graph.nodeCount; at++) {
      const id = at as NodeId;
      const old = graph.node(id);
      if (old.kind === 'variable') {
        const type = dims.size === 0 ? old.type : substituteType(old.type, dims);
        results.push([into.variable(old.name, type)]);
        continue;
      }
      if (!keep(id)) {
        changed = true;
        results.push(nothing);
        continue;
      }
      if (old.kind === 'check') {
        requireIn(into, old.requirement, dims);
        results.push(nothing);
        continue;
      }
      const operands = movedAll(program.operands(id), results);
      let node: CallNode | ConstantNode = old;
      if (old.kind === 'call') {
        const adapted = adapt(old, dims, region);
        node = adapted;
        if (adapted.regions !== old.regions) changed = true;
        node = inferredAgain(adapted, old, operands, into, dims);
      }
      if (wanted !== undefined && !(node.kind === 'call' && wanted(node, id))) {
        results.push(append(node, operands, into));
        continue;
      }
      const site = new NodeSite(node, id, operands, into);
      const source = node.kind === 'call' ? node.source : undefined;
      const replaced =
        source === undefined ? visit(site) : into.withSource(source, () => visit(site));
      if (replaced !== undefined && replaced !== site.copied) {
        changed = true;
        reconcile(
          node,
          replaced.map(({ type }) => type),
          dims,
        );
      }
      results.push(replaced ?? site.copy());
    }
    into.setOutputs(program.outputs.map(({ name, value }) => ({ name, value: moved(value) })));
  });
  return changed ? rebuilt : program;
}

/**
 * True when a program certainly stays unchanged, found before anything is built. Passes that declare their
 * `wanted` calls cost nothing on programs without them.
 */
function hasNothingToDo(program: Program, { region, keep, wanted }: RewriteOptions): boolean {
  if (wanted === undefined) return false;
  for (let at = 0; at < program.graph.nodeCount; at++) {
    const id = at as NodeId;
    const node = program.node(id);
    if (node.kind === 'variable') continue;
    if (keep?.(id) === false) return false;
    if (node.kind !== 'call') continue;
    if (wanted(node, id)) return false;
    if (region !== undefined && node.regions.some((inner) => region(inner) !== inner)) return false;
  }
  return true;
}

/** A pass over one program, given the transformation of the regions inside. */
export type RegionPass = (program: Program, region: (region: Program) => Program) => Program;

/** Applies a pass to a program and to all regions below it; a region shared by calls stays shared. */
export function throughRegions(program: Program, pass: RegionPass): Program {
  const done = new Map<Program, Program>();
  const run = (inner: Program): Program => {
    let result = done.get(inner);
    if (result === undefined) done.set(inner, (result = pass(inner, run)));
    return result;
  };
  return run(program);
}

/**
 * Appends the nodes of `program` to `into` with its inputs replaced by `inputs`, which must fit, and returns
 * the values of its outputs. `bound` binds the dimensions of the inputs in `into`; sizes that calls of `program` decide
 * become fresh ones. Without `bound` all keep their names, but for decided ones of which `into` knows another by that
 * name. `retold` gives the checks other errors.
 */
export function instantiate(
  program: Program,
  into: Program,
  inputs: readonly Value[],
  bound?: Map<string, Dim>,
  retold: (requirement: Requirement) => Requirement = (requirement) => requirement,
): readonly Value[] {
  const dims = bound ?? new Map<string, Dim>();
  const settled = new Set((bound ?? givenSizes(program)).keys());
  const results: (readonly Value[])[] = [];
  const moved = (value: Value): Value => results[value.node][value.port];
  let input = 0;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') {
      results.push([inputs[input++]]);
      continue;
    }
    if (node.kind === 'check') {
      requireIn(into, retold(node.requirement), dims);
      results.push(nothing);
      continue;
    }
    let adapted = node;
    if (node.kind === 'call') {
      for (const decided of node.decides) {
        for (const [name, bounds] of symbolTable(decided.size)) {
          if (settled.has(name) || dims.has(name)) continue;
          settled.add(name);
          if (bound !== undefined || into.knowsSize(name))
            dims.set(name, into.freshDim(name, boundsIn(dims, decided, bounds)));
        }
      }
      adapted = adapt(node, dims);
    }
    const operands = movedAll(program.operands(id), results);
    if (adapted.kind === 'call' && node.kind === 'call')
      adapted = inferredAgain(adapted, node, operands, into, dims);
    results.push(append(adapted, operands, into));
  }
  return program.outputs.map(({ value }) => moved(value));
}

/** Adds a check in the dimensions of `into`. One that holds for all sizes is dropped. */
function requireIn(
  into: Program,
  requirement: Requirement,
  dims: ReadonlyMap<string, Dim> = noDims,
): void {
  requireAt(
    requirement,
    dims,
    requireOrKeep((moved) => into.require(moved)),
  );
}

const noDims: ReadonlyMap<string, Dim> = new Map();

/**
 * Adds the checks of a program to one that is made of some of its nodes: those that speak only of dimensions
 * which are there.
 */
export function requireKnown(from: Program, into: Program): void {
  if (from.requirements.length === 0) return;
  const known = programRanges(into);
  for (const requirement of from.requirements) {
    if (speaksOnlyOf(requirement, known)) into.require(requirement);
  }
}

/** New values of operands, by node and port. */
function movedAll(
  values: readonly Value[],
  results: readonly (readonly Value[])[],
): readonly Value[] {
  // A copy has no room for more than it holds.
  const moved = values.slice();
  for (let i = 0; i < moved.length; i++) moved[i] = results[values[i].node][values[i].port];
  return moved;
}

class NodeSite implements Site {
  readonly node: CallNode | ConstantNode;
  readonly id: NodeId;
  readonly operands: readonly Value[];
  readonly into: Program;
  copied: readonly Value[] | undefined;

  constructor(
    node: CallNode | ConstantNode,
    id: NodeId,
    operands: readonly Value[],
    into: Program,
  ) {
    this.node = node;
    this.id = id;
    this.operands = operands;
    this.into = into;
  }

  copy(): readonly Value[] {
    return (this.copied ??= append(this.node, this.operands, this.into));
  }
}

function append(
  node: CallNode | ConstantNode,
  operands: readonly Value[],
  into: Program,
): readonly Value[] {
  if (node.kind === 'constant') return [into.constant(node.data)];
  if (node.source !== undefined) return into.appendNode(node, operands);
  return into.appendTyped(node.op, operands, node.attributes, node.types, node);
}

/** The call in other dimensions and with other regions; the same object when nothing differs. */
function adapt(
  node: CallNode,
  dims: ReadonlyMap<string, Dim>,
  region: (region: Program) => Program = (inner) => inner,
): CallNode {
  if (node.regions.length === 0 && dims.size === 0) return node;
  const regions = node.regions.map(region);
  const kept = regions.every((inner, i) => inner === node.regions[i]);
  if (kept && dims.size === 0) return node;
  const changed = { ...node, regions: kept ? node.regions : regions };
  return substituteCall(changed, dims);
}

/**
 * A call with other regions or in other dimensions, where more may be known of the types of its results. These, and the
 * sizes that it decides, are then those that its operator infers.
 */
function inferredAgain(
  node: CallNode,
  before: CallNode,
  operands: readonly Value[],
  into: Program,
  dims: Map<string, Dim>,
): CallNode {
  if (node.regions.length === 0 || node === before) return node;
  const isMoved = node.decides.length > 0 && node.types !== before.types;
  const isUnchanged = before.regions.every(({ outputs }, k) =>
    outputs.every(({ value }, i) =>
      isKnownAlike(value.type, node.regions[k].outputs[i].value.type),
    ),
  );
  if (isUnchanged && !isMoved) return node;
  const inferred = withInferredTypes(node, operands, into, node.types);
  const found = new Map<string, Dim>();
  reconcile(node, inferred.types, found);
  if (found.size > 0) {
    for (const [name, dim] of dims) dims.set(name, substituteDim(dim, found));
    for (const [name, dim] of found) if (!dims.has(name)) dims.set(name, dim);
  }
  return inferred;
}

/** True for equal types whose symbols have equal bounds. */
function isKnownAlike(a: TensorType, b: TensorType): boolean {
  return (
    sameType(a, b) &&
    a.shape.every((dim, axis) => haveSameBounds(boundsOf(dim), boundsOf(b.shape[axis])))
  );
}

/** Checks the types of a replacement and binds the dimensions that the node introduced. */
function reconcile(
  node: CallNode | ConstantNode,
  replaced: readonly TensorType[],
  dims: Map<string, Dim>,
): void {
  const types: readonly TensorType[] = node.kind === 'call' ? node.types : [node.data.type];
  const fits =
    types.length === replaced.length && types.every((type, i) => type.dtype === replaced[i].dtype);
  if (fits && types.every((type, i) => sameType(type, replaced[i]))) return;
  let cause: unknown;
  if (fits && node.kind === 'call') {
    try {
      const inherited = inheritedSymbols(node);
      for (const [name, dim] of bindResults<Dim>(types, replaced, node.op.name, inherited)) {
        if (!inherited.has(name)) dims.set(name, dim);
      }
      return;
    } catch (error) {
      cause = error;
    }
  }
  throw new InternalError('the replacement of a node has other types', {
    op: node.kind === 'call' ? node.op.name : 'constant',
    expected: types.map(typeToString).join(', '),
    actual: replaced.map(typeToString).join(', '),
    ...(node.kind === 'call' && node.source !== undefined && { source: node.source }),
    cause,
  });
}

/** The symbols of a call's result types that it does not decide, each mapped to itself. */
function inheritedSymbols(node: CallNode): Map<string, Dim> {
  const table = symbolsOfTypes(node.types);
  for (const { size } of node.decides) for (const name of symbolsOf(size)) table.delete(name);
  return new Map([...table].map(([name, bounds]) => [name, symbol(name, bounds)]));
}
