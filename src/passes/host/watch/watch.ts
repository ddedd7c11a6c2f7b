import { boundsOf, subDim } from '../../../base/dim/index.js';
import { allocate } from '../../../base/dtype.js';
import type { NodeId } from '../../../graph/graph.js';
import { type CallNode, namedInputs, Program, type Value } from '../../../ir/program.js';
import type { ConstantData, TensorType } from '../../../ir/types.js';
import type { AcceptedElements } from '../../../ops/declare/check.js';
import { declarationOf, hasRootCall } from '../../../ops/declare/facets.js';
import * as ops from '../../../ops/index.js';
import { controlOf } from '../../lower/main/control.js';
import { instantiate } from '../../rewrite/transform.js';
import { mayCheck } from '../../simplify/checks.js';
import { viewed } from '../../rewrite/views.js';
import type { Report, Watched } from './report.js';

/*
 * Elements that an operator would refuse, where only the program knows them: those that it computes, and those in
 * bodies of loops and branches. The program tells of them by further results, so that whoever runs it can refuse
 * what it gives; its kernels stay in bounds meanwhile.
 */

/** A program that reports invalid elements: one additional result for each watched call, after its own. */
export interface Watching {
  readonly program: Program;
  readonly watched: readonly Watched[];
}

/** Predicate of watched calls by id; calls in regions are always watched. */
export type IsWatched = (id: NodeId) => boolean;

/**
 * A program that reports invalid elements, without roots that are reported or checked before it runs; null where
 * there are none. Of calls it watches the bodies of those only that have a gradient of their own: others are to be
 * inlined before.
 * Operands inside loop conditions are not watched: captured loops whose conditions check are rotated.
 */
export function watching(
  program: Program,
  report: Report,
  isWatched: IsWatched = () => true,
  depth: number = 0,
): Watching | null {
  if (!mayRefuse(program, isWatched) && !hasRootCall(program)) return null;
  const watched: Watched[] = [];
  const reports: Value[] = [];
  const outputNodes = new Set(program.outputs.map(({ value }) => value.node));
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
        const inside = watchingRegions(node, operands, into, report, reports, depth);
        const isRead = !program.graph.outEdges(id).next().done || outputNodes.has(id);
        // A report takes the place of a root that nobody reads.
        const isReplaced = !isRead && declarationOf(node.op).check?.isRoot === true;
        results.push(isReplaced ? [] : (inside?.results ?? into.appendNode(node, operands)));
        reports.push(...(inside?.reports ?? []));
        watched.push(...(inside?.watched ?? []));
        const { check } = declarationOf(node.op);
        if (check === undefined || !isWatched(id)) continue;
        const types = operands.map(({ type }) => type);
        const accepted = check.accepts(types, node.attributes);
        if (accepted === null || areWithin(program.operands(id)[check.operand], accepted)) continue;
        const elements = ops.cast(ops.reshape(operands[check.operand], [-1]), report.elements(types[check.operand].dtype)); // prettier-ignore
        reports.push(report.of(elements, accepted, depth));
        watched.push({ call: node, type: types[check.operand], accepted, loops: [], depth });
      }
    }
    const outputs = program.outputs.map(({ name, value }) => ({ name, value: moved(value) }));
    const taken = outputs.map(({ name }) => name);
    into.setOutputs([
      ...outputs,
      ...reports.map((value, k) => ({ name: unused(`foreign_${k}`, taken), value })),
    ]);
  });
  return watched.length === 0 && !hasRootCall(program) ? null : { program: made, watched };
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
  return [...program.calls()].some(
    ([id, { op, regions }]) =>
      (declarationOf(op).check !== undefined && isWatched(id)) || regions.some(mayCheck),
  );
}

interface Inside {
  readonly results: readonly Value[];
  readonly reports: readonly Value[];
  readonly watched: readonly Watched[];
}

/**
 * A loop or branch whose regions report; null where they have nothing to report. A `whileLoop` ends where it or
 * `earlier` calls have reported, since what is refused may be what would end it.
 */
function watchingRegions(
  call: CallNode,
  operands: readonly Value[],
  into: Program,
  report: Report,
  earlier: readonly Value[],
  depth: number,
): Inside | null {
  const control = controlOf(call);
  if (control === null) {
    const isCall = declarationOf(call.op).lowering.kind === 'inline';
    return isCall ? watchingForward(call, operands, into, report, depth) : null;
  }
  const { op, attributes, regions, types, decides, source } = call;
  const within = depth + Number(control.kind !== 'branch');
  const found = regions.map((region, k) =>
    control.kind === 'while' && k === 0 ? null : watching(region, report, undefined, within),
  );
  const inside = found.flatMap((each) => each?.watched ?? []);
  const mayStop = control.kind === 'while' && inside.length + earlier.length > 0;
  if (inside.length === 0 && !mayStop) return null;
  if (control.kind === 'branch') {
    const told = inside.map((each) => report.type(each));
    const then = found[0]?.watched.length ?? 0;
    const branches = regions.map((region, k) =>
      withQuiet(found[k]?.program ?? region, region.outputs.length, {
        before: k === 0 ? [] : told.slice(0, then),
        behind: k === 0 ? told.slice(then) : [],
      }),
    );
    const made = into.appendTyped(op, operands, attributes, [...types, ...told], {
      regions: branches,
      decides,
      source,
    });
    const own = types.length;
    return { results: made.slice(0, own), reports: made.slice(own), watched: inside };
  }
  const watched = inside.map((each) => ({ ...each, loops: [...each.loops, call] }));
  const reported = watched.map((each) => report.type(each));
  const told = [...reported, ...(mayStop && earlier.length > 0 ? [stopType] : [])];
  const { states } = control.loop(attributes);
  const at = states + (control.kind === 'foreach' ? control.loop(attributes).data : 0);
  const body = regions.length - 1;
  const initial = told.map((type) =>
    type === stopType
      ? earlier.map((each) => report.isTold(each)).reduce((a, b) => ops.logicalOr(a, b))
      : into.constant(zerosOf(type)),
  );
  // The iteration count comes last.
  const own = types.length - Number(control.kind === 'while');
  const made = into.appendTyped(
    op,
    [...operands.slice(0, at), ...initial, ...operands.slice(at)],
    { ...attributes, states: states + told.length },
    [...types.slice(0, own), ...told, ...types.slice(own)],
    {
      regions: regions.map((region, k) =>
        k === body
          ? accumulating(
              found[k]?.program ?? region,
              region.outputs.length,
              at,
              told,
              inside,
              report,
            )
          : stopping(region, at, told, report),
      ),
      decides,
      source,
    },
  );
  return {
    results: [...made.slice(0, own), ...made.slice(own + told.length)],
    reports: made.slice(own, own + watched.length),
    watched,
  };
}

/**
 * A call with a gradient of its own whose forward region reports; null where it has nothing to report. It stays a call,
 * since the program may be differentiated afterwards; the backward region ignores the reports and their gradients.
 */
function watchingForward(
  { op, attributes, regions: [forward, ...others], types, decides, source }: CallNode,
  operands: readonly Value[],
  into: Program,
  report: Report,
  depth: number,
): Inside | null {
  const found = watching(forward, report, undefined, depth);
  if (found === null || found.watched.length === 0) return null;
  const { program, watched } = found;
  const told = watched.map((each) => report.type(each));
  const behind = operands.length + types.length;
  const regions = [program, ...others.map((backward) => ignoring(backward, behind, told))];
  const made = into.appendTyped(op, operands, attributes, [...types, ...told], {
    regions,
    decides,
    source,
  });
  return { results: made.slice(0, types.length), reports: made.slice(types.length), watched };
}

/** A backward program with inputs for reports behind those of the results, and for their gradients, which come last. */
function ignoring(backward: Program, at: number, told: readonly ReportType[]): Program {
  return Program.from(backward, (into) => {
    const { inputs } = withInputs(backward, into, at, told);
    const taken = namedInputs(into).map(({ name }) => name);
    told.forEach((type, k) => void into.variable(unused(`told_grad_${k}`, taken), type));
    const values = instantiate(backward, into, inputs);
    into.setOutputs(backward.outputs.map(({ name }, k) => ({ name, value: values[k] })));
  });
}

/** The type of the flag that ends a `whileLoop`, which comes last. */
const stopType = { dtype: 'bool', shape: [] } as const;

type ReportType = ReturnType<Report['type']>;

function zerosOf({ dtype, shape }: ReportType): ConstantData {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return { type: { dtype, shape }, data: allocate(dtype, count) };
}

/** A branch with empty reports for the calls of the other branch, which come before or after its own. */
function withQuiet(
  branch: Program,
  own: number,
  others: { readonly before: readonly ReportType[]; readonly behind: readonly ReportType[] },
): Program {
  return Program.from(branch, (into) => {
    const inputs = namedInputs(branch).map(({ name, type }) => into.variable(name, type));
    const values = instantiate(branch, into, inputs);
    const quiet = (types: readonly ReportType[]): Value[] =>
      types.map((type) => into.constant(zerosOf(type)));
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
function accumulating(
  body: Program,
  own: number,
  at: number,
  told: readonly ReportType[],
  watched: readonly Watched[],
  report: Report,
): Program {
  return Program.from(body, (into) => {
    const { inputs, further } = withInputs(body, into, at, told);
    const values = instantiate(body, into, inputs);
    const now = values.slice(own);
    const joined = now.map((value, k) => report.join(further[k], value, watched[k]));
    // What stops the loop from the start stays as it is.
    const all = [...values.slice(0, own), ...joined, ...further.slice(now.length)];
    into.setOutputs(all.map((value, k) => ({ name: k < own ? body.outputs[k].name : `y${k}`, value }))); // prettier-ignore
  });
}

/** A condition with additional states, which end the loop where they tell of anything. */
function stopping(
  region: Program,
  at: number,
  told: readonly ReportType[],
  report: Report,
): Program {
  return Program.from(region, (into) => {
    const { inputs, further } = withInputs(region, into, at, told);
    const [goesOn] = instantiate(region, into, inputs);
    const [{ name }] = region.outputs;
    const isTold = further
      .map((each, k) => (told[k] === stopType ? each : report.isTold(each)))
      .reduce((a, b) => ops.logicalOr(a, b));
    const value = ops.logicalAnd(goesOn, ops.logicalNot(isTold));
    into.setOutputs([{ name, value }]);
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
