import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { type ImportedOperand, TensorOperand } from '../operand.js';
import type { ImportedRegion } from '../region.js';
import { foreachRow, keepsType, type LoopResults } from './loops.js';
import { anyElement, type ImportRules } from './rule.js';

/** Scan: a loop over rows, with an axis and a direction for each operand. */
function scan(node: ImportedNode): readonly ImportedOperand[] {
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
  const step = (
    region: ImportedRegion,
    rows: readonly Value[],
    before: readonly Value[],
  ): LoopResults => {
    const made = node.subgraph(
      body,
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
  const reoriented = (x: Value, axis: number, isBackwards: boolean): Value => {
    const moved = ops.moveaxis(x, axis, 0);
    return isBackwards ? ops.flip(moved, 0) : moved;
  };
  const values = (list: readonly TensorOperand[]): readonly Value[] => list.map((each) => each.valueIn(node.region)); // prettier-ignore
  if (isOld) {
    // Before opset 9 the first axis is a batch, handled by an outer loop.
    const found = foreachRow(
      node,
      { data: [...values(states), ...values(data)], states: [] },
      ({ rows }, _, region) => {
        const inner = foreachRow(
          { region },
          {
            data: rows
              .slice(states.length)
              .map((row, k) => reoriented(row, 0, directions[k] === 1)),
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
      data: values(data).map((x, k) => reoriented(x, axes[k], directions[k] === 1)),
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

export const scans: ImportRules = {
  Scan: anyElement(scan),
};
