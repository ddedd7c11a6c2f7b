import { type Dim, isStatic, sameDim } from '../../../base/dim.js';
import { ShapeError } from '../../../base/errors.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { sizesOf } from '../../../ops/dynamic/extents.js';
import { freeNames } from '../model.js';
import type { ImportedNode } from '../node.js';
import { type Operand, TensorOperand } from '../operand.js';
import type { GraphProto } from '../proto/onnx_pb.js';
import { Region } from '../region.js';
import { foreachRow, type LoopResults } from './loops.js';
import { type RowReads, rowReads } from './rowreads.js';
import { anyElement, type Rules } from './rule.js';

/** Loops whose length is known are written out where a state is no array, up to so many iterations. */
const mostUnrolled = 256;

/** Makes inputs of a region of everything that graphs read from outside, in one order for them all. */
function captureFor(
  node: ImportedNode,
  graphs: readonly GraphProto[],
  regions: readonly Region[],
): void {
  const names = new Set(graphs.flatMap((graph) => [...freeNames(graph)]));
  const visit = (operand: Operand): void => {
    if (operand.kind === 'sequence') operand.entries.forEach(visit);
    else if (operand.kind === 'optional') {
      if (operand.entry !== null) visit(operand.entry);
    } else if (operand.made !== null) {
      for (const region of regions) region.use(node.region.use(operand.made));
    }
  };
  for (const name of names) {
    const operand = node.scope.find(name);
    if (operand !== undefined && operand !== null) visit(operand);
  }
}

/** The tensors in operands, and the operands again with others in their places. */
function flattened(operands: readonly Operand[]): readonly TensorOperand[] {
  return operands.flatMap((operand): readonly TensorOperand[] => {
    if (operand.kind === 'tensor') return [operand];
    if (operand.kind === 'sequence') return flattened(operand.entries);
    return operand.entry === null ? [] : flattened([operand.entry]);
  });
}

function rebuilt(operand: Operand, next: () => TensorOperand): Operand {
  if (operand.kind === 'tensor') return next();
  if (operand.kind === 'sequence') {
    return { kind: 'sequence', entries: operand.entries.map((entry) => rebuilt(entry, next)) };
  }
  if (operand.entry === null) return operand;
  return { kind: 'optional', entry: rebuilt(operand.entry, next) as TensorOperand };
}

/** Whether operands are made alike: as many tensors in the same nesting. */
function sameNesting(a: Operand, b: Operand): boolean {
  if (a.kind === 'tensor' || b.kind === 'tensor') {
    return a.kind === b.kind && (a as TensorOperand).element === (b as TensorOperand).element;
  }
  if (a.kind === 'sequence' && b.kind === 'sequence') {
    return a.entries.length === b.entries.length && a.entries.every((each, k) => sameNesting(each, b.entries[k])); // prettier-ignore
  }
  if (a.kind !== 'optional' || b.kind !== 'optional') return false;
  if (a.entry === null || b.entry === null) return a.entry === b.entry;
  return sameNesting(a.entry, b.entry);
}

/** One of two graphs: at once where the condition is known. */
function branch(node: ImportedNode): readonly Operand[] {
  const outputs = node.proto.output.length;
  const graphs = [node.attributes.graph('then_branch'), node.attributes.graph('else_branch')];
  const condition = node.operand(0);
  const known = condition.data ?? node.importer.evaluated(condition.valueIn(node.region));
  if (known !== null) {
    return node.importer.subgraph(graphs[known.data[0] ? 0 : 1], node.scope, [], outputs);
  }
  const predicate = condition.valueIn(node.region);
  const regions = graphs.map(() => new Region(node.region));
  captureFor(node, graphs, regions);
  const results = graphs.map((graph, k) =>
    node.importer.subgraph(graph, node.scope, [], outputs, regions[k]),
  );
  if (results[0].length !== results[1].length)
    throw node.refuse('the branches have different numbers of outputs');
  results[0].forEach((result, k) => {
    if (!sameNesting(result, results[1][k])) {
      throw node.unknown(0, `the branches give output ${k} of different kinds or lengths`);
    }
  });
  const flat = results.map(flattened);
  flat[0].forEach(({ type }, k) => {
    const other = flat[1][k].type;
    if (type.shape.length !== other.shape.length) throw node.unknown(0, `the branches give output ${k} of different ranks`); // prettier-ignore
  });
  regions.forEach((region, k) => {
    region.program.setOutputs(
      flat[k].map((operand, i) => ({ name: `y${i}`, value: operand.valueIn(region) })),
    );
  });
  checkCaptures(node, regions);
  const made = ops.cond<Value>(predicate, regions[0].program, regions[1].program, [
    ...regions[0].captures.keys(),
  ]);
  let at = 0;
  return results[0].map((result) =>
    rebuilt(result, () => TensorOperand.of(made[at], flat[0][at++].element)),
  );
}

/** The regions of one operator read the same values in the same order. */
function checkCaptures(node: ImportedNode, regions: readonly Region[]): void {
  const [first, ...others] = regions.map(({ captures }) => [...captures.keys()]);
  const isSame = others.every((each) => each.length === first.length && each.every((value, k) => value === first[k])); // prettier-ignore
  if (!isSame) throw node.unsupported('its graphs compute with what lies outside of them');
}

/** A loop that counts, and ends when its condition does. */
function loop(node: ImportedNode): readonly Operand[] {
  const body = node.attributes.graph('body');
  const initial = node.inputs.slice(2).map((operand, k): Operand => operand ?? node.operand(k + 2));
  const trips = node.has(0) ? (node.operand(0).known?.[0] ?? null) : null;
  const goesOn = node.has(1) ? knownTruth(node, node.operand(1)) : true;
  if (goesOn === false) return withoutIterations(node, body, initial);
  if (initial.every(({ kind }) => kind === 'tensor')) {
    const states = initial as readonly TensorOperand[];
    try {
      const counted = goesOn === true ? overNumbers(node, body, states, trips) : null;
      const whole = counted ?? whileLoop(node, body, states);
      if (whole !== null) return whole;
    } catch (error) {
      // A shape may change from one iteration to the next, or depend on data. Written out, sizes are known.
      if (!isAboutShapes(error)) throw error;
    }
  }
  return unrolled(node, body, initial, trips);
}

function isAboutShapes(error: unknown): boolean {
  return error instanceof ShapeError || (error as Error).cause instanceof ShapeError;
}

function overNumbers(
  node: ImportedNode,
  body: GraphProto,
  states: readonly TensorOperand[],
  trips: Dim | null,
): readonly Operand[] | null {
  if (!node.has(0)) return null;
  const length = trips ?? sizesOf(ops.maximum(ops.reshape(node.value(0), [1]), 0))[0];
  const count = isStatic(length) ? Math.max(length, 0) : length;
  return countedLoop(node, rowReads(node, body, count), states, node.iota(count));
}

function knownTruth(node: ImportedNode, operand: TensorOperand): boolean | null {
  const data =
    operand.data ?? (operand.type.shape.every(isStatic) ? evaluatedIn(node, operand) : null);
  return data === null ? null : Boolean(data.data[0]);
}

function evaluatedIn(
  node: ImportedNode,
  operand: TensorOperand,
): ReturnType<typeof node.importer.evaluated> {
  const { made } = operand;
  return made === null ? operand.data : node.importer.evaluated(made);
}

/** A loop that never starts gives its states, and rows of no length where those of the body are known. */
function withoutIterations(
  node: ImportedNode,
  body: GraphProto,
  initial: readonly Operand[],
): readonly Operand[] {
  if (body.output.length - 1 - initial.length > 0) throw node.unsupported('it never runs, and yields rows'); // prettier-ignore
  return initial;
}

const truth = (isTrue: boolean): TensorOperand =>
  TensorOperand.constant({
    type: { dtype: 'bool', shape: [] },
    data: Uint8Array.of(Number(isTrue)),
  });

/** Whether a state keeps its type, as loops demand. */
function keepsType(before: TensorOperand, after: Operand): boolean {
  return (
    after.kind === 'tensor' &&
    after.element === before.element &&
    after.type.shape.length === before.type.shape.length &&
    after.type.shape.every((dim, axis) => {
      const other = before.type.shape[axis];
      return sameDim(dim, other) || !(isStatic(dim) && isStatic(other));
    })
  );
}

/** A loop whose condition always holds, as one over its numbers; null where it is not of that kind. */
function countedLoop(
  node: ImportedNode,
  { body, data, elements: rowElements, reverse }: RowReads,
  states: readonly TensorOperand[],
  numbers: Value,
): readonly Operand[] | null {
  const elements = states.map(({ element }) => element);
  const yielded: TensorOperand[] = [];
  let fits = true;
  const given = states.map((state) => state.valueIn(node.region));
  // Iterations count up, and stack what they yield, whichever row they read.
  const turned = (rows: Value): Value => (reverse ? ops.flip(rows, 0) : rows);
  const build = (region: Region, rows: readonly Value[], before: readonly Value[]): LoopResults => {
    const made = node.importer.subgraph(
      body,
      node.scope,
      [
        TensorOperand.of(rows[0]),
        truth(true),
        ...before.map((value, k) => TensorOperand.of(value, elements[k])),
        ...rows.slice(1).map((value, k) => TensorOperand.of(value, rowElements[k])),
      ],
      states.length + 1,
      region,
    );
    const [again, ...others] = made;
    const after = others.slice(0, states.length);
    const outputs = others.slice(states.length);
    fits =
      again.kind === 'tensor' &&
      again.data !== null &&
      Boolean(again.data.data[0]) &&
      after.every((each, k) => keepsType(states[k], each)) &&
      outputs.every(({ kind }) => kind === 'tensor');
    if (!fits) return { rows: [], states: before };
    yielded.push(...(outputs as readonly TensorOperand[]));
    return {
      rows: yielded.map((each) => each.valueIn(region)),
      states: after.map((each) => (each as TensorOperand).valueIn(region)),
    };
  };
  const found = foreachRow(
    node,
    {
      data: [turned(numbers), ...data],
      states: given,
      reverse,
    },
    ({ rows, states: before }, _, region) => build(region, rows, before),
  );
  if (!fits) return null;
  return [
    ...found.states.map((value, k) => TensorOperand.of(value, elements[k])),
    ...found.rows.map((value, k) => TensorOperand.of(turned(value), yielded[k].element)),
  ];
}

/** A loop that its condition or its number of iterations ends; null where a state changes its shape. */
function whileLoop(
  node: ImportedNode,
  body: GraphProto,
  states: readonly TensorOperand[],
): readonly Operand[] | null {
  const bodyRegion = new Region(node.region);
  const first = [
    node.scalar(0, 'int64'),
    node.has(1) ? ops.reshape(node.value(1), []) : node.scalar(1, 'bool'),
    ...states.map((state) => state.valueIn(node.region)),
  ];
  const limit = node.has(0) ? ops.reshape(node.value(0), []) : null;
  const given = first.map(({ type }) => bodyRegion.variable('state', type));
  if (limit !== null) bodyRegion.use(limit);
  const made = node.importer.subgraph(
    body,
    node.scope,
    given.map((value, k) => TensorOperand.of(value, states[k - 2]?.element)),
    states.length + 1,
    bodyRegion,
  );
  const after = made.slice(1, states.length + 1);
  const outputs = made.slice(states.length + 1);
  const [again] = made;
  const fits =
    again.kind === 'tensor' &&
    after.every((each, k) => keepsType(states[k], each)) &&
    outputs.every(({ kind }) => kind === 'tensor');
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
  const condition = new Region(null);
  const seen = first.map(({ type }) => condition.variable('state', type));
  const outer = captures.map(({ type }) => condition.variable('outer', type));
  const isWithin = limit === null ? seen[1] : ops.logicalAnd(seen[1], ops.less(seen[0], outer[captures.indexOf(limit)])); // prettier-ignore
  condition.program.setOutputs([{ name: 'goes_on', value: isWithin }]);
  const all = ops.whileLoop<Value>(condition.program, bodyRegion.program, {
    states: first,
    captures,
  });
  const last = all.slice(rows.length + 2, rows.length + 2 + states.length);
  return [
    ...last.map((value, k) => TensorOperand.of(value, states[k].element)),
    ...rows.map((each, k) => TensorOperand.of(all[k], each.element)),
  ];
}

/** A loop written out, iteration by iteration, where sequences or shapes change from one to the next. */
function unrolled(
  node: ImportedNode,
  body: GraphProto,
  initial: readonly Operand[],
  trips: unknown,
): readonly Operand[] {
  const wants =
    'states that change their shapes or are no tensors need a number of iterations that is known';
  if (typeof trips !== 'number')
    throw node.has(0) ? node.unknown(0, wants) : node.unsupported(wants);
  if (trips > mostUnrolled)
    throw node.unsupported(`${wants}, and at most ${mostUnrolled}`, String(trips));
  let states = initial;
  let goesOn: Operand = node.has(1) ? node.operand(1) : truth(true);
  const yielded: TensorOperand[][] = [];
  for (let trip = 0; trip < trips; trip++) {
    if (goesOn.kind !== 'tensor') throw node.refuse('the condition is no tensor');
    const isTrue = knownTruth(node, goesOn);
    if (isTrue === null) throw node.unknown(1, `${wants}, and a condition that is`);
    if (!isTrue) break;
    const number = TensorOperand.constant({ type: { dtype: 'int64', shape: [] }, data: BigInt64Array.of(BigInt(trip)) }); // prettier-ignore
    const [again, ...results] = node.importer.subgraph(
      body,
      node.scope,
      [number, goesOn, ...states],
      states.length + 1,
    );
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

/** A loop over rows along axes and in directions that may differ from one operand to the next. */
function scan(node: ImportedNode): readonly Operand[] {
  const body = node.attributes.graph('body');
  const isOld = node.version < 9;
  const count = node.attributes.int('num_scan_inputs', 0);
  const given = isOld ? node.inputs.slice(1) : node.inputs;
  if (isOld && node.has(0)) throw node.unsupported('lengths of sequences');
  const operands = given.map((_, k) => node.operand(k + (isOld ? 1 : 0)));
  const states = operands.slice(0, operands.length - count);
  const data = operands.slice(operands.length - count);
  if (data.length !== count || count < 1) throw node.refuse('there is nothing to iterate over');
  const outputs = body.output.length - states.length;
  if (outputs < 0) throw node.refuse('the body has too few outputs');
  const zeros = (length: number): readonly number[] => Array.from({ length }, () => 0);
  const directions = node.attributes.ints('scan_input_directions', null) ?? node.attributes.ints('directions', null) ?? zeros(count); // prettier-ignore
  const axes = node.attributes.ints('scan_input_axes', null) ?? zeros(count);
  const backwards = node.attributes.ints('scan_output_directions', null) ?? zeros(outputs);
  const outputAxes = node.attributes.ints('scan_output_axes', null) ?? zeros(outputs);
  const elements = states.map(({ element }) => element);
  const yielded: TensorOperand[] = [];
  const step = (region: Region, rows: readonly Value[], before: readonly Value[]): LoopResults => {
    const made = node.importer.subgraph(
      body,
      node.scope,
      [
        ...before.map((value, k) => TensorOperand.of(value, elements[k])),
        ...rows.map((value, k) => TensorOperand.of(value, data[k].element)),
      ],
      states.length,
      region,
    );
    made.forEach((result, k) => {
      if (result.kind !== 'tensor') throw node.refuse(`output ${k} of the body is no tensor`);
      if (k < states.length && !keepsType(TensorOperand.of(before[k], elements[k]), result)) {
        throw node.unsupported(`state ${k} changes its shape`);
      }
    });
    const all = made as readonly TensorOperand[];
    if (yielded.length === 0) yielded.push(...all.slice(states.length));
    return {
      rows: all.slice(states.length).map((each) => each.valueIn(region)),
      states: all.slice(0, states.length).map((each) => each.valueIn(region)),
    };
  };
  const turned = (x: Value, axis: number, isBackwards: boolean): Value => {
    const moved = ops.moveaxis(x, axis, 0);
    return isBackwards ? ops.flip(moved, 0) : moved;
  };
  const values = (list: readonly TensorOperand[]): readonly Value[] => list.map((each) => each.valueIn(node.region)); // prettier-ignore
  if (isOld) {
    // The first axes are those of batches, which a loop of their own goes over.
    const found = foreachRow(
      node,
      { data: [...values(states), ...values(data)], states: [] },
      ({ rows }, _, region) => {
        const inner = foreachRow(
          { region },
          {
            data: rows.slice(states.length).map((row, k) => turned(row, 0, directions[k] === 1)),
            states: rows.slice(0, states.length),
          },
          ({ rows: slices, states: before }, __, innermost) => step(innermost, slices, before),
        );
        return { rows: [...inner.states, ...inner.rows], states: [] };
      },
    );
    return found.rows.map((value, k) => TensorOperand.of(value, elements[k] ?? yielded[k - states.length].element)); // prettier-ignore
  }
  const found = foreachRow(
    node,
    {
      data: values(data).map((x, k) => turned(x, axes[k], directions[k] === 1)),
      states: values(states),
    },
    ({ rows, states: before }, _, region) => step(region, rows, before),
  );
  return [
    ...found.states.map((value, k) => TensorOperand.of(value, elements[k])),
    ...found.rows.map((value, k) => {
      const ordered = backwards[k] === 1 ? ops.flip(value, 0) : value;
      return TensorOperand.of(ops.moveaxis(ordered, 0, outputAxes[k]), yielded[k].element);
    }),
  ];
}

export const controlFlow: Rules = {
  If: anyElement(branch),
  Loop: anyElement(loop),
  Scan: anyElement(scan),
};
