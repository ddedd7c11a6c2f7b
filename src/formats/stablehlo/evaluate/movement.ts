import { FormatError } from '../../../base/errors.js';
import { allocate, bytesOf } from '../../../base/dtype.js';
import { writeElement } from '../../../base/element.js';
import { countOf, upTo } from '../language/types.js';
import { dimensionsOf, integersOf } from './attributes.js';
import type { SizedOperation } from './sizes.js';
import {
  elementAt,
  tensorElement,
  forEachIndex,
  type HloTensor,
  positionOf,
  tabulate,
} from './tensor.js';

type Evaluate = (operation: SizedOperation, operands: readonly HloTensor[]) => HloTensor;

const at = (x: HloTensor, index: readonly number[]): number | bigint => tensorElement(x, index);

/** A block's start, moved so that the block lies within the array. */
function clampedStart(
  starts: readonly HloTensor[],
  shape: readonly number[],
  sizes: readonly number[],
): readonly number[] {
  return starts.map((start, axis) => Math.max(0, Math.min(Number(elementAt(start, 0)), shape[axis] - sizes[axis]))); // prettier-ignore
}

/** Operations that move elements. */
export const movements: Readonly<Record<string, Evaluate>> = {
  get_dimension_size: (operation, [x]) =>
    tabulate('int32', [], () => x.shape[integersOf(operation, 'dimension')[0]]),
  constant: (operation) => literal(operation.types[0], operation.attributes.get('value') ?? ''),
  iota: (operation) => {
    const [{ dtype, shape }] = operation.types;
    const [axis] = integersOf(operation, 'iota_dimension');
    return tabulate(dtype, shape, (index) =>
      dtype === 'int64' ? BigInt(index[axis]) : index[axis],
    );
  },
  reshape: ({ types: [{ shape }] }, [x]) => ({ ...x, shape }),
  optimization_barrier: (_, [x]) => x,
  // `kn.shard`: the writer makes no other calls.
  custom_call: (_, [x]) => x,
  transpose: (operation, [x]) => {
    const order = integersOf(operation, 'permutation');
    return tabulate(x.dtype, operation.types[0].shape, (index) => at(x, x.shape.map((_, axis) => index[order.indexOf(axis)]))); // prettier-ignore
  },
  broadcast_in_dim: (operation, [x]) => {
    const axes = integersOf(operation, 'broadcast_dimensions');
    return tabulate(x.dtype, operation.types[0].shape, (index) => at(x, axes.map((axis, k) => (x.shape[k] === 1 ? 0 : index[axis])))); // prettier-ignore
  },
  slice: (operation, [x]) => {
    const start = integersOf(operation, 'start_indices');
    const step = integersOf(operation, 'strides');
    return tabulate(x.dtype, operation.types[0].shape, (index) => at(x, index.map((i, axis) => start[axis] + i * step[axis]))); // prettier-ignore
  },
  pad: (operation, [x, value]) => {
    const low = integersOf(operation, 'edge_padding_low');
    const between = integersOf(operation, 'interior_padding');
    return tabulate(x.dtype, operation.types[0].shape, (index) => {
      const source = index.map((i, axis) => (i - low[axis]) / (between[axis] + 1));
      const isInside = source.every(
        (i, axis) => Number.isInteger(i) && i >= 0 && i < x.shape[axis],
      );
      return isInside ? at(x, source) : elementAt(value, 0);
    });
  },
  reverse: (operation, [x]) => {
    const axes = integersOf(operation, 'dimensions');
    return tabulate(x.dtype, x.shape, (index) => at(x, index.map((i, axis) => (axes.includes(axis) ? x.shape[axis] - 1 - i : i)))); // prettier-ignore
  },
  concatenate: (operation, parts) => {
    const [axis] = integersOf(operation, 'dimension');
    return tabulate(parts[0].dtype, operation.types[0].shape, (index) => {
      let k = 0;
      let i = index[axis];
      while (i >= parts[k].shape[axis]) i -= parts[k++].shape[axis];
      return at(parts[k], index.with(axis, i));
    });
  },
  dynamic_slice: (operation, [x, ...starts]) => {
    const { shape } = operation.types[0];
    const start = clampedStart(starts, x.shape, shape);
    return tabulate(x.dtype, shape, (index) =>
      at(
        x,
        index.map((i, axis) => start[axis] + i),
      ),
    );
  },
  dynamic_update_slice: (_, [x, update, ...starts]) => {
    const data = x.data.slice();
    const start = clampedStart(starts, x.shape, update.shape);
    forEachIndex(update.shape, (index, position) => {
      const place = positionOf(x.shape, index.map((i, axis) => start[axis] + i)); // prettier-ignore
      writeElement(x.dtype, data, place, elementAt(update, position));
    });
    return { ...x, data };
  },
  gather: (operation, [x, indices]) => {
    const numbers = operation.attributes.get('dimension_numbers') ?? '';
    const offsets = dimensionsOf(numbers, 'offset_dims');
    const collapsed = dimensionsOf(numbers, 'collapsed_slice_dims');
    const batch = dimensionsOf(numbers, 'operand_batching_dims');
    const batchInIndices = dimensionsOf(numbers, 'start_indices_batching_dims');
    const map = dimensionsOf(numbers, 'start_index_map');
    const sizes = integersOf(operation, 'slice_sizes');
    const free = upTo(x.shape.length).filter((axis) => !collapsed.includes(axis) && !batch.includes(axis)); // prettier-ignore
    return tabulate(x.dtype, operation.types[0].shape, (index) => {
      const outer = index.filter((_, axis) => !offsets.includes(axis));
      const source = x.shape.map((extent, axis): number => {
        if (batch.includes(axis)) return outer[batchInIndices[batch.indexOf(axis)]];
        const k = map.indexOf(axis);
        const start = k < 0 ? 0 : Math.max(0, Math.min(Number(at(indices, [...outer, k])), extent - sizes[axis])); // prettier-ignore
        const offset = free.includes(axis) ? index[offsets[free.indexOf(axis)]] : 0;
        return start + offset;
      });
      return at(x, source);
    });
  },
};

/** The elements of `dense<...>`: numbers, bits or the bytes of memory. */
function literal({ dtype, shape }: Omit<HloTensor, 'data'>, text: string): HloTensor {
  const inside = /^dense<([^]*)> : /.exec(text)?.[1];
  if (inside === undefined) throw new FormatError('this is no constant', { op: 'toStableHlo', actual: text }); // prettier-ignore
  const count = countOf(shape);
  const data = allocate(dtype, count);
  if (inside.startsWith('"')) {
    const bytes = new Uint8Array(data.buffer);
    for (let i = 0; i < bytes.length; i++)
      bytes[i] = parseInt(inside.slice(3 + 2 * i, 5 + 2 * i), 16);
    return { dtype, shape, data };
  }
  const elements = inside.match(/[^[\],\s]+/g) ?? [];
  for (let i = 0; i < count; i++) {
    const element = elements[elements.length === 1 ? 0 : i];
    if (element.startsWith('0x'))
      new Uint8Array(data.buffer).set(littleEndian(element, bytesOf(dtype)), i * bytesOf(dtype)); // prettier-ignore
    else writeElement(dtype, data, i, numberOf(element, dtype === 'int64'));
  }
  return { dtype, shape, data };
}

function numberOf(text: string, isBig: boolean): number | bigint {
  if (text === 'true' || text === 'false') return Number(text === 'true');
  return isBig ? BigInt(text) : Number(text);
}

function littleEndian(text: string, bytes: number): Uint8Array {
  let bits = BigInt(text);
  return Uint8Array.from({ length: bytes }, () => {
    const low = Number(bits & 255n);
    bits >>= 8n;
    return low;
  });
}
