import type { Dim } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { bindProgram } from '../../ir/bind.js';
import {
  type CallNode,
  namedInputs,
  type Output,
  type Program,
  type Value,
} from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import { withInferredTypes } from '../rewrite/decided-sizes.js';
import { throughRegions, transform } from '../rewrite/transform.js';
import { type CarvedInput, carveRegions, type Make } from './carve.js';

/** An operand of a loop, and the inputs that stand for it (or for a row of it) inside. */
export interface LoopOperand {
  readonly operand: Value;
  readonly name: string;
  /** Values of the body and of the condition. */
  readonly stands: readonly Value[];
}

/** A loop-carried value. */
export interface CarriedValue extends LoopOperand {
  /** Its value after an iteration. */
  readonly next: Output;
}

/**
 * A loop taken apart: operands in the enclosing program, and their inputs inside. Passes edit these lists and
 * build another loop from them. Results are the rows, then the states, then other results of `node`.
 */
export interface Loop {
  readonly node: CallNode;
  /** The program that contains the loop. */
  readonly into: Program;
  readonly body: Program;
  /** Null when the data determines the trip count. */
  readonly condition: Program | null;
  readonly data: readonly LoopOperand[];
  readonly states: readonly CarriedValue[];
  readonly captures: readonly LoopOperand[];
  /** Number of leading rows to iterate over; null for all of them. */
  readonly count: Value | null;
  /** Joined ones first. */
  readonly rows: readonly Output[];
  /** The number of rows, from the first on, that results join in place of stacking them. */
  readonly joined: number;
  /** Number of rows of the stacked results; null when only the run decides it. */
  readonly lead: Dim | null;
  readonly reverse: boolean;
  /** Binding of the body's symbols in the enclosing program, except those it introduces. */
  readonly dims: ReadonlyMap<string, Dim>;
  /** Binding of the condition's symbols. */
  readonly conditionDims: ReadonlyMap<string, Dim>;
  /** Values that are constructed inside instead of an input. */
  readonly made: ReadonlyMap<Value, Make>;
}

/** True for a call that is a loop. */
export function isLoop({ op }: CallNode): boolean {
  const { kind } = declarationOf(op).lowering;
  return kind === 'foreach' || kind === 'while';
}

/**
 * True when work may move out of a loop at the price of memory for each of its rows, whose number is known
 * before it runs. Loops that save only the carried states want memory to grow by these alone.
 */
export function mayStoreRows({ node, joined }: Loop): boolean {
  const { lowering } = declarationOf(node.op);
  return joined === 0 && lowering.kind === 'foreach' && !lowering.loop(node.attributes).preferRecompute; // prettier-ignore
}

/** Takes a loop apart. */
export function loopAt(node: CallNode, operands: readonly Value[], into: Program): Loop {
  const { lowering } = declarationOf(node.op);
  if (lowering.kind === 'foreach') {
    const { data, states, reverse, counted, joined } = lowering.loop(node.attributes);
    const count = counted ? operands[operands.length - 1] : null;
    const lead = operands[0].type.shape[0];
    const read = counted ? operands.slice(0, -1) : operands;
    return parts({ node, into, operands: read, regions: [node.regions[0]], data, states, count, lead, reverse, joined }); // prettier-ignore
  }
  if (lowering.kind === 'while') {
    const { states, limit, padded, joined } = lowering.loop(node.attributes);
    const regions = [node.regions[1], node.regions[0]];
    const lead = padded ? limit : null;
    return parts({ node, into, operands, regions, data: 0, states, count: null, lead, reverse: false, joined }); // prettier-ignore
  }
  throw new InternalError(`${node.op.name} is no loop`);
}

interface Parts {
  readonly node: CallNode;
  readonly into: Program;
  readonly operands: readonly Value[];
  /** The body, then the condition if there is one. */
  readonly regions: readonly Program[];
  readonly data: number;
  readonly states: number;
  readonly count: Value | null;
  readonly lead: Dim | null;
  readonly reverse: boolean;
  readonly joined: number;
}

function parts({
  node,
  into,
  operands,
  regions,
  data,
  states,
  count,
  lead,
  reverse,
  joined,
}: Parts): Loop {
  // prettier-ignore

  const [body, condition = null] = regions;
  const types = operands.map(({ type }, k) => (k < data ? rowOf(type) : type));
  const bound = (region: Program): ReadonlyMap<string, Dim> =>
    bindProgram<Dim>(region, types, sizesPassedBy(node), node.op.name);
  const entries = namedInputs(body).map(({ name }, k): LoopOperand => ({
    operand: operands[k],
    name,
    stands: regions.map(({ inputs }) => inputs[k]),
  }));
  const rows = body.outputs.length - states;
  return {
    node,
    into,
    body,
    condition,
    data: entries.slice(0, data),
    states: entries
      .slice(data, data + states)
      .map((entry, k) => ({ ...entry, next: body.outputs[rows + k] })),
    captures: entries.slice(data + states),
    count,
    rows: body.outputs.slice(0, rows),
    joined,
    lead,
    reverse,
    dims: bound(body),
    conditionDims: condition === null ? new Map() : bound(condition),
    made: new Map(),
  };
}

/** The type of one row. */
function rowOf({ dtype, shape }: TensorType): TensorType {
  return { dtype, shape: shape.slice(1) };
}

/** Results of a rebuilt loop. */
export interface BuiltLoop {
  readonly rows: readonly Value[];
  readonly states: readonly Value[];
  /** Further results of the operator. */
  readonly rest: readonly Value[];
}

/**
 * Appends a loop to its enclosing program. Its regions are passed the sizes that their inputs do not determine; the
 * types of its results are inferred.
 */
export function build(loop: Loop): BuiltLoop {
  const { node, into, body, condition, data, states, captures, count, rows, made } = loop;
  const operands = [...data, ...states, ...captures];
  const inputs = operands.map((entry, k) => carvedInput(entry, k < data.length));
  const outputs = [...rows, ...states.map(({ next }) => next)];
  const { regions, sizes } = carveRegions([
    ...(condition === null
      ? []
      : [{ from: condition, dims: loop.conditionDims, inputs, outputs: condition.outputs, made }]),
    { from: body, dims: loop.dims, inputs, outputs, made },
  ]);
  const values = [...operands.map(({ operand }) => operand), ...(count === null ? [] : [count])];
  const attributes = {
    ...node.attributes,
    ...(condition === null && { data: data.length }),
    states: states.length,
    joined: loop.joined,
    sizes,
  };
  const call = withInferredTypes({ ...node, attributes, regions }, values, into, told(loop));
  const results = into.appendTyped(node.op, values, attributes, call.types, call);
  return {
    rows: results.slice(0, rows.length),
    states: results.slice(rows.length, outputs.length),
    rest: results.slice(outputs.length),
  };
}

/** The types of the results, in the order of a rebuilt loop, that the loop had before it was edited; else null. */
function told({ node, body, rows, states }: Loop): readonly (TensorType | null)[] {
  const { outputs } = node.regions.at(-1)!;
  if (body.outputs.length !== outputs.length) return [];
  const before = outputs.length - (node.attributes.states as number);
  const typeOf = (value: Value, from: number, to: number): TensorType | null => {
    const at = body.outputs.slice(from, to).findIndex((each) => each.value === value);
    return at < 0 ? null : node.types[from + at];
  };
  return [
    ...rows.map(({ value }) => typeOf(value, 0, before)),
    ...states.map(({ next }) => typeOf(next.value, before, outputs.length)),
  ];
}

export function carvedInput({ operand, name, stands }: LoopOperand, isData = false): CarvedInput {
  return { name, stands, outside: isData ? rowOf(operand.type) : operand.type };
}

/** The results of a loop in terms of an edited one: an index of its rows or states, or a value. */
export interface EditedLoop {
  readonly loop: Loop;
  readonly rows: readonly (number | Value)[];
  readonly states: readonly (number | Value)[];
}

/** The identity mapping of a list. */
export function places(list: readonly unknown[]): readonly number[] {
  return list.map((_, k) => k);
}

/** Builds an edited loop and returns the results of the original. */
export function replaceLoop({ loop, rows, states }: EditedLoop): readonly Value[] {
  const made = build(loop);
  const pick = (from: readonly Value[]) => (result: number | Value) =>
    typeof result === 'number' ? from[result] : result;
  return [...rows.map(pick(made.rows)), ...states.map(pick(made.states)), ...made.rest];
}

/** A loop in a program that is being rebuilt. */
export interface LoopSite {
  readonly loop: Loop;
  /** Its id in the original program. */
  readonly id: NodeId;
}

/**
 * Applies `edit` to every loop of a program and of the regions below it, innermost first. The returned values
 * replace the loop's results; undefined leaves the loop unchanged.
 */
export function editLoops(
  program: Program,
  edit: (loop: Loop) => readonly Value[] | undefined,
): Program {
  return editLoopSites(
    program,
    () =>
      ({ loop }) =>
        edit(loop),
  );
}

/** `editLoops` with a factory of edits, called for each program or region before any of its loops is edited. */
export function editLoopSites(
  program: Program,
  editorOf: (inner: Program) => (site: LoopSite) => readonly Value[] | undefined,
): Program {
  return throughRegions(program, (inner, region) => {
    let edit: ((site: LoopSite) => readonly Value[] | undefined) | undefined;
    return transform(
      inner,
      ({ node, id, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        edit ??= editorOf(inner);
        return edit({ loop: loopAt(node, operands, into), id });
      },
      { region, wanted: isLoop },
    );
  });
}
