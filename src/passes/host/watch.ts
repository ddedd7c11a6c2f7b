import { boundsOf, subDim } from '../../base/dim/index.js';
import { allocate, type DType } from '../../base/dtype.js';
import type { NodeId } from '../../graph/graph.js';
import { type CallNode, namedInputs, Program, type Value } from '../../ir/program.js';
import type { ConstantData, TensorType } from '../../ir/types.js';
import type { AcceptedElements } from '../../ops/declare/check.js';
import { declarationOf } from '../../ops/declare/facets.js';
import * as ops from '../../ops/index.js';
import { controlOf } from '../lower/main/control.js';
import { instantiate } from '../rewrite/transform.js';
import { viewed } from '../rewrite/views.js';

/*
 * Elements that an operator would refuse, where only the program knows them: those that it computes, and those in
 * bodies of loops and branches. The program tells of them by further results, so that whoever runs it can refuse
 * what it gives; its kernels stay in bounds meanwhile.
 */

/** A call that may receive elements that it does not accept. */
export interface Watched {
  readonly call: CallNode;
  /** The type of the checked operand, in the dimensions of the call's program. */
  readonly type: TensorType;
  readonly accepted: AcceptedElements;
}

/** A program that reports invalid elements: one additional result for each watched call, after its own. */
export interface Watching {
  readonly program: Program;
  readonly watched: readonly Watched[];
}

/** Report about a call, and the join of the reports of several iterations. */
export interface Report {
  readonly type: { readonly dtype: DType; readonly shape: readonly number[] };
  /** The dtype in which it compares elements of a dtype. */
  elements(dtype: DType): DType;
  /** Report about the elements of one call, a vector of that dtype. */
  of(elements: Value, accepted: AcceptedElements): Value;
  join(before: Value, now: Value): Value;
}

/** The dtypes whose elements are all of int32. */
const isNarrow: ReadonlySet<DType> = new Set(['bool', 'uint8', 'int8', 'int32']);

/** Report of presence: bool, rank 0. */
export const presenceReport: Report = {
  type: { dtype: 'bool', shape: [] },
  // Devices without int64 can look at int32.
  elements: (dtype) => (isNarrow.has(dtype) ? 'int32' : 'int64'),
  of: (elements, accepted) => ops.any(foreign(elements, accepted)),
  join: (before, now) => ops.logicalOr(before, now),
};

/**
 * Report of the first invalid element: its row-major position counted from 1, the element, and the greatest
 * accepted one. int64, zeros where there is none.
 */
export const firstReport: Report = {
  type: { dtype: 'int64', shape: [3] },
  elements: () => 'int64',
  of: (elements, accepted) => {
    const found = foreign(elements, accepted);
    const count = ops.cumsum(ops.cast(found, 'int64'), 0);
    const isFirst = ops.logicalAnd(found, ops.equal(count, 1));
    const before = ops.sum(ops.cast(ops.equal(count, 0), 'int64'));
    return ops.stack<Value>([
      ops.where(ops.any(isFirst), ops.add(before, 1), 0),
      ops.sum(ops.where(isFirst, elements, 0)),
      ops.dimLike(elements, accepted.most ?? 0),
    ]);
  },
  join: (before, now) => ops.where(ops.greater(ops.slice(before, 0), 0), before, now),
};

function foreign(elements: Value, { least, most, except }: AcceptedElements): Value {
  const isBelow = ops.less(elements, least);
  const isOutside = most === null ? isBelow : ops.logicalOr(isBelow, ops.greater(elements, most));
  return except === null ? isOutside : ops.logicalAnd(isOutside, ops.notEqual(elements, except));
}

/** Predicate of watched calls by id; calls in regions are always watched. */
export type IsWatched = (id: NodeId) => boolean;

/**
 * A program that reports invalid elements; null where there is nothing to watch. For inlined programs.
 * Operands inside loop conditions are not watched.
 */
export function watching(
  program: Program,
  report: Report,
  isWatched: IsWatched = () => true,
): Watching | null {
  if (!mayRefuse(program, isWatched)) return null;
  const watched: Watched[] = [];
  const reports: Value[] = [];
  const made = Program.from(program, (into) => {
    const results: (readonly Value[])[] = [];
    const moved = (value: Value): Value => results[value.node][value.port];
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      if (node.kind === 'variable') results.push([into.variable(node.name, node.type)]);
      else if (node.kind === 'constant') results.push([into.constant(node.data)]);
      else if (node.kind === 'check') {
        into.require(node.requirement);
        results.push([]);
      } else {
        const operands = program.operands(id).map(moved);
        const inside = watchingRegions(node, operands, into, report);
        results.push(inside?.results ?? into.appendNode(node, operands));
        reports.push(...(inside?.reports ?? []));
        watched.push(...(inside?.watched ?? []));
        const { check } = declarationOf(node.op);
        if (check === undefined || !isWatched(id)) continue;
        const types = operands.map(({ type }) => type);
        const accepted = check.accepts(types, node.attributes);
        if (accepted === null || areWithin(program.operands(id)[check.operand], accepted)) continue;
        const elements = ops.cast(ops.reshape(operands[check.operand], [-1]), report.elements(types[check.operand].dtype)); // prettier-ignore
        reports.push(report.of(elements, accepted));
        watched.push({ call: node, type: types[check.operand], accepted });
      }
    }
    const outputs = program.outputs.map(({ name, value }) => ({ name, value: moved(value) }));
    const taken = outputs.map(({ name }) => name);
    into.setOutputs([
      ...outputs,
      ...reports.map((value, k) => ({ name: unused(`foreign_${k}`, taken), value })),
    ]);
  });
  return watched.length === 0 ? null : { program: made, watched };
}

/** True when elements are provably indices along an axis that is no longer than accepted. */
function areWithin(elements: Value, { least, most }: AcceptedElements): boolean {
  const { program } = elements;
  const { node: id, port } = viewed(program, elements);
  const node = program.node(id);
  if (node.kind !== 'call' || most === null) return false;
  const types = program.operands(id).map(({ type }) => type);
  const extent = declarationOf(node.op).positions?.(types, node.attributes)[port] ?? null;
  if (extent === null || boundsOf(least).max > 0) return false;
  return boundsOf(subDim(most, subDim(extent, 1))).min >= 0;
}

/** True when a watched call of a program, or one of a region of it, may refuse elements. */
function mayRefuse(program: Program, isWatched: IsWatched): boolean {
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    if (declarationOf(node.op).check !== undefined && isWatched(id)) return true;
    if (node.regions.some((region) => mayRefuse(region, () => true))) return true;
  }
  return false;
}

interface Inside {
  readonly results: readonly Value[];
  readonly reports: readonly Value[];
  readonly watched: readonly Watched[];
}

/** A loop or branch whose regions report; null where they have nothing to report. */
function watchingRegions(
  call: CallNode,
  operands: readonly Value[],
  into: Program,
  report: Report,
): Inside | null {
  const control = controlOf(call);
  if (control === null) return null;
  const { op, attributes, regions, types, source } = call;
  const found = regions.map((region, k) =>
    control.kind === 'while' && k === 0 ? null : watching(region, report),
  );
  const watched = found.flatMap((each) => each?.watched ?? []);
  if (watched.length === 0) return null;
  const told = watched.map(() => report.type);
  if (control.kind === 'branch') {
    const [then, otherwise] = found.map((each) => each?.watched.length ?? 0);
    const branches = regions.map((region, k) =>
      withQuiet(found[k]?.program ?? region, region.outputs.length, report, {
        before: k === 0 ? 0 : then,
        behind: k === 0 ? otherwise : 0,
      }),
    );
    const made = into.appendTyped(op, operands, attributes, [...types, ...told], {
      regions: branches,
      source,
    });
    return { results: made.slice(0, types.length), reports: made.slice(types.length), watched };
  }
  const { states } = control.loop(attributes);
  const at = states + (control.kind === 'foreach' ? control.loop(attributes).data : 0);
  const body = regions.length - 1;
  const quiet = watched.map(() => into.constant(nothingIn(report)));
  // The iteration count comes last.
  const own = types.length - Number(control.kind === 'while');
  const made = into.appendTyped(
    op,
    [...operands.slice(0, at), ...quiet, ...operands.slice(at)],
    { ...attributes, states: states + watched.length },
    [...types.slice(0, own), ...told, ...types.slice(own)],
    {
      regions: regions.map((region, k) =>
        k === body
          ? accumulating(found[k]!.program, region.outputs.length, at, report)
          : withUnread(region, at, told),
      ),
      source,
    },
  );
  return {
    results: [...made.slice(0, own), ...made.slice(own + told.length)],
    reports: made.slice(own, own + told.length),
    watched,
  };
}

function nothingIn({ type: { dtype, shape } }: Report): ConstantData {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return { type: { dtype, shape }, data: allocate(dtype, count) };
}

/** A branch with empty reports for the calls of the other branch, which come before or after its own. */
function withQuiet(
  branch: Program,
  own: number,
  report: Report,
  others: { readonly before: number; readonly behind: number },
): Program {
  return Program.from(branch, (into) => {
    const inputs = namedInputs(branch).map(({ name, type }) => into.variable(name, type));
    const values = instantiate(branch, into, inputs);
    const quiet = (count: number): Value[] =>
      Array.from({ length: count }, () => into.constant(nothingIn(report)));
    const all = [
      ...values.slice(0, own),
      ...quiet(others.before),
      ...values.slice(own),
      ...quiet(others.behind),
    ];
    into.setOutputs(all.map((value, k) => ({ name: `y${k}`, value })));
  });
}

/** A body with additional states that accumulate the reports of its iterations. */
function accumulating(body: Program, own: number, at: number, report: Report): Program {
  return Program.from(body, (into) => {
    const told = body.outputs.slice(own).map(() => report.type);
    const { inputs, further } = withInputs(body, into, at, told);
    const values = instantiate(body, into, inputs);
    const joined = further.map((before, k) => report.join(before, values[own + k]));
    const all = [...values.slice(0, own), ...joined];
    into.setOutputs(all.map((value, k) => ({ name: `y${k}`, value })));
  });
}

/** A condition with additional states that it ignores. */
function withUnread(region: Program, at: number, types: readonly TensorType[]): Program {
  return Program.from(region, (into) => {
    const { inputs } = withInputs(region, into, at, types);
    const values = instantiate(region, into, inputs);
    into.setOutputs(region.outputs.map(({ name }, k) => ({ name, value: values[k] })));
  });
}

/** The inputs of a program, with additional ones inserted at a position. */
function withInputs(
  program: Program,
  into: Program,
  at: number,
  types: readonly TensorType[],
): { readonly inputs: readonly Value[]; readonly further: readonly Value[] } {
  const declared = namedInputs(program);
  const taken = declared.map(({ name }) => name);
  const add = (from: number, to?: number): Value[] =>
    declared.slice(from, to).map(({ name, type }) => into.variable(name, type));
  const before = add(0, at);
  const further = types.map((type, k) => into.variable(unused(`told_${k}`, taken), type));
  return { inputs: [...before, ...add(at)], further };
}

function unused(hint: string, taken: readonly string[]): string {
  let name = hint;
  while (taken.includes(name)) name += '_';
  return name;
}
