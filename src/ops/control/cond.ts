import {
  type Bounds,
  boundsOf,
  type Dim,
  isStatic,
  sameDim,
  symbolsOf,
} from '../../base/dim/index.js';
import { DTypeError, ShapeError } from '../../base/errors.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import type { InferContext } from '../../ir/operator.js';
import { type Program, typeToString } from '../../ir/program.js';
import { sameType, type Tensor, type TensorType } from '../../ir/types.js';
import {
  type DefaultTensor,
  type GradientContext,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';
import { checkCount, checkPredicate, bindRegion, regionAt } from './body.js';

const op = 'cond';
const attributes = {} as const;

/**
 * Runs one of two programs, which take the same operands and return results of the same dtypes and ranks.
 * Where their sizes differ, the result has a fresh dimension.
 */
export const cond: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    predicate: T,
    then: Program,
    otherwise: Program,
    captures: readonly T[],
  ) => readonly T[]
> = operator({
  name: op,
  family: 'control',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (predicate, then, otherwise, captures) => ({
    inputs: [predicate, ...captures],
    attributes: {},
    regions: [then, otherwise],
  }),
  infer: (context) => inferCond(context),
  gradient: <T extends Tensor>(
    context: GradientContext<T, AttributesOf<typeof attributes>>,
  ): readonly (T | null)[] => condGradient(context),
  lowering: { kind: 'branch' },
  samples: [],
});

function condGradient<T extends Tensor>({
  inputs: [predicate, ...captures],
  outputs,
  grads,
  needs,
  regions: [then, otherwise],
  backwardOfBranches,
}: GradientContext<T, AttributesOf<typeof attributes>>): readonly (T | null)[] {
  const types = captures.map(({ type }) => type);
  const looseIn = (branch: Program): readonly (readonly number[])[] => {
    const { types: made, dims } = bindRegion(op, branch, types, () => {});
    return made.map(({ shape }, k) =>
      shape.flatMap((dim, axis) => {
        // A size that the branch itself introduces takes the gradient's size.
        const isOwn = [...symbolsOf(branch.outputs[k].value.type.shape[axis])].some(
          (name) => !dims.has(name),
        );
        return isOwn || sameDim(dim, outputs[k].type.shape[axis]) ? [] : [axis];
      }),
    );
  };
  const isSettled = outputs.map(
    ({ type }, k) =>
      type.shape.every(isStatic) &&
      [then, otherwise].every(({ outputs }) => sameType(outputs[k].value.type, type)),
  );
  const back = backwardOfBranches({
    branches: [then, otherwise],
    needs: needs.slice(1),
    flows: grads.map((grad) => grad !== null),
    isSettled,
    loose: [looseIn(then), looseIn(otherwise)],
  });
  if (back === null) return [null, ...captures.map(() => null)];
  const ends = [...captures, ...outputs];
  const made = cond<T>(predicate, ...back.branches, [
    ...back.reads.map((place) => ends[place]),
    ...grads.filter((grad) => grad !== null),
  ]);
  const found = captures.map((_, k) =>
    back.gives.includes(k) ? made[back.gives.indexOf(k)] : null,
  );
  return [null, ...found];
}

function inferCond({ inputs, regions, fresh }: InferContext): readonly TensorType[] {
  const branches = [regionAt(op, regions, 0), regionAt(op, regions, 1)];
  const [predicate, ...captures] = inputs;
  checkPredicate(op, 'the predicate', predicate);
  const [then, otherwise] = branches.map((branch) => {
    checkCount(op, 'operands of a branch', branch.inputs.length, captures.length);
    // The branch that is taken checks what it requires.
    return bindRegion(op, branch, captures, () => {});
  });
  checkCount(op, 'results of the branches', then.types.length, otherwise.types.length);
  // Sizes that vary together in both branches are one dimension of the results.
  const joined = new Map<string, Dim>();
  return then.types.map((type, k) => {
    const other = otherwise.types[k];
    if (type.dtype !== other.dtype) {
      throw new DTypeError(`result ${k} has another dtype in each branch`, {
        op,
        expected: `${type.dtype}, as the first branch gives`,
        actual: other.dtype,
        advice: 'cast one of them',
      });
    }
    if (type.shape.length !== other.shape.length) {
      throw new ShapeError(`result ${k} has another rank in each branch`, {
        op,
        expected: `${typeToString(type)}, as the first branch gives`,
        actual: typeToString(other),
      });
    }
    const shape = type.shape.map((dim, axis) => {
      const otherDim = other.shape[axis];
      const isOutside = sameDim(dim, otherDim) && isKnown(dim, then.dims);
      if (isOutside) return dim;
      const key = `${String(dim)} | ${String(otherDim)}`;
      let size = joined.get(key);
      if (size === undefined) joined.set(key, (size = fresh('size', eitherBounds(dim, otherDim))));
      return size;
    });
    return { dtype: type.dtype, shape };
  });
}

/** Bounds of a size that is one of two. */
function eitherBounds(a: Dim, b: Dim): Bounds {
  const [one, other] = [boundsOf(a), boundsOf(b)];
  return { min: Math.max(0, Math.min(one.min, other.min)), max: Math.max(one.max, other.max) };
}

/** True for a size of the enclosing program, false for one that a branch introduces. */
function isKnown(dim: Dim, dims: ReadonlyMap<string, Dim>): boolean {
  const outside = new Set<string>();
  for (const value of dims.values()) symbolsOf(value, outside);
  return [...symbolsOf(dim)].every((name) => outside.has(name));
}
