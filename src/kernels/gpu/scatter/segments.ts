import * as attr from '../../../base/attributes/attribute.js';
import type { Dim } from '../../../base/dim/index.js';
import type { Shape, Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import { type IndexMode, indexMode, positionAt } from '../../../ops/indexing/position.js';
import { overAll, ravel } from '../../../ops/loops.js';
import { Contributions } from './contributions.js';

/*
 * The steps of a scatter of many contributions beside a sort of their positions. They are calls that only the expansion
 * of a scatter makes: no operators of the library, so that they have no samples.
 */

/** Positions along an axis of `size` elements, int32 from 0 on. */
export const normalizedPositions: OperatorFunction<
  <T extends Tensor>(positions: Input<T>, size: Dim, mode: IndexMode) => T
> = operator({
  name: 'normalizedPositions',
  family: 'indexing',
  attributes: { size: attr.dim, mode: indexMode },
  operands: 'keep',
  call: (positions, size, mode) => ({ inputs: [positions], attributes: { size, mode } }),
  infer: ({ inputs: [{ shape }] }) => [{ dtype: 'int32', shape }],
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: true,
    point: ({ inputs: [positions], index, extent, attributes: { size, mode } }) =>
      positionAt(positions.at(index), extent(size), mode),
  },
  samples: [],
});

/** Row-major places in an array of a shape of positions along one of its axes, int32; the others are those of the positions. */
export const placesAlong: OperatorFunction<
  <T extends Tensor>(positions: Input<T>, shape: Shape, axis: number) => T
> = operator({
  name: 'placesAlong',
  family: 'indexing',
  attributes: { shape: attr.dims, axis: attr.int },
  operands: 'keep',
  call: (positions, shape, axis) => ({ inputs: [positions], attributes: { shape, axis } }),
  infer: ({ inputs: [{ shape }] }) => [{ dtype: 'int32', shape }],
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [positions], index, extent, attributes: { shape, axis } }) => {
      const extents = shape.map(extent);
      const place = positionAt(positions.at(index), extents[axis], 'error');
      return ravel(index.with(axis, e.cast('i32', place)), extents);
    },
  },
  samples: [],
});

/**
 * Sums of the slices of `x` (rank 3) along its middle axis that have one position: `order` sorts the positions, and
 * slices of one position are added in its order. The middle axis of the result has `size` elements.
 */
export const sumsByPosition: OperatorFunction<
  <T extends Tensor>(x: Input<T>, positions: Input<T>, order: Input<T>, size: Dim) => T
> = operator({
  name: 'sumsByPosition',
  family: 'indexing',
  attributes: { size: attr.dim },
  operands: 'keep',
  call: (x, positions, order, size) => ({
    inputs: [x, positions, order],
    attributes: { size },
  }),
  infer: ({ inputs: [{ dtype, shape }], attributes: { size } }) => [
    { dtype, shape: shape.with(1, size) },
  ],
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: segmentNest },
  samples: [],
});

/**
 * The array `x` (rank 1) with the last of the updates of each position in its place; `order` sorts their positions.
 */
export const lastByPosition: OperatorFunction<
  <T extends Tensor>(x: Input<T>, updates: Input<T>, positions: Input<T>, order: Input<T>) => T
> = operator({
  name: 'lastByPosition',
  family: 'indexing',
  attributes: {},
  operands: 'keep',
  call: (x, updates, positions, order) => ({
    inputs: [x, updates, positions, order],
    attributes: {},
  }),
  infer: ({ inputs: [x] }) => [x],
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: lastNest },
  samples: [],
});

/** Declares `low` as the first of so many places of which `isBefore` does not hold; it holds for those before. */
function lowerBound(low: Var, count: Expr, isBefore: (place: Expr) => Expr): readonly Stmt[] {
  const [high, middle] = ['high', 'middle'].map((name) => e.variable(name, 'i32'));
  return [
    e.declare(low, e.i32(0)),
    e.declare(high, count),
    e.whileLoop(
      e.lt(low, high),
      e.block(
        e.declare(middle, e.shr(e.add(low, high), 1)),
        e.ifThen(isBefore(middle), e.assign(low, e.add(middle, 1)), e.assign(high, middle)),
      ),
    ),
  ];
}

/** An invocation for each element of the result looks for where its position ends among the sorted ones. */
function lastNest(context: KernelContext<unknown>): Stmt {
  const {
    inputs: [x, updates, positions, order],
    outputs: [sink],
  } = context;
  return overAll(
    sink.shape,
    ([position]) => {
      const [end, last] = [e.variable('end', 'i32'), e.variable('last', 'i32')];
      const value = e.variable('value', computeScalar(sink.dtype));
      const positionOf = (at: Expr): Expr => positions.at([order.at([at])]);
      return e.block(
        ...lowerBound(end, positions.shape[0], (at) => e.le(positionOf(at), position)),
        e.declare(value, x.at([position])),
        e.ifThen(
          e.gt(end, 0),
          e.block(
            e.declare(last, order.at([e.sub(end, 1)])),
            e.ifThen(e.eq(positions.at([last]), position), e.assign(value, updates.at([last]))),
          ),
        ),
        sink.store([position], value),
      );
    },
    'serial',
    context,
  );
}

/** An invocation for each element of the result looks for where its position begins among the sorted ones. */
function segmentNest(context: KernelContext<unknown>): Stmt {
  const {
    inputs: [x, positions, order],
    outputs: [sink],
  } = context;
  const count = positions.shape[0];
  return overAll(
    sink.shape,
    ([before, position, behind]) => {
      const low = e.variable('low', 'i32');
      const isOpen = e.variable('isOpen', 'bool');
      const sum = new Contributions(sink.dtype, true);
      const sourceOf = (at: Expr): Expr => order.at([at]);
      // There may be no positions at all.
      const look = e.block(
        e.assign(isOpen, e.constant('bool', 0)),
        e.ifThen(e.lt(low, count), e.assign(isOpen, e.eq(positions.at([sourceOf(low)]), position))),
      );
      return e.block(
        ...lowerBound(low, count, (at) => e.lt(positions.at([sourceOf(at)]), position)),
        ...sum.begin(e.constant(computeScalar(sink.dtype), 0)),
        e.declare(isOpen, e.constant('bool', 0)),
        look,
        e.whileLoop(
          isOpen,
          e.block(
            sum.add(x.at([before, sourceOf(low), behind])),
            e.assign(low, e.add(low, 1)),
            look,
          ),
        ),
        sink.store([before, position, behind], e.cast(computeScalar(sink.dtype), sum.result)),
      );
    },
    'serial',
    context,
  );
}
