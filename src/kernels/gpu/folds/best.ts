import * as attr from '../../../base/attributes/attribute.js';
import { InternalError } from '../../../base/errors.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import type { Operator } from '../../../ir/operator.js';
import type { Tensor } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { type Input, operator, type OperatorFunction } from '../../../ops/declare/declare.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import {
  computeScalar,
  type ReduceContext,
  type ReduceLowering,
} from '../../../ops/declare/lowering.js';
import { overAll } from '../../../ops/loops.js';
import type { FoldStage } from '../../../ops/nests/fold.js';
import { foldRow } from '../../folds/fold-row.js';
import { foldInWorkgroups } from './fold-workgroups.js';

/*
 * The position of the best element as two dispatches: the best of each part with its position, and the best of these.
 * They are calls that only the expansion of such a reduction makes: no operators of the library, so that they have no
 * samples.
 */

/** The steps of a reduction to positions. */
export interface PositionSteps {
  /** The best elements of the rows of parts (rank 4, along its third axis), and their positions there, int32. */
  readonly ofParts: OperatorFunction<<T extends Tensor>(parts: Input<T>) => readonly T[]>;
  /** The position of the best of all parts of a length, int64, from what `ofParts` has given. */
  readonly ofBests: OperatorFunction<
    <T extends Tensor>(bests: Input<T>, positions: Input<T>, length: number) => T
  >;
}

/** Invocations that join the parts of a result. */
const joining = 64;

/** The steps of a reduction whose state is the best element and its position. */
export function positionSteps(declaration: Operator): PositionSteps {
  const { name } = declaration;
  const { lowering: given } = declarationOf(declaration);
  if (given.kind !== 'reduce') throw new InternalError(`${name} is not a fold`);
  const lowering: ReduceLowering<Attributes> = given;
  return {
    ofParts: operator({
      name: `${name}OfParts`,
      family: 'reduction',
      attributes: {},
      results: 'list',
      operands: 'keep',
      call: (parts) => ({ inputs: [parts], attributes: {} }),
      infer: ({ inputs: [{ dtype, shape: [before, parts, , behind] }] }) => {
        const shape = [before, parts, behind];
        return [{ dtype, shape }, { dtype: 'int32', shape }];
      },
      gradient: 'none',
      lowering: {
        ...lowering,
        axes: () => [2],
        finish: ([best, position], { inputDType }) => [e.cast(computeScalar(inputDType), best), position],
      },
      samples: [],
    }),
    ofBests: operator({
      name: `${name}OfBests`,
      family: 'reduction',
      attributes: { length: attr.int },
      operands: 'keep',
      call: (bests, positions, length) => ({ inputs: [bests, positions], attributes: { length } }),
      infer: ({ inputs: [{ shape: [before, , behind] }] }) => [{ dtype: 'int64', shape: [before, behind] }],
      gradient: 'none',
      lowering: {
        kind: 'kernel',
        kernel: (kernel) => {
          const { inputs: [bests, positions], inputTypes: [{ dtype }], outputs: [out], attributes: { length } } = kernel;
          const loops = bests.shape.map((extent, axis) => ({ axes: [axis], extent, isIndependent: axis !== 1 }));
          const [before, parts, behind] = loops;
          const frame = { rank: 3, loops, inner: [parts], outer: [before, behind] };
          const context: ReduceContext<Attributes> = { attributes: {}, inputDType: dtype, outputDTypes: ['int64'], count: parts.extent };
          const initial = lowering.initial(context);
          const stageAt = ([first, last]: readonly Expr[]): FoldStage => {
            const step: typeof lowering.step = (state, element, part) => {
              const position = e.add(e.mul(part, length), positions.at([first, part, last]));
              return lowering.combine(state, [e.cast(initial[0].type.scalar, element), position], context);
            };
            const part = { lowering: { ...lowering, step }, context, element: bests, outputs: [], initial, offset: 0 };
            return { ...frame, parts: [part], beside: [], initial, lanes: 1 };
          };
          const finished = (state: readonly Expr[], at: readonly Expr[]): Stmt => out.store(at, lowering.finish(state, context)[0]);
          if (!kernel.isDivided || kernel.target.isGrid !== true) {
            return overAll([before.extent, behind.extent], (at) => {
              const { total, statements } = foldRow(stageAt(at), parts, at);
              return e.block(...statements, finished(total, at));
            }, 'serial', kernel);
          }
          return foldInWorkgroups(frame, { results: 1, partials: joining, together: 1, isRow: true }, (work) => {
            const { total, statements } = work.fold(stageAt(work.keptAt));
            return e.block(...statements, e.ifThen(work.isFirst, finished(total, work.keptAt)));
          });
        },
      },
      samples: [],
    }),
  };
} // prettier-ignore
