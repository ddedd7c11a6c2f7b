import * as attr from '../../base/attributes/attribute.js';
import { describe } from '../../base/attributes/attribute.js';
import { addDim, type Dim, floorDivDim, mulDim, sameDim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import { divisible, equalSizes, type Refusal, type Require, words } from '../../ir/requirement.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { add } from '../elementwise/arithmetic.js';
import { normalizeAxis } from '../declare/infer.js';
import type { KnownArray } from '../known/facets.js';
import { example } from '../declare/law.js';
import { overAll } from '../loops.js';
import { mostOperands } from '../declare/lowering.js';
import { axisInRows, withRows } from '../reduction/rows.js';
import { type Join, joiningLists } from './list-join.js';
import { zerosLike } from './fill.js';
import { resolveRange, type SliceEntry } from './range.js';
import { expandDims, reshape, reshaped } from './reshape.js';
import { slice, sliceAdjoint } from './slice.js';

/** Concatenation and splitting of arrays. */

/** Limit up to which gradients are slices; for more arrays they are one split. */
const fewArrays = 8;

/**
 * Concatenates arrays along an axis, 0 by default. Their dtypes are promoted; their shapes must agree on
 * every other axis.
 */
export const concat: OperatorFunction<Join> = joiningLists(
  'along an axis',
  operator({
    name: 'concat',
    family: 'movement',
    attributes: { axis: attr.int },
    method: false,
    call: (arrays, axis = 0) => ({ inputs: arrayList('concat', arrays), attributes: { axis } }),
    infer: ({ inputs, attributes, require }) => {
      const [first] = inputs;
      const axis = normalizeAxis('concat', attributes.axis, first.shape.length);
      for (const { shape } of inputs) {
        const different = (): Refusal => ({
          op: 'concat',
          problem: words`the shapes differ on other axes than ${axis}`,
          expected: words`${first.shape} except on axis ${axis}`,
          actual: words`${shape}`,
        });
        require(shape.length === first.shape.length, different);
        shape.forEach((dim, at) => {
          if (at !== axis) require(equalSizes(first.shape[at], dim), different);
        });
      }
      const total = inputs.map(({ shape }) => shape[axis]).reduce(addDim);
      return [{ dtype: first.dtype, shape: first.shape.with(axis, total) }];
    },
    gradient: ({ inputs, grads: [g], attributes, needs }) => {
      const axis = normalizeAxis('concat', attributes.axis, g!.type.shape.length);
      if (inputs.length > fewArrays) {
        let stop: Dim = 0;
        const cuts = inputs.slice(0, -1).map(({ type }) => (stop = addDim(stop, type.shape[axis])));
        return split(g!, cuts, axis).map((part, i) =>
          needs[i] ? reshaped(part, inputs[i].type.shape) : null,
        );
      }
      let end: Dim = 0;
      return inputs.map(({ type }, i) => {
        const start = end;
        end = addDim(start, type.shape[axis]);
        return needs[i] ? reshaped(slice(g!, ...along(axis, [start, end])), type.shape) : null;
      });
    },
    known: ({ inputs, attributes: { axis } }) =>
      joined(inputs, normalizeAxis('concat', axis, inputs[0].shape.length)),
    lowering: {
      kind: 'kernel',
      kernel: ({ inputs, outputs: [sink], inputTypes, extent, attributes }) => {
        const axis = normalizeAxis('concat', attributes.axis, sink.shape.length);
        let end: Dim = 0;
        const copies = inputs.map((input, i) => {
          const offset = extent(end);
          end = addDim(end, inputTypes[i].shape[axis]);
          return overAll(input.shape, (index) =>
            sink.store(index.with(axis, e.add(index[axis], offset)), input.at(index)),
          );
        });
        return e.block(...copies);
      },
      joinedAxis: ({ axis }, rank) => normalizeAxis('concat', axis, rank),
      // Splits a call into about as many parts as each has arrays: all but the last are alike, and share one
      // kernel.
      divided: ({ inputs, outputTypes: [{ shape }], attributes }) => {
        const axis = normalizeAxis('concat', attributes.axis, shape.length);
        const size = Math.min(mostOperands, Math.ceil(Math.sqrt(inputs.length)));
        const parts = Array.from({ length: Math.ceil(inputs.length / size) }, (_, part) =>
          concat(inputs.slice(part * size, (part + 1) * size), axis),
        );
        return [concat(parts, axis)];
      },
    },
    onnx: ({ onnx, inputs, outputTypes: [{ shape }], attributes }) =>
      onnx.node('Concat', inputs, { axis: normalizeAxis('concat', attributes.axis, shape.length) }),
    batch: {
      rows: (context) => {
        return [concat(withRows(context), axisInRows(context.attributes.axis))];
      },
    },
    simplify: [
      {
        name: 'one-array',
        law: 'concat([x]) = x',
        cases: [example([tensor(['n', 2])], (x) => concat([x]))],
        apply: ({ inputs }) => (inputs.length === 1 ? inputs[0] : null),
      },
      {
        name: 'empty-arrays',
        law: 'concat([x, empty, y]) = concat([x, y])',
        cases: [
          example([tensor(['n', 2]), tensor([0, 2])], (x, none) => concat([x, none, x])),
          example([tensor([3, 0]), tensor([3, 'n'])], (none, x) => concat([none, x], 1)),
          example([tensor([0, 2])], (none) => concat([none, none])),
        ],
        apply: ({ inputs, attributes, type }) => {
          const axis = normalizeAxis('concat', attributes.axis, type.shape.length);
          const filled = inputs.filter(({ type: { shape } }) => shape[axis] !== 0);
          if (filled.length === inputs.length) return null;
          return filled.length === 0 ? inputs[0] : concat(filled, axis);
        },
      },
    ],
    samples: [
      { args: [[tensor(['n', 2]), tensor([1, 2]), tensor(['n', 2])]] },
      { args: [[tensor([2, 'n']), tensor([2, 'm'])], -1] },
      { args: [[tensor(['n'], { dtype: 'int32' }), tensor(['n'])]] },
    ],
  }),
);

/** The elements of arrays concatenated along an axis, or along a new one before it. */
function joined(arrays: readonly KnownArray[], axis: number): KnownArray['elements'] {
  const outer = arrays[0].shape.slice(0, axis).reduce((count, extent) => count * extent, 1);
  return Array.from({ length: outer }, (_, row) =>
    arrays.flatMap(({ elements }) => {
      const length = elements.length / outer;
      return elements.slice(row * length, (row + 1) * length);
    }),
  ).flat();
}

/** Stacks arrays of one shape along a new axis, which is `axis` of the result. */
export const stack: OperatorFunction<Join> = joiningLists(
  'along a new axis',
  operator({
    name: 'stack',
    family: 'movement',
    attributes: { axis: attr.int },
    method: false,
    call: (arrays, axis = 0) => ({ inputs: arrayList('stack', arrays), attributes: { axis } }),
    infer: ({ inputs, attributes, require }) => {
      const [first] = inputs;
      const axis = normalizeAxis('stack', attributes.axis, first.shape.length + 1);
      for (const { shape } of inputs) {
        const different = (): Refusal => ({
          op: 'stack',
          problem: words`the shapes differ`,
          expected: words`${first.shape}`,
          actual: words`${shape}`,
          advice: 'use concat to join arrays along an axis they have',
        });
        require(shape.length === first.shape.length, different);
        shape.forEach((dim, at) => require(equalSizes(first.shape[at], dim), different));
      }
      return [{ dtype: first.dtype, shape: first.shape.toSpliced(axis, 0, inputs.length) }];
    },
    gradient: ({ inputs, grads: [g], attributes, needs }) => {
      const axis = normalizeAxis('stack', attributes.axis, g!.type.shape.length);
      if (inputs.length > fewArrays) {
        return split(g!, inputs.length, axis).map((part, i) =>
          needs[i] ? reshape(part, inputs[i].type.shape) : null,
        );
      }
      return inputs.map(({ type }, i) =>
        needs[i] ? reshaped(slice(g!, ...along(axis, i)), type.shape) : null,
      );
    },
    known: ({ inputs, attributes: { axis } }) =>
      joined(inputs, normalizeAxis('stack', axis, inputs[0].shape.length + 1)),
    lowering: {
      kind: 'decompose',
      decompose: ({ inputs, outputTypes: [{ shape }], attributes }) => {
        const axis = normalizeAxis('stack', attributes.axis, shape.length);
        return [
          concat(
            inputs.map((input) => expandDims(input, axis)),
            axis,
          ),
        ];
      },
    },
    samples: [
      { args: [[tensor(['n', 2]), tensor(['n', 2]), tensor(['n', 2])], 1] },
      { args: [[tensor([]), tensor([])]] },
      { args: [[tensor(['n']), tensor(['n'])], -1] },
    ],
  }),
);

/**
 * `x` in parts along an axis, 0 by default. A number asks for that many equal parts (a `ShapeError` when it
 * does not divide the extent); a list gives the indices of the cuts, which like the bounds of `slice` may be
 * negative and are clamped to the extent.
 */
export const split: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    x: Input<T>,
    parts: number | readonly Dim[],
    axis?: number,
  ) => readonly T[]
> = operator({
  name: 'split',
  family: 'movement',
  attributes: { sections: attr.optional(attr.int), cuts: attr.dims, axis: attr.int },
  results: 'list',
  operands: 'keep',
  call: (x, parts, axis = 0) => ({
    inputs: [x],
    attributes: {
      sections: typeof parts === 'number' ? parts : null,
      cuts: typeof parts === 'number' ? [] : parts,
      axis,
    },
  }),
  infer: ({ inputs: [x], attributes, require }) => {
    const { shape } = x;
    const axis = normalizeAxis('split', attributes.axis, shape.length);
    if (attributes.sections === null) {
      return cutsOf(shape[axis], attributes.cuts).map(([start, stop]) => ({
        dtype: x.dtype,
        shape: shape.with(axis, resolveRange(shape[axis], start, stop, 1).length),
      }));
    }
    const { sections } = attributes;
    const part = {
      dtype: x.dtype,
      shape: shape.with(axis, partSize(shape, axis, sections, require)),
    };
    return Array.from({ length: sections }, () => part);
  },
  gradient: ({ inputs: [x], outputs, grads, attributes }) => {
    const { shape } = x.type;
    const axis = normalizeAxis('split', attributes.axis, shape.length);
    const total = outputs.map(({ type }) => type.shape[axis]).reduce(addDim, 0);
    if (attributes.sections !== null || sameDim(total, shape[axis])) {
      const all = grads.map((g, i) => g ?? zerosLike(outputs[i]));
      return [reshaped(concat(all, axis), shape)];
    }
    // Cuts that are not ascending skip or repeat elements.
    const parts = cutsOf(shape[axis], attributes.cuts);
    const placed = grads.flatMap((g, i) =>
      g === null ? [] : [sliceAdjoint(g, shape, along(axis, parts[i]))],
    );
    return [placed.reduce((a, b) => add(a, b))];
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [x], attributes }) => {
      const { shape } = x.type;
      const axis = normalizeAxis('split', attributes.axis, shape.length);
      const { sections, cuts } = attributes;
      if (sections === null) {
        return cutsOf(shape[axis], cuts).map((part) => slice(x, ...along(axis, part)));
      }
      const size = floorDivDim(shape[axis], sections);
      if (sameDim(mulDim(size, sections), shape[axis])) {
        return Array.from({ length: sections }, (_, i) =>
          slice(x, ...along(axis, [mulDim(size, i), mulDim(size, i + 1)])),
        );
      }
      // Ranges would have sizes that are right only if the parts are provably equal.
      const parts = reshape(x, shape.toSpliced(axis, 1, sections, size));
      return Array.from({ length: sections }, (_, i) => slice(parts, ...along(axis, i)));
    },
  },
  samples: [
    { args: [tensor(['n', 6]), 3, 1] },
    { args: [tensor([5, 'm']), [1, 3]] },
    { args: [tensor([4]), [0, 4]] },
  ],
});

/** Start and stop of each part between cuts. */
function cutsOf(extent: Dim, cuts: readonly Dim[]): readonly (readonly [Dim, Dim])[] {
  const edges = [0, ...cuts, extent];
  return edges.slice(1).map((stop, i) => [edges[i], stop]);
}

/** The size of each of several equal parts of an axis. */
function partSize(shape: Shape, axis: number, sections: number, require: Require): Dim {
  if (sections < 1) {
    throw new ArgumentError('there must be at least one part', {
      op: 'split',
      expected: 'a positive number of parts, or a list of cuts',
      actual: String(sections),
    });
  }
  require(divisible(shape[axis], sections), () => ({
    op: 'split',
    problem: words`axis ${axis} does not divide into ${sections} equal parts`,
    expected: words`an extent that ${sections} divides`,
    actual: words`${shape}`,
    advice: 'give the positions of the cuts as a list',
  }));
  return floorDivDim(shape[axis], sections);
}

/** The slice entries that select an index or a range of one axis and all of the axes before it. */
function along(axis: number, taken: Dim | readonly [Dim, Dim]): SliceEntry[] {
  const whole: SliceEntry = [null, null, 1];
  const entry: SliceEntry = Array.isArray(taken) ? [taken[0], taken[1], 1] : (taken as Dim);
  return [...Array.from({ length: axis }, () => whole), entry];
}

function arrayList<T extends Tensor>(op: string, arrays: readonly Input<T>[]): readonly Input<T>[] {
  if (Array.isArray(arrays) && arrays.length > 0) return Array.from(arrays);
  throw new ArgumentError('there is nothing to join', {
    op,
    expected: 'a list of at least one array',
    actual: Array.isArray(arrays) ? 'an empty list' : describe(arrays),
  });
}
