import { sameDim } from '../../base/dim/index.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { type CallNode, namedInputs, Program, type Value } from '../../ir/program.js';
import { sameType, type TensorType } from '../../ir/types.js';
import type { ForeachForm, WhileForm } from '../../ops/declare/lowering.js';
import { eliminateCommonSubexpressions } from '../simplify/cse.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { withInferredTypes } from '../rewrite/decided-sizes.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import { isLoop } from './loop.js';
import { withOutputs } from '../rewrite/outputs.js';
import { sameProgram } from '../../ir/same-program.js';
import { instantiate, throughRegions, transform } from '../rewrite/transform.js';

/**
 * Merges loops that compute the same: loops over the same operands whose states develop alike become one,
 * with the stacked rows of them all. A gradient reruns a loop for values of its iterations; where it meets
 * the loop itself, or another gradient's, this makes them one.
 *
 * Equality of two bodies is proved by putting both into one program: then the new states of one are those of
 * the other.
 */
export function mergeLoops(program: Program): Program {
  let current = program;
  for (;;) {
    const merged = throughRegions(current, mergeOnce);
    if (merged === current) return current;
    // Readers of merged loops may have the same operands now.
    current = eliminateCommonSubexpressions(merged);
  }
}

/** A program with a predicate of late nodes. */
export interface MarkedProgram {
  readonly program: Program;
  readonly isLate: (id: NodeId) => boolean;
}

/** `mergeLoops` with marks: a merged loop is early if one of its originals is. */
export function mergeMarkedLoops({ program, isLate }: MarkedProgram): MarkedProgram {
  const calls = [...program.calls()];
  if (calls.filter(([, call]) => isLoop(call)).length < 2) {
    return { program, isLate };
  }
  // As outputs, all values can be found again.
  const { outputs } = program;
  const values = calls.flatMap(([id]) => program.results(id));
  const all = [...outputs.map(({ value }) => value), ...values];
  const whole = withOutputs(
    program,
    all.map((value, k) => ({ name: `y${k}`, value })),
  );
  const merged = mergeLoops(whole);
  if (merged === whole) return { program, isLate };
  const found = merged.outputs.map(({ value }) => value);
  const early = new Set(
    found.slice(outputs.length).flatMap(({ node }, k) => (isLate(values[k].node) ? [] : [node])),
  );
  merged.setOutputs(outputs.map(({ name }, k) => ({ name, value: found[k] })));
  return {
    program: merged,
    isLate: (id) => merged.node(id).kind === 'call' && !early.has(id),
  };
}

/** Loops whose results are covered by one of them. */
export interface EquivalentLoops {
  readonly first: NodeId;
  readonly by: NodeId;
  /** For each of the others, the equal results of the covering loop. */
  readonly others: ReadonlyMap<NodeId, readonly Value[]>;
}

/**
 * Groups of equivalent loops by node: a loop and its rerun for a gradient, where they cannot be merged
 * because arrays stand for their results.
 */
export function coveredLoops(
  program: Program,
  ids: readonly NodeId[],
): ReadonlyMap<NodeId, EquivalentLoops> {
  const found = new Map<NodeId, EquivalentLoops>();
  for (const { rows } of new Set(mergedLoops(program, ids).values())) {
    const members = [...rows.keys()];
    const total = new Set([...rows.values()].flat()).size;
    const by = members.find((id) => new Set(rows.get(id)).size === total);
    if (by === undefined) continue;
    const results = program.results(by);
    const own = rows.get(by)!;
    const sameAs = (id: NodeId): readonly Value[] => {
      const places = rows.get(id)!;
      return program
        .results(id)
        .map((_, k) =>
          k < places.length
            ? results[own.indexOf(places[k])]
            : results[k - places.length + own.length],
        );
    };
    const others = new Map(members.filter((id) => id !== by).map((id) => [id, sameAs(id)]));
    const isAlike = [...others].every(([id, same]) =>
      program.results(id).every(({ type }, k) => sameType(type, same[k].type)),
    );
    if (isAlike) for (const id of members) found.set(id, { first: members[0], by, others });
  }
  return found;
}

/** One loop in place of several. */
interface Merged {
  call: CallNode;
  /** For each original, by node: its rows among those of the merged loop. */
  readonly rows: Map<NodeId, readonly number[]>;
}

function mergeOnce(program: Program, region: (region: Program) => Program): Program {
  const merged = mergedLoops(program);
  const made = new Map<Merged, readonly Value[]>();
  return transform(
    program,
    ({ node, id, operands, into }) => {
      const one = merged.get(id);
      if (one === undefined || node.kind !== 'call') return undefined;
      let results = made.get(one);
      if (results === undefined) {
        // All of them pass the same sizes, which may have other names here by now.
        const attributes = { ...one.call.attributes, sizes: node.attributes['sizes'] };
        const merged = { ...one.call, attributes, decides: [] };
        const call = withInferredTypes(merged, operands, into, givenTypes(program, one, into));
        results = into.appendTyped(call.op, operands, attributes, call.types, call);
        made.set(one, results);
      }
      const places = one.rows.get(id)!;
      const ends = node.types.length - places.length;
      return [...places.map((place) => results[place]), ...results.slice(results.length - ends)];
    },
    { region, wanted: (call) => merged.size > 0 && isLoop(call) },
  );
}

/**
 * Types of the results of a merged loop as one of the originals has them, where all of their sizes are known before:
 * inputs bring sizes that the data of a loop decides, too, and these keep their names. Null for others.
 */
function givenTypes(
  program: Program,
  { rows }: Merged,
  into: Program,
): readonly (TensorType | null)[] {
  const found: (TensorType | null)[] = [];
  const count = 1 + Math.max(-1, ...[...rows.values()].flat());
  for (const [id, places] of rows) {
    program.results(id).forEach(({ type }, k) => {
      const place = k < places.length ? places[k] : count + k - places.length;
      const isGiven = [...symbolsOfTypes([type]).keys()].every((name) => into.knowsSize(name));
      found[place] ??= isGiven ? type : null;
    });
  }
  return found;
}

/** Mergeable loops of a program, each with its replacement. */
function mergedLoops(
  program: Program,
  ids: Iterable<NodeId> = program.graph.nodes(),
): ReadonlyMap<NodeId, Merged> {
  const candidates = new Map<string, NodeId[]>();
  for (const id of ids) {
    const call = program.node(id);
    if (call.kind !== 'call' || !isLoop(call)) continue;
    const key = candidateKey(call, program.operands(id));
    const others = candidates.get(key);
    if (others === undefined) candidates.set(key, [id]);
    else others.push(id);
  }
  const found = new Map<NodeId, Merged>();
  for (const ids of candidates.values()) {
    const groups: Merged[] = [];
    for (const id of ids) {
      const call = program.node(id) as CallNode;
      const isJoined = groups.some((group) => {
        const joined = join(group.call, call);
        if (joined === null) return false;
        group.call = joined.call;
        for (const [member, rows] of group.rows) {
          group.rows.set(
            member,
            rows.map((row) => joined.firstRows[row]),
          );
        }
        group.rows.set(id, joined.rows);
        return true;
      });
      if (!isJoined) groups.push({ call, rows: new Map([[id, positions(rowsOf(call))]]) });
    }
    for (const group of groups) {
      if (group.rows.size > 1) for (const id of group.rows.keys()) found.set(id, group);
    }
  }
  return found;
}

interface Joined {
  readonly call: CallNode;
  /** Positions of the rows of both loops among those of the merged call. */
  readonly firstRows: readonly number[];
  readonly rows: readonly number[];
}

/** The loop with the rows of both, those of the first in front; null when they compute different states. */
function join(first: CallNode, second: CallNode): Joined | null {
  const [one, other] = [rowsOf(first), rowsOf(second)];
  const { joined } = formOf(first);
  if (joined !== formOf(second).joined) return null;
  if (one > joined && other > joined && isPadded(first) !== isPadded(second)) return null;
  const [body, otherBody] = [first.regions.at(-1)!, second.regions.at(-1)!];
  const areOneKind =
    body.inputs.every(({ type }, k) => sameType(type, otherBody.inputs[k].type)) &&
    body.sizes.every((size, k) => sameDim(size, otherBody.sizes[k]));
  if (!areOneKind || !haveSameConditions(first, second)) return null;
  const both = inOne(body, otherBody);
  const values = both.outputs.map(({ value }) => value);
  const otherValues = values.slice(body.outputs.length);
  const isAlike = (from: number, otherFrom: number, count: number): boolean =>
    positions(count).every((k) => values[from + k] === otherValues[otherFrom + k]);
  const states = values.slice(one, body.outputs.length);
  if (!isAlike(0, 0, joined) || !isAlike(one, other, states.length)) return null;
  const stacked = [...values.slice(joined, one), ...otherValues.slice(joined, other)];
  const distinct = [...new Set(stacked)];
  const placesOf = (from: number, to: number): readonly number[] => [
    ...positions(joined),
    ...stacked.slice(from, to).map((value) => joined + distinct.indexOf(value)),
  ];
  const [firstRows, otherRows] = [
    placesOf(0, one - joined),
    placesOf(one - joined, stacked.length),
  ];
  if (joined + distinct.length === one && firstRows.every((place, k) => place === k)) {
    return { call: first, firstRows, rows: otherRows };
  }
  const named = [...values.slice(0, joined), ...distinct, ...states].map((value, k) => ({
    name: `y${k}`,
    value,
  }));
  const { attributes } = one === joined ? second : first;
  const regions = [...first.regions.slice(0, -1), withOutputs(both, named)];
  return { call: { ...first, attributes, regions }, firstRows, rows: otherRows };
}

/** Two programs on the same inputs as one, in which equal values are merged. */
function inOne(first: Program, second: Program): Program {
  const both = Program.from(first, (into) => {
    const inputs = namedInputs(first).map(({ name, type }) => into.variable(name, type));
    const outputs = [first, second].flatMap((each) => instantiate(each, into, inputs));
    into.setOutputs(outputs.map((value, k) => ({ name: `y${k}`, value })));
  });
  return tidy(both);
}

/** Normalizes a body: equal or dead parts inside of one loop need not look alike in another. */
function tidy(program: Program): Program {
  return mergeLoops(eliminateCommonSubexpressions(eliminateDeadCode(program)));
}

function haveSameConditions(first: CallNode, second: CallNode): boolean {
  return first.regions.slice(0, -1).every((condition, k) => {
    const other = second.regions[k];
    return condition === other || sameProgram(tidy(condition), tidy(other));
  });
}

/** Equal for loops that iterate alike over the same operands, regardless of their saved values and rows. */
function candidateKey(call: CallNode, operands: readonly Value[]): string {
  const form = formOf(call);
  const read = [
    ...operands.map(({ node, port }) => `${node}.${port}`),
    ...sizesPassedBy(call).map(String),
  ].join();
  return form.kind === 'foreach'
    ? `${form.data},${form.states},${form.reverse},${form.counted}:${read}`
    : `${form.states},${String(form.limit)}:${read}`;
}

type Form = ({ readonly kind: 'foreach' } & ForeachForm) | ({ readonly kind: 'while' } & WhileForm);

function formOf({ op, attributes }: CallNode): Form {
  const { lowering } = declarationOf(op);
  if (lowering.kind === 'foreach') return { kind: 'foreach', ...lowering.loop(attributes) };
  if (lowering.kind === 'while') return { kind: 'while', ...lowering.loop(attributes) };
  throw new InternalError(`${op.name} is no loop`);
}

function rowsOf(call: CallNode): number {
  return call.regions.at(-1)!.outputs.length - formOf(call).states;
}

function isPadded(call: CallNode): boolean {
  const form = formOf(call);
  return form.kind === 'while' && form.padded;
}

function positions(count: number): readonly number[] {
  return Array.from({ length: count }, (_, k) => k);
}
