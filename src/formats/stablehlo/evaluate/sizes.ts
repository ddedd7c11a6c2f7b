import type { DType } from '../../../base/dtype.js';
import { integerList } from '../language/sizes.js';
import { upTo } from '../language/types.js';
import { dimensionsOf, integersOf } from './attributes.js';
import type { HloOperation } from './parse.js';
import { elementAt, type HloTensor } from './tensor.js';

/** An operation whose sizes are numbers. */
export interface SizedOperation extends HloOperation {
  readonly types: readonly { readonly dtype: DType; readonly shape: readonly number[] }[];
}

type Numbers = readonly number[];

/** Attributes of the static form of a dynamic operation, in the order of the operands that hold them. */
const dynamicForms: Readonly<Record<string, { readonly name: string; readonly attributes: readonly string[]; readonly arrays: number }>> = {
  real_dynamic_slice: { name: 'slice', attributes: ['start_indices', 'limit_indices', 'strides'], arrays: 1 },
  dynamic_pad: { name: 'pad', attributes: ['edge_padding_low', 'edge_padding_high', 'interior_padding'], arrays: 2 },
  dynamic_gather: { name: 'gather', attributes: ['slice_sizes'], arrays: 2 },
  dynamic_iota: { name: 'iota', attributes: ['shape'], arrays: 0 },
  dynamic_reshape: { name: 'reshape', attributes: ['shape'], arrays: 1 },
  dynamic_broadcast_in_dim: { name: 'broadcast_in_dim', attributes: ['shape'], arrays: 1 },
}; // prettier-ignore

/** The operation on these operands with known sizes; dynamic operations in their static form. */
export function sizedOperation(
  operation: HloOperation,
  operands: readonly HloTensor[],
): SizedOperation {
  const form = Object.hasOwn(dynamicForms, operation.name) ? dynamicForms[operation.name] : null;
  const given = (form?.attributes ?? []).map((key, k) => {
    const vector = operands[form!.arrays + k];
    const values = upTo(vector.shape[0]).map((i) => Number(elementAt(vector, i)));
    return [key, integerList(values)] as const;
  });
  const { attributes } = operation;
  const sized = form === null ? operation : { ...operation, name: form.name, attributes: new Map([...attributes, ...given]) }; // prettier-ignore
  const isKnown = (shape: readonly (number | null)[]): shape is Numbers => !shape.includes(null);
  const types = sized.types.map(({ dtype, shape }) => ({
    dtype,
    shape: isKnown(shape) ? shape : shapeOfResult(sized, operands),
  }));
  return { ...sized, types };
}

/** The shape of the results, by the sizes of the operands. */
function shapeOfResult(operation: HloOperation, operands: readonly HloTensor[]): Numbers {
  const shapes = operands.map(({ shape }) => shape);
  const [x, y] = shapes;
  const list = (name: string): Numbers => integersOf(operation, name);
  switch (operation.name) {
    case 'iota':
    case 'reshape':
    case 'broadcast_in_dim':
      return list('shape');
    case 'slice': {
      const [start, stop, step] = ['start_indices', 'limit_indices', 'strides'].map(list);
      return x.map((_, axis) => Math.max(0, Math.ceil((stop[axis] - start[axis]) / step[axis])));
    }
    case 'pad': {
      const [low, high, between] = ['edge_padding_low', 'edge_padding_high', 'interior_padding'].map(list); // prettier-ignore
      return x.map((extent, axis) => low[axis] + extent + Math.max(0, extent - 1) * between[axis] + high[axis]); // prettier-ignore
    }
    case 'transpose':
      return list('permutation').map((axis) => x[axis]);
    case 'concatenate': {
      const [axis] = list('dimension');
      return x.with(axis, shapes.reduce((sum, shape) => sum + shape[axis], 0)); // prettier-ignore
    }
    case 'reduce': {
      const axes = list('dimensions');
      return x.filter((_, axis) => !axes.includes(axis));
    }
    case 'gather':
      return gathered(operation, shapes);
    case 'dot_general': {
      const numbers = operation.attributes.get('dot_dimension_numbers') ?? '';
      const axes = (kind: string): Numbers => dimensionsOf(numbers, `${kind}_dimensions`);
      const batch = axes('lhs_batching').map((axis) => x[axis]);
      const free = ['lhs', 'rhs'].flatMap((side, k) => {
        const taken = [...axes(`${side}_batching`), ...axes(`${side}_contracting`)];
        return shapes[k].filter((_, axis) => !taken.includes(axis));
      });
      return [...batch, ...free];
    }
    case 'convolution':
      return convolved(operation, x, y);
    default:
      // Elementwise: a condition or a bound may be a scalar.
      return shapes.reduce((a, b) => (b.length > a.length ? b : a));
  }
}

function gathered(operation: HloOperation, [, indices]: readonly Numbers[]): Numbers {
  const numbers = operation.attributes.get('dimension_numbers') ?? '';
  const axes = (name: string): Numbers => dimensionsOf(numbers, name);
  const [offsets, vector] = [axes('offset_dims'), axes('index_vector_dim')];
  const dropped = [...axes('collapsed_slice_dims'), ...axes('operand_batching_dims')];
  const kept = integersOf(operation, 'slice_sizes').filter((_, axis) => !dropped.includes(axis));
  const outer = indices.filter((_, axis) => !vector.includes(axis));
  const rank = outer.length + kept.length;
  const places = upTo(rank).filter((axis) => !offsets.includes(axis));
  return upTo(rank).map((axis) =>
    offsets.includes(axis) ? kept[offsets.indexOf(axis)] : outer[places.indexOf(axis)],
  );
}

function convolved(operation: HloOperation, x: Numbers, w: Numbers): Numbers {
  const [strides, stretch, dilation, padding] = ['window_strides', 'lhs_dilation', 'rhs_dilation', 'padding'].map((name) => integersOf(operation, name)); // prettier-ignore
  const isOutputFirst = (operation.attributes.get('dimension_numbers') ?? '').includes('x[o, i');
  const spatial = x.slice(2).map((extent, axis) => {
    const stretched = Math.max(0, (extent - 1) * stretch[axis] + 1);
    const reach = (w[axis + 2] - 1) * dilation[axis] + 1;
    const padded = stretched + padding[2 * axis] + padding[2 * axis + 1];
    return padded < reach ? 0 : Math.floor((padded - reach) / strides[axis]) + 1;
  });
  return [x[0], w[isOutputFirst ? 0 : 1], ...spatial];
}
