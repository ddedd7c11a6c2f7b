import * as attr from '../../base/attributes/attribute.js';
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
import { checkCount, checkPredicate, bindRegion, type Instance, regionAt } from './body.js';

const op = 'cond';
const attributes = { sizes: attr.passedSizes } as const;

/**
 * Runs one of two programs, which take the same operands and sizes and return results of the same dtypes and ranks.
 * Where their sizes differ, the result has a fresh dimension.
 */
export const cond: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    predicate: T,
    then: Program,
    otherwise: Program,
    captures: readonly T[],
    sizes?: readonly Dim[],
  ) => readonly T[]
> = operator({
  name: op,
  family: 'control',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (predicate, then, otherwise, captures, sizes = []) => ({
    inputs: [predicate, ...captures],
    attributes: { sizes },
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
  attributes: { sizes },
  regions: [then, otherwise],
  backwardOfBranches,
}: GradientContext<T, AttributesOf<typeof attributes>>): readonly (T | null)[] {
  const types = captures.map(({ type }) => type);
  const instances = [then, otherwise].map((branch) => bindRegion(op, branch, { types, sizes }, () => {})); // prettier-ignore
  const flows = grads.map((grad) => grad !== null);
  const looseIn = (k: 0 | 1): readonly (readonly number[])[] =>
    looseAxes([then, otherwise][k], instances[k], outputs, flows);
  const isSettled = outputs.map(
    ({ type }, k) =>
      type.shape.every(isStatic) &&
      [then, otherwise].every(({ outputs }) => sameType(outputs[k].value.type, type)),
  );
  const back = backwardOfBranches({
    branches: [then, otherwise],
    needs: needs.slice(1),
    flows,
    isSettled,
    loose: [looseIn(0), looseIn(1)],
  });
  if (back === null) return [null, ...captures.map(() => null)];
  const ends = [...captures, ...outputs];
  const read = [
    ...back.reads.map((place) => ends[place]),
    ...grads.filter((grad) => grad !== null),
  ];
  const passed = back.sizes.map(({ branch, name }) => instances[branch].dims.get(name)!);
  const made = cond<T>(predicate, ...back.branches, read, passed);
  const found = captures.map((_, k) =>
    back.gives.includes(k) ? made[back.gives.indexOf(k)] : null,
  );
  return [null, ...found];
}

/**
 * By result with a gradient, the axes along which the gradient, which has the type of a result of the call, may have
 * another size than the result of a branch: those of the other branch, and sizes that the branch itself decides, but
 * for plain symbols, which take the size of the gradient.
 */
function looseAxes(
  { outputs: made }: Program,
  { types, dims }: Instance,
  outputs: readonly Tensor[],
  flows: readonly boolean[],
): readonly (readonly number[])[] {
  const taken = new Map<string, Dim>();
  const isTight = (own: Dim, bound: Dim, size: Dim): boolean => {
    if (isStatic(own) || [...symbolsOf(own)].every((name) => dims.has(name)))
      return sameDim(bound, size);
    const before = taken.get(own.key);
    if (before !== undefined) return sameDim(before, size);
    const [inner, outer] = [boundsOf(own), boundsOf(size)];
    const isSymbol = symbolsOf(own).has(own.key);
    if (!isSymbol || outer.min < inner.min || outer.max > inner.max) return false;
    taken.set(own.key, size);
    return true;
  };
  return made.map(({ value: { type } }, k) =>
    !flows[k]
      ? []
      : type.shape.flatMap((own, axis) =>
          isTight(own, types[k].shape[axis], outputs[k].type.shape[axis]) ? [] : [axis],
        ),
  );
}

function inferCond({
  inputs,
  attributes: { sizes },
  regions,
  fresh,
}: InferContext & {
  readonly attributes: AttributesOf<typeof attributes>;
}): readonly TensorType[] {
  const branches = [regionAt(op, regions, 0), regionAt(op, regions, 1)];
  const [predicate, ...captures] = inputs;
  checkPredicate(op, 'the predicate', predicate);
  const [then, otherwise] = branches.map((branch) => {
    checkCount(op, 'operands of a branch', branch.inputs.length, captures.length);
    // The branch that is taken checks what it requires.
    return bindRegion(op, branch, { types: captures, sizes }, () => {});
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
