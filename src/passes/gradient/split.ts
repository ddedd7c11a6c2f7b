import { type Bounds, type DimExpr, sameDim, symbol } from '../../base/dim/index.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { determinedSymbols, symbolsOfTypes } from '../../ir/bind.js';
import { type Output, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { SizeSource } from '../../ops/declare/backward.js';
import { fill } from '../../ops/movement/fill.js';
import { carrierOf } from '../rewrite/carried-sizes.js';
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
  /** With `extents`, the sizes that backward is passed, numbered like `saved`. */
  readonly sizes: readonly SizeSource[];
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
  /**
   * Source of the sizes that backward is passed: `extents` of the values of forward, or the `surroundings` know them.
   * Default `extents`.
   */
  readonly sizesBy?: 'extents' | 'surroundings';
}

/** True for values of a program whose sizes the data does not decide. */
export function hasKnownSize({ decidedSizes }: Program): (value: Value) => boolean {
  if (decidedSizes.size === 0) return () => true;
  return ({ type }) => [...symbolsOfTypes([type]).keys()].every((name) => !decidedSizes.has(name));
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
    sizesBy = 'extents',
  }: SplitOptions = {},
): Split {
  const ends = [...inputs, ...results.map(({ value }) => value)];
  const places = new Map<Value, number>();
  ends.forEach((value, place) => {
    if (isHeld(place) && !places.has(value)) places.set(value, place);
  });
  const held = [...places.keys()];
  const seen = seeds.map(({ type }) => type);
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
  const sizes = sizesToPass(joint, made, given, extraTypes);
  const extra = values.filter((value) => !places.has(value));
  extra.forEach((value, k) => places.set(value, ends.length + k));
  const outputs = [...results, ...namedOutputs(extra, results)];
  const sources = new ForwardSizes([...places], joint.sizes, ends.length + extra.length);
  const found = sizesBy === 'extents' ? sizes.map((size) => sources.of(size)) : [];
  return {
    forward: eliminateDeadCode(
      part(joint, {
        inputs,
        belongs: (id) => id < boundary,
        again: nothing,
        outputs,
        tells: sources.told,
        takes: joint.sizes,
      }),
    ),
    backward: part(joint, {
      inputs: values,
      takes: sizes,
      seeds,
      belongs: (id) => id >= boundary,
      again: { nodes: again, isApart },
      outputs: grads,
      first: [...finders].map(({ node }) => node).filter((id) => again.has(id)),
    }),
    saved: values.map((value) => places.get(value)!),
    sizes: found,
  };
}

/** Finds sizes among the extents of values of forward, and notes those that it has to tell by one more output. */
class ForwardSizes {
  readonly told: DimExpr[] = [];
  readonly #places: readonly (readonly [value: Value, place: number])[];
  readonly #parameters: readonly DimExpr[];
  /** Place of the output that tells sizes. */
  readonly #last: number;

  constructor(
    places: readonly (readonly [value: Value, place: number])[],
    parameters: readonly DimExpr[],
    last: number,
  ) {
    this.#places = places;
    this.#parameters = parameters;
    this.#last = last;
  }

  of(size: DimExpr): SizeSource {
    for (const [{ type }, place] of this.#places) {
      const axis = type.shape.findIndex((dim) => sameDim(dim, size));
      if (axis >= 0) return { place, axis };
    }
    const parameter = this.#parameters.findIndex((each) => sameDim(each, size));
    if (parameter >= 0) return { place: -1, axis: parameter };
    // Behind the axis without elements.
    return { place: this.#last, axis: this.told.push(size) };
  }
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

/** The dimensions that backward uses, and that neither values which it is `given` nor calls of its own tell. */
function sizesToPass(
  joint: Program,
  made: readonly NodeId[],
  given: readonly TensorType[],
  extraTypes: readonly TensorType[],
): readonly DimExpr[] {
  const sizes: DimExpr[] = [];
  const known = determinedSymbols(given);
  const require = (dims: ReadonlyMap<string, Bounds>): void => {
    for (const [name, bounds] of dims) {
      if (known.has(name)) continue;
      sizes.push(symbol(name, bounds));
      known.add(name);
    }
  };
  require(symbolsOfTypes([...given, ...extraTypes]));
  for (const id of made) {
    const node = joint.node(id);
    if (node.kind !== 'call') continue;
    require(symbolsOfAttributes(node.op.attributes, node.attributes));
    // Sizes that are new in the results are determined by running the call.
    for (const name of symbolsOfTypes(node.types).keys()) known.add(name);
  }
  return sizes;
}

/** One of the two programs of a split. Its inputs are `inputs`, then `seeds`. */
interface Part {
  readonly inputs: readonly Value[];
  /** Size parameters. */
  readonly takes: readonly DimExpr[];
  readonly seeds?: readonly Value[];
  /** True for nodes of the program. */
  readonly belongs: (id: NodeId) => boolean;
  /** Nodes of which it has second copies. */
  readonly again: SecondCopies;
  readonly outputs: readonly Output[];
  /** Dimensions that one more output tells. */
  readonly tells?: readonly DimExpr[];
  /** Nodes whose second copies are included even if nothing reads them. */
  readonly first?: readonly NodeId[];
}

function part(
  joint: Program,
  { inputs, takes, seeds = [], belongs, again, outputs, tells = [], first = [] }: Part,
): Program {
  const fill = (into: Program): void => {
    const given = new Map<Value, Value>();
    const give = (value: Value): void => {
      const node = joint.node(value.node);
      const name = into.freshName(node.kind === 'variable' ? node.name : 'saved');
      given.set(value, into.variable(name, value.type));
    };
    inputs.forEach(give);
    seeds.forEach(give);
    const copies = new Copies(joint, into, again, given);
    for (const id of first) copies.late(joint.results(id)[0]);
    for (const id of joint.graph.nodes()) {
      if (joint.node(id).kind === 'call' && belongs(id)) copies.add(id, true);
    }
    const made = outputs.map(({ name, value }) => ({ name, value: copies.late(value) }));
    into.setOutputs(
      tells.length === 0 ? made : [...made, ...namedOutputs([toldBy(into, tells)], made, 'sizes')],
    );
    requireKnown(joint, into);
  };
  return Program.from(joint, fill, takes);
}

/** An array without elements whose shape tells sizes of a program. */
function toldBy(into: Program, sizes: readonly DimExpr[]): Value {
  return into.append(fill.declaration, [], { ...carrierOf(sizes), value: 0 })[0];
}

/** Values as outputs, under names that the others do not have. */
export function namedOutputs(
  values: readonly Value[],
  others: readonly Output[],
  stem = 'saved',
): readonly Output[] {
  const taken = new Set(others.map(({ name }) => name));
  let count = 0;
  return values.map((value) => {
    while (taken.has(`${stem}_${count}`)) count++;
    return { name: `${stem}_${count++}`, value };
  });
}
