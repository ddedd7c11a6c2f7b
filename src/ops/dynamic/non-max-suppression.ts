import * as attr from '../../base/attributes/attribute.js';
import { describe } from '../../base/attributes/attribute.js';
import { boundsOf, minDim } from '../../base/dim/index.js';
import { type DType, isFloat, promoteAll, type WeakKind } from '../../base/dtype.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import { equalSizes, type Require, words } from '../../ir/requirement.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr, Stmt } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { positionAt } from '../indexing/position.js';
import { argsort } from '../indexing/sort.js';
import { take } from '../indexing/take.js';
import { shapeToString } from '../declare/infer.js';
import { computeScalar, type KernelContext } from '../declare/lowering.js';
import { indexConstant, wideDType } from '../loops.js';
import { sum } from '../reduction/sum.js';
import { countedPositions } from './positions.js';

export interface SuppressionOptions {
  /** Suppress a box whose overlap with a kept one exceeds this fraction of their union. Default 0.5. */
  readonly iouThreshold?: number;
  /** Least score, exclusive. Default -Infinity. */
  readonly scoreThreshold?: number;
  /** Most boxes to keep. Default all. */
  readonly maxOutputSize?: number;
}

const attributes = {
  iouThreshold: attr.number,
  scoreThreshold: attr.number,
  maxOutputSize: attr.optional(attr.int),
};

interface SuppressionAttributes {
  readonly iouThreshold: number;
  readonly scoreThreshold: number;
  readonly maxOutputSize: number | null;
}

function attributesOf(op: string, options: SuppressionOptions = {}): SuppressionAttributes {
  const { iouThreshold = 0.5, scoreThreshold = -Infinity, maxOutputSize = null } = options;
  if (!(iouThreshold >= 0 && iouThreshold <= 1)) {
    throw new ArgumentError('the threshold of overlap is not a fraction', {
      op,
      expected: 'iouThreshold from 0 to 1',
      actual: describe(iouThreshold),
    });
  }
  if (Number.isNaN(scoreThreshold)) {
    throw new ArgumentError('the threshold of scores is not a number', {
      op,
      expected: 'a number for scoreThreshold',
      actual: 'NaN',
    });
  }
  if (maxOutputSize !== null && !(Number.isSafeInteger(maxOutputSize) && maxOutputSize >= 0)) {
    throw new ArgumentError('not a number of boxes', {
      op,
      expected: 'maxOutputSize of 0 or more',
      actual: describe(maxOutputSize),
    });
  }
  return { iouThreshold, scoreThreshold, maxOutputSize };
}

const asFloat = (kind: DType | WeakKind): DType => {
  const dtype = promoteAll([kind]);
  return isFloat(dtype) ? dtype : 'float32';
};

/** @internal Mask of the kept boxes, visited in a given order: bool, by position in the order. See `nonMaxSuppression`. */
export const keptBoxes: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    boxes: Input<T>,
    scores: Input<T>,
    order: Input<T>,
    options?: SuppressionOptions,
  ) => T
> = operator({
  name: 'keptBoxes',
  options: { at: 3, names: ['iouThreshold', 'scoreThreshold', 'maxOutputSize'] },
  family: 'dynamic',
  attributes,
  method: false,
  operands: ([boxes, scores, order]) => [asFloat(boxes), asFloat(scores), promoteAll([order])],
  call: (boxes, scores, order, options) => ({
    inputs: [boxes, scores, order],
    attributes: attributesOf('keptBoxes', options),
  }),
  infer: ({ inputs: [boxes, scores, order], require }) => {
    checkBoxes('keptBoxes', boxes, scores, require);
    checkBoxes('keptBoxes', boxes, order, require);
    return [{ dtype: 'bool', shape: order.shape }];
  },
  gradient: 'none',
  lowering: { kind: 'kernel', kernel: (context) => keepLoops(context) },
  samples: [
    {
      args: [
        tensor(['n', 4]),
        tensor(['n']),
        tensor(['n'], { dtype: 'int64', low: 0, high: 11 }),
        { iouThreshold: 0.2, scoreThreshold: -1 },
      ],
    },
    {
      args: [
        tensor([3, 4], { dtype: 'float64', values: [0, 0, 1, 1, 1, 0, 0, 1.1] }),
        tensor([3], { values: [0.5, 0.7, 0.9] }),
        tensor([3], { dtype: 'int32', values: [2, 1, 0] }),
        { maxOutputSize: 1 },
      ],
    },
  ],
});

/** A rectangle with its area. */
interface Box {
  readonly top: Expr;
  readonly left: Expr;
  readonly bottom: Expr;
  readonly right: Expr;
  readonly area: Expr;
}

const sides = ['top', 'left', 'bottom', 'right', 'area'] as const;

/** Compares each box with the kept ones before it, whose sides are contiguous in memory. */
function keepLoops(context: KernelContext<SuppressionAttributes>): Stmt {
  const [boxes, scores, order] = context.inputs;
  const [sink] = context.outputs;
  const { iouThreshold, scoreThreshold, maxOutputSize } = context.attributes;
  const [length] = boxes.shape;
  const room = context.extent(context.inputTypes[0].shape[0]);
  const scalar = computeScalar(boxes.dtype);
  const kept = sides.map((side) => context.scratch(side, wideDType(boxes.dtype), room));
  const count = e.variable('count', 'i32');
  const box = e.variable('box', 'i32');
  const other = e.variable('other', 'i32');
  const isKept = e.variable('isKept', 'bool');
  const mine = sides.map((side) => e.variable(side, scalar));
  const corner = (side: number): Expr => boxes.at([box, e.i32(side)]);
  const rectangle = (part: (side: number) => Expr): Box => {
    const [top, left, bottom, right, area] = sides.map((_, side) => part(side));
    return { top, left, bottom, right, area };
  };
  const here = rectangle((side) => mine[side]);
  const there = rectangle((side) => e.load(kept[side], other));
  const limit = maxOutputSize === null ? length : indexConstant(maxOutputSize);
  const score = scores.at([box]);
  const isWanted = e.and(
    e.lt(count, limit),
    e.gt(score, e.constant(score.type.scalar, scoreThreshold)),
  );
  return e.block(
    e.declare(count, e.i32(0)),
    e.forLoop('i', 0, length, (i) =>
      e.block(
        e.declare(box, positionAt(order.at([i]), length, 'clip')),
        e.declare(isKept, isWanted),
        e.ifThen(
          isKept,
          e.block(
            e.declare(mine[0], e.min(corner(0), corner(2))),
            e.declare(mine[1], e.min(corner(1), corner(3))),
            e.declare(mine[2], e.max(corner(0), corner(2))),
            e.declare(mine[3], e.max(corner(1), corner(3))),
            e.declare(mine[4], areaOf(here)),
            e.declare(other, e.i32(0)),
            e.whileLoop(
              e.and(isKept, e.lt(other, count)),
              e.block(
                e.assign(isKept, e.not(overlap(here, there, iouThreshold))),
                e.assign(other, e.add(other, 1)),
              ),
            ),
            e.ifThen(
              isKept,
              e.block(
                ...kept.map((buffer, side) => e.store(buffer, count, mine[side])),
                e.assign(count, e.add(count, 1)),
              ),
            ),
          ),
        ),
        sink.store([i], isKept),
      ),
    ),
  );
}

function areaOf({ top, left, bottom, right }: Omit<Box, 'area'>): Expr {
  return e.mul(e.sub(bottom, top), e.sub(right, left));
}

/** True when the intersection of two boxes exceeds a fraction of their union; false for empty boxes. */
function overlap(a: Box, b: Box, threshold: number): Expr {
  const height = e.max(e.sub(e.min(a.bottom, b.bottom), e.max(a.top, b.top)), 0);
  const width = e.max(e.sub(e.min(a.right, b.right), e.max(a.left, b.left)), 0);
  const shared = e.mul(height, width);
  const share = e.div(shared, e.sub(e.add(a.area, b.area), shared));
  return e.and(e.and(e.gt(a.area, 0), e.gt(b.area, 0)), e.gt(share, threshold));
}

/**
 * The indices of the boxes that remain after suppressing each box that overlaps a better one too much: int64,
 * by descending score, equal ones in their order. `boxes` is (n, 4): the coordinates `y1, x1, y2, x2` of two
 * opposite corners in any order. `scores` is (n); a NaN score is never kept.
 */
export const nonMaxSuppression: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    boxes: Input<T>,
    scores: Input<T>,
    options?: SuppressionOptions,
  ) => T
> = operator({
  name: 'nonMaxSuppression',
  options: { at: 2, names: ['iouThreshold', 'scoreThreshold', 'maxOutputSize'] },
  family: 'dynamic',
  attributes,
  method: false,
  operands: ([boxes, scores]) => [asFloat(boxes), asFloat(scores)],
  call: (boxes, scores, options) => ({
    inputs: [boxes, scores],
    attributes: attributesOf('nonMaxSuppression', options),
  }),
  infer: ({ inputs: [boxes, scores], attributes: { maxOutputSize }, fresh, require }) => {
    checkBoxes('nonMaxSuppression', boxes, scores, require);
    const [count] = boxes.shape;
    const most = maxOutputSize === null ? count : minDim(count, maxOutputSize);
    return [{ dtype: 'int64', shape: [fresh('count', { max: boundsOf(most).max, most })] }];
  },
  sizedBy: [0, 1],
  measure: ({ inputs: [boxes, scores], attributes }) => [
    sum(sweep(boxes, scores, attributes).kept),
  ],
  gradient: 'none',
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs: [boxes, scores], outputTypes: [{ shape }], attributes }) => {
      const { order, kept } = sweep(boxes, scores, attributes);
      return [take(order, countedPositions(kept, shape[0]), { axis: 0, mode: 'valid' })];
    },
  },
  onnx: ({ onnx, inputs, attributes }) => {
    const { iouThreshold, scoreThreshold, maxOutputSize } = attributes;
    const [boxes, scores] = inputs.map((x) => {
      if (x.dtype === 'float64') {
        onnx.unsupported('NonMaxSuppression compares float32 only', 'cast boxes and scores');
      }
      return onnx.cast(x, 'float32');
    });
    const found = onnx.node(
      'NonMaxSuppression',
      [
        onnx.node('Unsqueeze', [boxes, onnx.ints([0])]),
        onnx.node('Unsqueeze', [scores, onnx.ints([0, 1])]),
        onnx.ints([maxOutputSize ?? 2 ** 31 - 1]),
        onnx.scalar('float32', iouThreshold),
        onnx.scalar('float32', scoreThreshold),
      ],
      {},
      'int64',
    );
    // Batch, class, box.
    return onnx.node('Gather', [found, onnx.scalar('int64', 2)], { axis: 1 });
  },
  samples: [
    { args: [tensor(['n', 4]), tensor(['n'])] },
    {
      args: [
        tensor(['n', 4], { dtype: 'float64' }),
        tensor(['n']),
        { iouThreshold: 0.1, scoreThreshold: 0, maxOutputSize: 3 },
      ],
    },
    { args: [tensor(['n', 4], { dtype: 'int32', low: 0, high: 4 }), tensor(['n'])] },
  ],
});

/** All boxes by descending score, and the mask of kept ones. */
function sweep<T extends Tensor>(
  boxes: T,
  scores: T,
  { iouThreshold, scoreThreshold, maxOutputSize }: SuppressionAttributes,
): { readonly order: T; readonly kept: T } {
  const order = argsort(scores, 0, { descending: true });
  const kept = keptBoxes(boxes, scores, order, {
    iouThreshold,
    scoreThreshold,
    ...(maxOutputSize !== null && { maxOutputSize }),
  });
  return { order, kept };
}

function checkBoxes(op: string, boxes: TensorType, each: TensorType, require: Require): void {
  if (boxes.shape.length !== 2 || boxes.shape[1] !== 4) {
    throw new ShapeError('these are not boxes', {
      op,
      expected: 'an array of shape [n, 4]',
      actual: shapeToString(boxes.shape),
    });
  }
  const [count] = boxes.shape;
  const differ = words`one number for each of ${count} boxes`;
  if (each.shape.length !== 1) {
    throw new ShapeError('boxes and scores do not match', {
      op,
      expected: differ.map(String).join(''),
      actual: shapeToString(each.shape),
    });
  }
  require(equalSizes(each.shape[0], count), () => ({
    op,
    problem: words`boxes and scores do not match`,
    expected: differ,
    actual: words`${each.shape}`,
  }));
}
