import { elementCount } from '../../base/dim/index.js';
import type { CallNode, Output, Program, Value } from '../../ir/program.js';
import { sameType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Make } from './carve.js';
import {
  editLoops,
  type LoopOperand,
  type Loop,
  loopAt,
  replaceLoop,
  type CarriedValue,
} from './loop.js';
import { specialized } from './specialize.js';

/** Size limit of constants that are copied into regions. */
const mostElements = 64;

/**
 * Canonicalizes loops. No result changes a bit.
 *
 * - symbols of a region that are one number, or one size, at its only call are replaced: `m = 3`, `m = n`;
 * - a state that the body passes through is read from outside: `s' = s` gives `s = s_0`;
 * - states that start and stay equal are merged: `a_0 = b_0` and `a' = b'` give `a = b`;
 * - captures, and data, that are one array are merged; so are rows that are one value;
 * - small constants, and arrays determined by their shape, are made inside;
 * - stacked rows of unchanged data are that data: `rows(x_t) = x`.
 */
export function canonicalLoops(program: Program): Program {
  return editLoops(program, (original) => {
    const adapted = specializedNode(original);
    const isSpecial = adapted === original.node;
    const loop = isSpecial ? original : loopAt(adapted, operandsOf(original), original.into);
    const made = new Map<Value, Make>();
    const { states, captures: passed, results: stateResults } = canonicalStates(loop.states);
    const captures = merged([...loop.captures, ...passed]).filter((entry) => {
      const make = makerOf(entry);
      if (make !== null) for (const value of entry.stands) made.set(value, make);
      return make === null;
    });
    const data = merged(loop.data);
    const { rows, results: rowResults } = canonicalRows(loop, data);
    const isSame =
      isSpecial &&
      states.length === loop.states.length &&
      captures.length === loop.captures.length &&
      data.length === loop.data.length &&
      rows.length === loop.rows.length;
    if (isSame) return undefined;
    return replaceLoop({
      loop: { ...loop, states, captures, data, rows, made },
      rows: rowResults,
      states: stateResults,
    });
  });
}

function operandsOf({ data, states, captures, count }: Loop): readonly Value[] {
  const entries = [...data, ...states, ...captures].map(({ operand }) => operand);
  return count === null ? entries : [...entries, count];
}

/** The call with regions in which no symbol stands for a number, nor two for the same size. */
function specializedNode({ node, body, condition, dims, conditionDims }: Loop): CallNode {
  const regions = [
    ...(condition === null ? [] : [specialized(condition, conditionDims)]),
    specialized(body, dims),
  ];
  return regions.every((region, k) => region === node.regions[k]) ? node : { ...node, regions };
}

function canonicalStates(states: readonly CarriedValue[]): {
  readonly states: readonly CarriedValue[];
  readonly captures: readonly LoopOperand[];
  readonly results: readonly (number | Value)[];
} {
  const kept: CarriedValue[] = [];
  const captures: LoopOperand[] = [];
  const results = states.map((state) => {
    if (state.stands.includes(state.next.value)) {
      captures.push(state);
      return state.operand;
    }
    const at = kept.findIndex(
      (other) => other.next.value === state.next.value && areOne(other, state),
    );
    if (at < 0) return kept.push(state) - 1;
    kept[at] = { ...kept[at], stands: [...kept[at].stands, ...state.stands] };
    return at;
  });
  return { states: kept, captures: captures.map(asCapture), results };
}

function asCapture({ operand, name, stands }: LoopOperand): LoopOperand {
  return { operand, name, stands };
}

/** Merges entries of the same array. */
function merged(entries: readonly LoopOperand[]): readonly LoopOperand[] {
  const kept: LoopOperand[] = [];
  const places = new Map<Value, number[]>();
  for (const entry of entries) {
    const candidates = places.get(entry.operand) ?? [];
    const at = candidates.find((place) => areOne(kept[place], entry));
    if (at !== undefined) {
      kept[at] = { ...kept[at], stands: [...kept[at].stands, ...entry.stands] };
    } else {
      candidates.push(kept.push(entry) - 1);
      places.set(entry.operand, candidates);
    }
  }
  return kept;
}

/** True when one input can replace both: the same array, with the same type in every region. */
function areOne(a: LoopOperand, b: LoopOperand): boolean {
  return (
    a.operand === b.operand &&
    a.stands.every((value) =>
      b.stands.every(
        (other) => other.program !== value.program || sameType(value.type, other.type),
      ),
    )
  );
}

/** Constructor of a capture's elements inside the region at no cost; null where there is none. */
function makerOf({ operand, stands }: LoopOperand): Make | null {
  const node = operand.program.node(operand.node);
  if (!stands.every(({ type }) => sameType(type, operand.type))) return null;
  if (node.kind === 'constant') {
    return Number(elementCount(node.data.type.shape)) > mostElements
      ? null
      : (into) => into.constant(node.data);
  }
  if (node.kind !== 'call' || operand.program.operands(operand.node).length > 0) return null;
  const isStatic = operand.type.shape.every((dim) => typeof dim === 'number');
  if (!isStatic || declarationOf(node.op).lowering.kind !== 'point') return null;
  return (into) => into.appendTyped(node.op, [], node.attributes, node.types, node)[0];
}

function canonicalRows(
  { rows, joined, count, node }: Loop,
  data: readonly LoopOperand[],
): { readonly rows: readonly Output[]; readonly results: readonly (number | Value)[] } {
  const kept: Output[] = [];
  const results = rows.map((row, k) => {
    if (k < joined) return kept.push(row) - 1;
    const whole = data.find(({ stands }) => stands.includes(row.value));
    // Rows beyond a count are zero, whatever the data holds there.
    if (whole !== undefined && count === null && sameType(whole.operand.type, node.types[k]))
      return whole.operand;
    const at = kept.findIndex(({ value }, place) => place >= joined && value === row.value);
    return at < 0 ? kept.push(row) - 1 : at;
  });
  return { rows: kept, results };
}
