import { writeElement } from '../../../base/element.js';
import { UnsupportedError } from '../../../base/errors.js';
import { upTo } from '../language/types.js';
import { evaluateConvolution, evaluateProduct } from './contraction.js';
import { evaluateElementwise } from './elementwise.js';
import { dimensionsOf, integersOf } from './attributes.js';
import { movements } from './movement.js';
import { type HloBlock, type HloOperation, parseHlo } from './parse.js';
import { type SizedOperation, sizedOperation } from './sizes.js';
import {
  elementAt,
  tensorElement,
  forEachIndex,
  type HloTensor,
  positionOf,
  tabulate,
} from './tensor.js';

type Values = ReadonlyMap<string, HloTensor>;

/**
 * The results of a module on tensors, by a plain reading of StableHLO's specification: it checks what the writer has
 * written, and is slow.
 * @throws FormatError for text that `toStableHlo` does not write.
 */
export function evaluateModule(text: string, inputs: readonly HloTensor[]): readonly HloTensor[] {
  return run(parseHlo(text), inputs, new Map());
}

/** Runs a block in the scope of the values around it. */
function run(block: HloBlock, inputs: readonly HloTensor[], outer: Values): readonly HloTensor[] {
  const values = new Map(outer);
  block.args.forEach(({ name }, i) => values.set(name, inputs[i]));
  for (const operation of block.operations) {
    const operands = operation.operands.map((name) => values.get(name)!);
    if (operation.name === 'return' || operation.name === 'func.return') return operands;
    evaluate(operation, operands, values).forEach((result, i) => values.set(operation.results[i], result)); // prettier-ignore
  }
  return [];
}

function evaluate(
  parsed: HloOperation,
  operands: readonly HloTensor[],
  values: Values,
): readonly HloTensor[] {
  const { regions } = parsed;
  switch (parsed.name) {
    case 'if':
      return run(regions[Number(elementAt(operands[0], 0)) === 0 ? 1 : 0], [], values);
    case 'while': {
      let states = operands;
      while (Number(elementAt(run(regions[0], states, values)[0], 0)) !== 0) states = run(regions[1], states, values); // prettier-ignore
      return states;
    }
  }
  const operation = sizedOperation(parsed, operands);
  const { name } = operation;
  const moved = Object.hasOwn(movements, name) ? movements[name] : undefined;
  if (moved !== undefined) return [moved(operation, operands)];
  switch (name) {
    case 'dot_general':
      return [evaluateProduct(operation, operands)];
    case 'convolution':
      return [evaluateConvolution(operation, operands)];
    case 'reduce':
      return reduced(operation, operands, values);
    case 'sort':
      return sorted(operation, operands, values);
    case 'scatter':
      return [scattered(operation, operands, values)];
  }
  const mapped = evaluateElementwise(operation, operands);
  if (mapped !== undefined) return [mapped];
  throw new UnsupportedError(`the check does not know the operation ${name}`, {
    op: 'toStableHlo',
    actual: name,
  });
}

const scalar = (x: HloTensor, position: number): HloTensor =>
  tabulate(x.dtype, [], () => elementAt(x, position));

function reduced(
  operation: SizedOperation,
  operands: readonly HloTensor[],
  values: Values,
): readonly HloTensor[] {
  const arrays = operands.slice(0, operands.length / 2);
  const initial = operands.slice(operands.length / 2);
  const axes = integersOf(operation, 'dimensions');
  const results = operation.types.map(({ dtype, shape }, i) => tabulate(dtype, shape, () => elementAt(initial[i], 0))); // prettier-ignore
  const { shape } = results[0];
  forEachIndex(arrays[0].shape, (index, position) => {
    const place = positionOf(shape, index.filter((_, axis) => !axes.includes(axis))); // prettier-ignore
    const states = results.map((result) => scalar(result, place));
    const joined = run(operation.regions[0], [...states, ...arrays.map((x) => scalar(x, position))], values); // prettier-ignore
    joined.forEach((state, i) => writeElement(state.dtype, results[i].data, place, elementAt(state, 0))); // prettier-ignore
  });
  return results;
}

function sorted(
  operation: HloOperation,
  operands: readonly HloTensor[],
  values: Values,
): readonly HloTensor[] {
  const [axis] = integersOf(operation, 'dimension');
  const { shape } = operands[0];
  const isBefore = (a: number, b: number): boolean => {
    const pair = operands.flatMap((x) => [scalar(x, a), scalar(x, b)]);
    return Number(elementAt(run(operation.regions[0], pair, values)[0], 0)) !== 0;
  };
  const sources = new Map<number, number>();
  forEachIndex(shape.with(axis, 1), (index) => {
    const row = upTo(shape[axis]).map((i) => positionOf(shape, index.with(axis, i)));
    const order = row.toSorted((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0));
    order.forEach((source, i) => sources.set(row[i], source));
  });
  return operands.map((x) => tabulate(x.dtype, shape, (_, i) => elementAt(x, sources.get(i)!)));
}

/** A scatter whose updates are single elements, or whole along the axes that indices do not reach. */
function scattered(
  operation: HloOperation,
  [x, indices, updates]: readonly HloTensor[],
  values: Values,
): HloTensor {
  const numbers = operation.attributes.get('scatter_dimension_numbers') ?? '';
  const windows = dimensionsOf(numbers, 'update_window_dims');
  const inserted = dimensionsOf(numbers, 'inserted_window_dims');
  const batch = dimensionsOf(numbers, 'input_batching_dims');
  const batchInIndices = dimensionsOf(numbers, 'scatter_indices_batching_dims');
  const map = dimensionsOf(numbers, 'scatter_dims_to_operand_dims');
  const free = upTo(x.shape.length).filter((axis) => !inserted.includes(axis) && !batch.includes(axis)); // prettier-ignore
  const data = x.data.slice();
  const result = { ...x, data };
  forEachIndex(updates.shape, (index, position) => {
    const outer = index.filter((_, axis) => !windows.includes(axis));
    const target = x.shape.map((_, axis) => {
      if (batch.includes(axis)) return outer[batchInIndices[batch.indexOf(axis)]];
      if (free.includes(axis)) return index[windows[free.indexOf(axis)]];
      // Index vectors lie along the last axis; without one there is one index for each place.
      return Number(tensorElement(indices, [...outer, map.indexOf(axis)]));
    });
    if (target.some((i, axis) => i < 0 || i >= x.shape[axis])) return;
    const place = positionOf(x.shape, target);
    const [joined] = run(operation.regions[0], [scalar(result, place), scalar(updates, position)], values); // prettier-ignore
    writeElement(x.dtype, data, place, elementAt(joined, 0));
  });
  return result;
}
