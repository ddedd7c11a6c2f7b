import { type Dim, isStatic } from '../../../base/dim/index.js';
import { ShapeError } from '../../../base/errors.js';
import type { Value } from '../../../ir/program.js';
import { sizesFromElements } from '../../../ops/dynamic/extents.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { type ImportedOperand, integers, TensorOperand, truthOperand } from '../operand.js';
import type { GraphProto } from '../proto/onnx_pb.js';
import { ImportedRegion } from '../region.js';
import { joinedStates } from './joined-states.js';
import { foreachRowIfFits, keepsType, type LoopResults } from './loops.js';
import { type RowReads, rowReads } from './row-reads.js';
import { anyElement, type ImportRules } from './rule.js';
import { withAddedRows } from './sequences.js';

/** Iteration limit for unrolling loops whose state is not an array. */
const mostUnrolled = 256;

/** Loop: counts iterations, and ends when its condition does. */
function loop(node: ImportedNode): readonly ImportedOperand[] {
  const body = node.attributes.graph('body');
  const initial = node.inputs
    .slice(2)
    .map((operand, k): ImportedOperand => operand ?? node.operand(k + 2));
  const trips = node.has(0) ? (node.operand(0).known?.[0] ?? null) : null;
  const goesOn = node.has(1) ? knownTruth(node, node.operand(1)) : true;
  if (goesOn === false) return unrolled(node, body, initial, 0);
  const isCounted = goesOn === true;
  // Written out, states may change their shapes.
  const mayUnroll = typeof trips === 'number' && trips <= mostUnrolled;
  const isOpen = (dim: Dim): boolean => mayUnroll ? !node.importer.isDeclared(dim) : !isStatic(dim); // prettier-ignore
  const ends = { trips, mayUnroll, isCounted, isOpen };
  const whole =
    collecting(node, body, initial, ends) ??
    (areTensors(initial) ? captured({ node, body, states: initial, joined: 0, ...ends }) : null);
  return whole ?? unrolled(node, body, initial, trips);
}

function areTensors(operands: readonly ImportedOperand[]): operands is readonly TensorOperand[] {
  return operands.every(({ kind }) => kind === 'tensor');
}

/** A loop as one operator. */
interface WholeLoop {
  readonly node: ImportedNode;
  readonly body: GraphProto;
  readonly states: readonly TensorOperand[];
  /** The number of results with rows, from the first on, that are joined in place of stacked. */
  readonly joined: number;
  readonly trips: Dim | null;
  readonly mayUnroll: boolean;
  /** True where nothing but the number of iterations ends it. */
  readonly isCounted: boolean;
  /** True for a size that may turn out to be equal to any other one. */
  readonly isOpen: (dim: Dim) => boolean;
}

/** True where sizes stay known if the loop is written out: iterations give known numbers of the rows that are joined. */
function isBetterUnrolled(
  { joined, mayUnroll }: WholeLoop,
  outputs: readonly ImportedOperand[],
): boolean {
  return mayUnroll && joined > 0 && outputs.slice(0, joined).every((each) => each.kind === 'tensor' && isStatic(each.type.shape[0])); // prettier-ignore
}

/** The results of a loop as one operator; null where states change their shapes, as sizes that depend on data may. */
function captured(loop: WholeLoop): readonly ImportedOperand[] | null {
  try {
    return (loop.isCounted ? overNumbers(loop) : null) ?? whileLoop(loop);
  } catch (error) {
    if (!isAboutShapes(error)) throw error;
    return null;
  }
}

/** A loop some of whose states collect arrays of all iterations; null where there is none, or others change their shapes. */
function collecting(
  node: ImportedNode,
  whole: GraphProto,
  states: readonly ImportedOperand[],
  ends: Omit<WholeLoop, 'node' | 'body' | 'states' | 'joined'>,
): readonly ImportedOperand[] | null {
  const { body, joined, added, others } = joinedStates(whole, states.length);
  const own: readonly ImportedOperand[] = others.map((k) => states[k]);
  const given: readonly ImportedOperand[] = joined.map((k) => states[k]);
  if (joined.length + added.length === 0 || !areTensors(own) || !areTensors(given)) return null;
  if (given.some(({ type }) => type.shape.length === 0)) return null;
  // Written out, sequences have a known length.
  if (added.length > 0 && ends.mayUnroll) return null;
  const results = captured({ node, body, states: own, joined: joined.length, ...ends });
  if (results === null) return null;
  const after: ImportedOperand[] = [];
  const collected = results.slice(own.length) as readonly TensorOperand[];
  const isOneShape = ({ type: { shape } }: TensorOperand): boolean =>
    shape.slice(1).every((dim) => node.importer.isDeclared(dim));
  if (!collected.slice(joined.length, joined.length + added.length).every(isOneShape)) return null;
  others.forEach((k, i) => (after[k] = results[i]));
  joined.forEach((k, i) => {
    const all = ops.concat([given[i].valueIn(node.region), collected[i].valueIn(node.region)]);
    after[k] = TensorOperand.of(all, given[i].element);
  });
  added.forEach(
    (k, i) => (after[k] = withAddedRows(node, states[k], collected[joined.length + i])),
  );
  return [...after, ...results.slice(states.length)];
}

function isAboutShapes(error: unknown): boolean {
  return error instanceof ShapeError || (error as Error).cause instanceof ShapeError;
}

function overNumbers(loop: WholeLoop): readonly ImportedOperand[] | null {
  const { node, body, trips } = loop;
  if (!node.has(0)) return null;
  const length = trips ?? sizesFromElements(ops.maximum(ops.reshape(node.value(0), [1]), 0))[0];
  const count = isStatic(length) ? Math.max(length, 0) : length;
  return countedLoop(loop, rowReads(node, body, count), node.iota(count));
}

function knownTruth(node: ImportedNode, operand: TensorOperand): boolean | null {
  const data = operand.data ?? node.importer.evaluated(operand.made!);
  return data === null ? null : Boolean(data.data[0]);
}

/** A loop whose condition always holds, as one over its iteration numbers; null for other loops. */
function countedLoop(
  loop: WholeLoop,
  { body, data, elements: rowElements, reverse }: RowReads,
  numbers: Value,
): readonly ImportedOperand[] | null {
  const { node, states, joined, isOpen } = loop;
  if (reverse && joined > 0) return null;
  const elements = states.map(({ element }) => element);
  const yielded: TensorOperand[] = [];
  const given = states.map((state) => state.valueIn(node.region));
  // Iterations count up, and stack results in that order, whichever row they read.
  const inOrder = (rows: Value): Value => (reverse ? ops.flip(rows, 0) : rows);
  const build = (
    region: ImportedRegion,
    rows: readonly Value[],
    before: readonly Value[],
  ): LoopResults | null => {
    const made = node.subgraph(
      body,
      [
        TensorOperand.of(rows[0]),
        truthOperand(true),
        ...before.map((value, k) => TensorOperand.of(value, elements[k])),
        ...rows.slice(1).map((value, k) => TensorOperand.of(value, rowElements[k])),
      ],
      states.length + 1,
      region,
    );
    const [again, ...others] = made;
    const after = others.slice(0, states.length);
    const outputs = others.slice(states.length);
    const fits =
      again.kind === 'tensor' &&
      again.data !== null &&
      Boolean(again.data.data[0]) &&
      after.every((each, k) => keepsType(states[k], each, isOpen)) &&
      outputs.every(({ kind }) => kind === 'tensor') &&
      !isBetterUnrolled(loop, outputs);
    if (!fits) return null;
    yielded.push(...(outputs as readonly TensorOperand[]));
    return {
      rows: yielded.map((each) => each.valueIn(region)),
      states: after.map((each) => (each as TensorOperand).valueIn(region)),
    };
  };
  const found = foreachRowIfFits(
    node,
    {
      data: [inOrder(numbers), ...data],
      states: given,
      reverse,
      joined,
    },
    ({ rows, states: before }, _, region) => build(region, rows, before),
  );
  if (found === null) return null;
  return [
    ...found.states.map((value, k) => TensorOperand.of(value, elements[k])),
    ...found.rows.map((value, k) => TensorOperand.of(inOrder(value), yielded[k].element)),
  ];
}

/** A loop ended by its condition or iteration count; null when a state changes its shape. */
function whileLoop(loop: WholeLoop): readonly ImportedOperand[] | null {
  const { node, body, states, joined, isOpen } = loop;
  const bodyRegion = new ImportedRegion(node.region);
  const first = [
    node.scalar(0, 'int64'),
    node.has(1) ? ops.reshape(node.value(1), []) : node.scalar(1, 'bool'),
    ...states.map((state) => state.valueIn(node.region)),
  ];
  const limit = node.has(0) ? ops.reshape(node.value(0), []) : null;
  const given = first.map(({ type }) => bodyRegion.variable('state', type));
  if (limit !== null) bodyRegion.use(limit);
  const made = node.subgraph(
    body,
    given.map((value, k) => TensorOperand.of(value, states[k - 2]?.element)),
    states.length + 1,
    bodyRegion,
  );
  const after = made.slice(1, states.length + 1);
  const outputs = made.slice(states.length + 1);
  const [again] = made;
  const fits =
    again.kind === 'tensor' &&
    after.every((each, k) => keepsType(states[k], each, isOpen)) &&
    outputs.every(({ kind }) => kind === 'tensor') &&
    !isBetterUnrolled(loop, outputs);
  if (!fits) return null;
  const rows = outputs as readonly TensorOperand[];
  const results = [
    ...rows.map((each) => each.valueIn(bodyRegion)),
    ops.add(given[0], 1),
    ops.reshape(again.valueIn(bodyRegion), []),
    ...after.map((each) => (each as TensorOperand).valueIn(bodyRegion)),
  ];
  bodyRegion.program.setOutputs(results.map((value, i) => ({ name: `y${i}`, value })));
  const captures = [...bodyRegion.captures.keys()];
  const condition = new ImportedRegion(node.region);
  const seen = first.map(({ type }) => condition.variable('state', type));
  const outer = captures.map(({ type }) => condition.variable('outer', type));
  const isWithin = limit === null ? seen[1] : ops.logicalAnd(seen[1], ops.less(seen[0], outer[captures.indexOf(limit)])); // prettier-ignore
  condition.program.setOutputs([{ name: 'goes_on', value: isWithin }]);
  const all = ops.whileLoop<Value>(condition.program, bodyRegion.program, {
    states: first,
    captures,
    joined,
    sizes: bodyRegion.sizes,
  });
  const last = all.slice(rows.length + 2, rows.length + 2 + states.length);
  return [
    ...last.map((value, k) => TensorOperand.of(value, states[k].element)),
    ...rows.map((each, k) => TensorOperand.of(all[k], each.element)),
  ];
}

/** Unrolls a loop whose sequences or shapes change between iterations. */
function unrolled(
  node: ImportedNode,
  body: GraphProto,
  initial: readonly ImportedOperand[],
  trips: unknown,
): readonly ImportedOperand[] {
  const wants =
    'states that change their shapes or are no tensors need a number of iterations that is known';
  if (typeof trips !== 'number')
    throw node.has(0) ? node.unknown(0, wants) : node.unsupported(wants);
  if (trips > mostUnrolled)
    throw node.unsupported(`${wants}, and at most ${mostUnrolled}`, String(trips));
  let states = initial;
  let goesOn: ImportedOperand = node.has(1) ? node.operand(1) : truthOperand(true);
  const yielded: TensorOperand[][] = [];
  for (let trip = 0; trip < trips; trip++) {
    if (goesOn.kind !== 'tensor') throw node.refuse('the condition is no tensor');
    const isTrue = knownTruth(node, goesOn);
    if (isTrue === null) throw node.unknown(1, `${wants}, and a condition that is`);
    if (!isTrue) break;
    const number = TensorOperand.constant(integers([trip], []));
    const [again, ...results] = node.subgraph(body, [number, goesOn, ...states], states.length + 1);
    goesOn = again;
    states = results.slice(0, states.length);
    const rows = results.slice(states.length);
    if (!rows.every((row) => row.kind === 'tensor'))
      throw node.unsupported('it yields what are no tensors');
    yielded.push(rows);
  }
  const rows = body.output.length - 1 - initial.length;
  if (rows > 0 && yielded.length === 0) throw node.unsupported('it never runs, and yields rows');
  return [
    ...states,
    ...Array.from({ length: rows }, (_, k) => {
      const all = yielded.map((each) => each[k].valueIn(node.region));
      return TensorOperand.of(ops.stack(all), yielded[0][k].element);
    }),
  ];
}

export const loopRules: ImportRules = {
  Loop: anyElement(loop),
};
