import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { callable, checkArgument, valueRule } from '../../base/attributes/options.js';
import { flattenTree, type TreeStructure, unflattenTree } from '../../base/attributes/tree.js';
import type { HostValue } from '../../ir/host.js';
import { array } from '../arrays/creation.js';
import { NDArray } from '../core/ndarray.js';
import { linkTo } from '../dispatch/values.js';
import type { FloatDType } from '../core/result-dtypes.js';
import { gradSince } from '../autograd/grad.js';
import { currentSerial } from '../core/history.js';
import { isRecording, isTraining, record } from '../autograd/scopes.js';

/** Arrays (or plain data, which is converted) in lists and plain objects. */
export type ArrayTree =
  NDArray | HostValue | readonly ArrayTree[] | { readonly [key: string]: ArrayTree };

/** A gradient with respect to a value: the value's own nesting, of arrays. */
export type GradientTree<T> = T extends NDArray | HostValue
  ? NDArray<FloatDType>
  : T extends object
    ? { [K in keyof T]: GradientTree<T[K]> }
    : never;

/** The gradients with respect to the arguments named by `A`: one for a number, a list for several. */
export type Gradients<P extends readonly unknown[], A> = A extends number
  ? GradientTree<P[A]>
  : A extends readonly number[]
    ? { [K in keyof A]: A[K] extends keyof P ? GradientTree<P[A[K]]> : never }
    : never;

/**
 * The function that computes the gradient of `f` with respect to some of its arguments: the first one, or
 * those with the given indices. Like `backward`, it starts from ones where the result is not a scalar. It
 * nests: `grad(grad(f))` is the second derivative. `f` runs in training mode, as in `record`; inside of a
 * recording, in the mode of the caller.
 *
 * @throws ArgumentError, from the returned function, when there is no argument of an index.
 */
export function grad<P extends readonly unknown[], const A extends number | readonly number[] = 0>(
  f: (...args: P) => NDArray,
  argnums?: A,
): (...args: P) => Gradients<P, A> {
  const both = valueAndGrad(f, argnums);
  return (...args) => both(...args)[1];
}

/** `grad` that returns the value, too: `[value, gradient]`. */
export function valueAndGrad<
  P extends readonly unknown[],
  const A extends number | readonly number[] = 0,
>(
  f: (...args: P) => NDArray,
  argnums: A = 0 as A,
): (...args: P) => [value: NDArray<FloatDType>, gradient: Gradients<P, A>] {
  const op = 'kn.grad';
  checkArgument(op, 'f', f, callable);
  checkArgument(op, 'argnums', argnums, argumentNumbers);
  const wanted: readonly number[] = typeof argnums === 'number' ? [argnums] : argnums;
  return (...args) => {
    for (const number of wanted) {
      if (Number.isInteger(number) && number >= 0 && number < args.length) continue;
      throw new ArgumentError(`there is no argument ${number}`, {
        op,
        expected: `numbers from 0 to ${args.length - 1}`,
        actual: String(number),
      });
    }
    // The pass is recorded where the caller records, so that it can be differentiated.
    const createGraph = isRecording();
    const since = currentSerial();
    const differentiate = (): [NDArray, Gradients<P, A>] => {
      const replaced: unknown[] = [...args];
      // A new array for each argument: an outer function may use the same array, and that use is a constant
      // here.
      const made = new Map<number, { structure: TreeStructure; fresh: readonly NDArray[] }>();
      const parts = wanted.map((number) => {
        const known = made.get(number);
        if (known !== undefined) return known;
        const { leaves, structure } = flattenTree(args[number], isOperand, op);
        const fresh = leaves.map((leaf) => {
          const link = linkTo(leaf instanceof NDArray ? leaf : array(leaf));
          link.attachGrad();
          return link;
        });
        replaced[number] = unflattenTree(structure, fresh);
        made.set(number, { structure, fresh });
        return { structure, fresh };
      });
      const value: unknown = f(...(replaced as unknown as P));
      if (!(value instanceof NDArray)) {
        throw new ArgumentError('the function to differentiate must return one array', {
          op,
          expected: 'an array',
          actual: describe(value),
        });
      }
      const all = parts.flatMap(({ fresh }) => fresh);
      const grads = gradSince(op, since, value, all, createGraph);
      let next = 0;
      const trees = parts.map(({ structure, fresh }) =>
        unflattenTree(structure, grads.slice(next, (next += fresh.length))),
      );
      return [value, (typeof argnums === 'number' ? trees[0] : trees) as Gradients<P, A>];
    };
    return record(differentiate, { trainMode: !createGraph || isTraining() });
  };
}

const argumentNumbers = valueRule(
  'the number of an argument, or a list of such numbers',
  (value): value is number | readonly number[] =>
    typeof value === 'number' ||
    (Array.isArray(value) && value.every((entry) => typeof entry === 'number')),
);

function isOperand(value: unknown): value is NDArray | number {
  return value instanceof NDArray || typeof value === 'number';
}
