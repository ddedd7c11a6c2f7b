import { InternalError } from '../../../base/errors.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import type { Operator } from '../../../ir/operator.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import { type DeviceKernel, kernelFor } from '../../../ops/declare/kernels.js';
import { computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import type { Scattering } from '../../../ops/declare/scattering.js';
import { overAll } from '../../../ops/loops.js';
import { mostPlain } from '../../../ops/scatter.js';
import { known, product } from '../../contraction/sizes.js';
import { Contributions } from './contributions.js';

/** Comparisons up to which each element of a result looks for its contributions. */
const mostComparisons = 2 ** 38;

/** Contributions along axes of which nothing is known. */
const usualContributions = 2 ** 12;

/** The kernel of an operator that is declared as a scatter. */
export function gatheringKernel(operator: {
  readonly declaration: Operator;
}): readonly [Operator, DeviceKernel] {
  const { lowering } = declarationOf(operator.declaration);
  if (lowering.kind !== 'kernel' || lowering.scatter === undefined) {
    throw new InternalError(`${operator.declaration.name} is not a scatter`);
  }
  const { scatter, kernel } = lowering;
  return kernelFor<Attributes>(
    operator,
    (context) => gathered(context, scatter(context)) ?? kernel(context),
  );
}

/**
 * A scatter in which an invocation for each element of the result looks for the contributions that go there, in
 * row-major order: they are added in that order without atomics. Invocations beside each other compare the same
 * positions. Null where there is too much to look at.
 */
function gathered(context: KernelContext<unknown>, scattering: Scattering): Stmt | null {
  const { domain, from } = scattering;
  const [{ shape }] = context.outputs;
  if (from === undefined) return null;
  const looped = from(shape).map((at) => at === null);
  const contributions = known(product(...domain.filter((_, axis) => looped[axis])));
  const elements = known(product(...shape)) ?? usualContributions;
  if (elements * (contributions ?? usualContributions) > mostComparisons) return null;
  return overAll(shape, (index) => elementOf(context, scattering, index), 'serial', context);
}

/** Stores one element of the result. */
function elementOf(
  context: KernelContext<unknown>,
  { onto, domain, target, value, combine = 'add', most, from }: Scattering,
  index: readonly Expr[],
): Stmt {
  const [sink] = context.outputs;
  const isFew = most !== undefined && (known(most) ?? Infinity) <= mostPlain;
  const contributions = new Contributions(sink.dtype, combine === 'add' && !isFew);
  const given = from!(index);
  const loops = (axis: number, at: readonly Expr[]): Stmt => {
    if (axis < domain.length) {
      const own = given[axis];
      if (own !== null) return loops(axis + 1, [...at, own]);
      return e.forLoop('from', 0, domain[axis], (step) => loops(axis + 1, [...at, step]));
    }
    const isHere = target(at).flatMap((place, k) => (place === index[k] ? [] : [e.eq(place, index[k])])); // prettier-ignore
    const body = combine === 'set' ? contributions.set(value(at)) : contributions.add(value(at));
    return isHere.length === 0
      ? body
      : e.ifThen(
          isHere.reduce((a, b) => e.and(a, b)),
          body,
        );
  };
  // The domain may be smaller than the result along the other axes.
  const isThere = given.flatMap((at, axis) => (at === null ? [] : [e.lt(at, domain[axis])]));
  const all = loops(0, []);
  const start = onto === undefined ? e.constant(computeScalar(sink.dtype), 0) : onto.at(index);
  return e.block(
    ...contributions.begin(start),
    isThere.length === 0
      ? all
      : e.ifThen(
          isThere.reduce((a, b) => e.and(a, b)),
          all,
        ),
    sink.store(index, e.cast(computeScalar(sink.dtype), contributions.result)),
  );
}
