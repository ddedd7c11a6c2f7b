import type { TensorType } from '../../ir/types.js';
import type { Value } from '../../ir/program.js';
import type { OperatorFunction } from '../declare/declare.js';
import { callOf, inEitherOrder, type Law, type LawCase } from '../declare/law.js';
import type { Unary } from '../signatures.js';
import { broadcastLike, filledLike, isFilledWith } from '../uniform.js';

/* Laws that several operators have. `holds` limits a law to operands of some types. */

type Limit = (type: TensorType) => boolean;

/** `f(x, x) = x`. */
export function idempotent(
  name: string,
  law: string,
  cases: readonly LawCase[],
  holds: Limit = () => true,
): Law {
  return { name, law, cases, apply: ({ inputs: [x, y] }) => (x === y && holds(x.type) ? x : null) };
}

/** `f(x, x) = number`. */
export function constantOnItself(
  name: string,
  law: string,
  number: number,
  cases: readonly LawCase[],
  holds: Limit = () => true,
): Law {
  const apply: Law['apply'] = ({ inputs: [x, y], type }) =>
    x === y && holds(x.type) ? filledLike(number, type, x) : null;
  return { name, law, cases, apply };
}

/** `f(x, neutral) = x`, and `f(neutral, x) = x` unless the neutral element is the second one only. */
export function neutral(
  name: string,
  law: string,
  element: number | ((y: Value) => boolean),
  cases: readonly LawCase[],
  side: 'either' | 'second' = 'either',
): Law {
  const isNeutral = typeof element === 'number' ? (y: Value) => isFilledWith(y, element) : element;
  const apply: Law['apply'] = ({ inputs, type }) => {
    const kept = (x: Value, y: Value): Value | null => isNeutral(y) ? broadcastLike(x, type) : null; // prettier-ignore
    return side === 'either' ? inEitherOrder(inputs, kept) : kept(inputs[0], inputs[1]);
  };
  return { name, law, cases, apply };
}

/** `f(x, number) = f(number, x) = number`. */
export function absorbing(
  name: string,
  law: string,
  number: number,
  cases: readonly LawCase[],
  holds: Limit = () => true,
): Law {
  const apply: Law['apply'] = ({ inputs, type }) =>
    holds(type)
      ? inEitherOrder(inputs, (x, y) =>
          isFilledWith(y, number) ? filledLike(number, type, x) : null,
        )
      : null;
  return { name, law, cases, apply };
}

/** `f(f(x)) = x`; a function gives `f`, which is declared with this law. */
export function involution(
  name: string,
  law: string,
  f: () => OperatorFunction<Unary>,
  cases: readonly LawCase[],
): Law {
  return { name, law, cases, apply: ({ inputs: [x] }) => callOf(x, f())?.inputs[0] ?? null };
}
