import { InternalError } from '../../base/errors.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import { type Output, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { chooseSaved, type SavePolicy } from './keep.js';
import { type SecondCopies, Copies } from '../rewrite/copies.js';
import { requireKnown } from '../rewrite/transform.js';

/** A program that computes results followed by their gradients, and the policy for sharing. */
export interface JointRequest {
  readonly joint: Program;
  /** Id of the first backward node. */
  readonly boundary: number;
  readonly inputs: readonly Value[];
  /** The gradients that are inputs of backward. */
  readonly seeds: readonly Value[];
  readonly results: readonly Output[];
  readonly grads: readonly Output[];
}

/** Separate forward and backward programs. */
export interface Split {
  /** Returns the results, then the saved values that are neither results nor inputs. */
  readonly forward: Program;
  /** Takes the values in `saved`, then the seeds. */
  readonly backward: Program;
  /** Values of `forward`: k is its input k, and the number of its inputs plus k is its output k. */
  readonly saved: readonly number[];
}

/** Assumptions of a split, when not all inputs and outputs of forward are available to backward anyway. */
export interface SplitOptions {
  /** True for inputs and outputs of forward that backward reads at no cost; numbered like `Split.saved`. */
  readonly isHeld?: (place: number) => boolean;
  /** True for forward nodes that may be recomputed regardless of the policy. */
  readonly isRepeatable?: (id: NodeId) => boolean;
  /**
   * True for values that can be saved. Others are recomputed even where they determine sizes from data: both
   * programs then never meet. Default all.
   */
  readonly isKeepable?: (value: Value) => boolean;
  /** Additional types whose dimensions backward must be able to determine. */
  readonly extraTypes?: readonly TensorType[];
  /** The visible types of incoming gradients. Default: all. */
  readonly seen?: readonly TensorType[];
}

const nothing: SecondCopies = { nodes: new Set(), isApart: false };

/**
 * Splits a joint program into two that share as much as `policy` says. With `isApart` recomputed values stay
 * recomputed, even where both end up in one program.
 */
export function splitJoint(
  { joint, boundary, inputs, seeds, results, grads }: JointRequest,
  policy: SavePolicy,
  isApart: boolean,
  {
    isHeld = () => true,
    isRepeatable = () => false,
    isKeepable,
    extraTypes = [],
    seen = seeds.map(({ type }) => type),
  }: SplitOptions = {},
): Split {
  const ends = [...inputs, ...results.map(({ value }) => value)];
  const places = new Map<Value, number>();
  ends.forEach((value, place) => {
    if (isHeld(place) && !places.has(value)) places.set(value, place);
  });
  const held = [...places.keys()];
  const finders = isKeepable === undefined ? noFinders : findersOf(joint, seen);
  const { again, values } = chooseSaved({
    program: joint,
    isLate: (id) => id >= boundary,
    wanted: grads.map(({ value }) => value),
    held,
    policy,
    isRepeatable,
    ...(isKeepable !== undefined && { isKeepable }),
    behind: (id) => joint.sizeReads(id).filter((value) => finders.has(value)),
  });
  const made = [...joint.graph.nodes()].filter((id) => id >= boundary || again.has(id));
  const given = [...values.map(({ type }) => type), ...seen];
  const all = [...seeds.map(({ type }) => type), ...extraTypes];
  const saved = [...values, ...carriersOfDims(joint, made, held, given, all)];
  const extra = saved.filter((value) => !places.has(value));
  extra.forEach((value, k) => places.set(value, ends.length + k));
  const outputs = [...results, ...named(extra, results)];
  return {
    forward: eliminateDeadCode(part(joint, inputs, (id) => id < boundary, nothing, outputs)),
    backward: part(
      joint,
      [...saved, ...seeds],
      (id) => id >= boundary,
      { nodes: again, isApart },
      grads,
      [...finders].map(({ node }) => node).filter((id) => again.has(id)),
    ),
    saved: saved.map((value) => places.get(value)!),
  };
}

/** The forward results that reveal data-dependent sizes, in program order. */
type Finders = ReadonlySet<Value>;
const noFinders: Finders = new Set();

/** Size-revealing results whose sizes do not come with the gradients. */
function findersOf(joint: Program, seen: readonly TensorType[]): Finders {
  const given = determinedSymbols(seen);
  return new Set(
    [...joint.decidedSizes].flatMap(([name, value]) => (given.has(name) ? [] : [value])),
  );
}

/**
 * Additional forward values for the backward program, so that each dimension it uses is determined by the
 * shape of one of its inputs.
 */
function carriersOfDims(
  joint: Program,
  made: readonly NodeId[],
  held: readonly Value[],
  given: readonly TensorType[],
  extraTypes: readonly TensorType[],
): Value[] {
  const carriers: Value[] = [];
  const known = determinedSymbols(given);
  const require = (dims: Iterable<string>): void => {
    for (const name of dims) {
      if (known.has(name)) continue;
      const carrier = firstWith(joint, held, name);
      carriers.push(carrier);
      for (const found of determinedSymbols([carrier.type])) known.add(found);
    }
  };
  require(symbolsOfTypes([...given, ...extraTypes]).keys());
  for (const id of made) {
    const node = joint.node(id);
    if (node.kind !== 'call') continue;
    require(symbolsOfAttributes(node.op.attributes, node.attributes).keys());
    // Sizes that are new in the results are determined by running the call.
    for (const name of symbolsOfTypes(node.types).keys()) known.add(name);
  }
  return carriers;
}

function firstWith(joint: Program, held: readonly Value[], name: string): Value {
  const determines = ({ type }: Value): boolean => determinedSymbols([type]).has(name);
  const there = held.find(determines);
  if (there !== undefined) return there;
  for (const id of joint.graph.nodes()) {
    const found = joint.results(id).find(determines);
    if (found !== undefined) return found;
  }
  throw new InternalError(`no value of the program determines dimension ${name}`);
}

/**
 * A program of some of the nodes, and second copies of others, that reads `inputs` and constants. Second
 * copies of nodes in `first` are included even if nothing reads them.
 */
function part(
  joint: Program,
  inputs: readonly Value[],
  belongs: (id: NodeId) => boolean,
  again: SecondCopies,
  outputs: readonly Output[],
  first: readonly NodeId[] = [],
): Program {
  return Program.from(joint, (into) => {
    const given = new Map<Value, Value>();
    for (const value of inputs) {
      const node = joint.node(value.node);
      const name = into.freshName(node.kind === 'variable' ? node.name : 'saved');
      given.set(value, into.variable(name, value.type));
    }
    const copies = new Copies(joint, into, again, given);
    for (const id of first) copies.late(joint.results(id)[0]);
    for (const id of joint.graph.nodes()) {
      if (joint.node(id).kind === 'call' && belongs(id)) copies.add(id, true);
    }
    into.setOutputs(outputs.map(({ name, value }) => ({ name, value: copies.late(value) })));
    requireKnown(joint, into);
  });
}

/** Saved values as outputs, under names that the others do not have. */
function named(values: readonly Value[], others: readonly Output[]): readonly Output[] {
  const taken = new Set(others.map(({ name }) => name));
  let count = 0;
  return values.map((value) => {
    while (taken.has(`saved_${count}`)) count++;
    return { name: `saved_${count++}`, value };
  });
}
