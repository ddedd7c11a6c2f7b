import { GraphError } from '../errors.js';
import { boundsOf } from './bounds.js';
import { type Dim, type DimOperation, fromAtom, isStatic, sameDim, termsOf } from './expression.js';
import { operations } from './fold.js';
import { addDim, exactQuotient, mulDim, subDim } from './polynomial.js';

/** Floor division; `b` must not be zero. Exact quotients of polynomials are found. */
export function floorDivDim(a: Dim, b: Dim): Dim {
  if (b === 0) throw dividedByZero('floorDivDim', a);
  if (b === 1) return a;
  if (typeof a === 'number' && typeof b === 'number') return operations.floorDiv(a, b) + 0; // no -0
  const quotient = exactQuotient(a, b) ?? quotientBesideConstant(a, b);
  if (quotient !== undefined) return quotient;
  const multiple = withMultiples(a, b);
  const found = multiple === undefined ? undefined : exactQuotient(multiple, b);
  return found ?? operation('floorDiv', a, b);
}

/** The quotient of `b * x + c`, for numbers `b` and `c`: `x + floor(c / b)`. Undefined for other forms. */
function quotientBesideConstant(a: Dim, b: Dim): Dim | undefined {
  const last = termsOf(a).at(-1);
  if (typeof b !== 'number' || last === undefined || last.atoms.length > 0) return undefined;
  const quotient = exactQuotient(subDim(a, last.coefficient), b);
  return quotient && addDim(quotient, Math.floor(last.coefficient / b));
}

/** True when `a` is provably a multiple of `b`, which must not be zero. */
export function isMultipleOf(a: Dim, b: Dim): boolean {
  if (isStatic(a) && isStatic(b)) return a % b === 0;
  return (
    exactQuotient(a, b) !== undefined || exactQuotient(withMultiples(a, b) ?? a, b) !== undefined
  );
}

/**
 * `a` with its remainders by `b` written as `x - b * floorDiv(x, b)`, which shows that `x - mod(x, b)` is a
 * multiple of `b`. Undefined when no remainder by `b` is a term.
 */
function withMultiples(a: Dim, b: Dim): Dim | undefined {
  let shown: Dim | undefined;
  for (const { coefficient, atoms } of termsOf(a)) {
    const [atom] = atoms;
    if (atoms.length !== 1 || atom.kind !== 'mod' || !sameDim(atom.right, b)) continue;
    const remainder = subDim(atom.left, mulDim(b, floorDivDim(atom.left, b)));
    shown = addDim(shown ?? a, mulDim(coefficient, subDim(remainder, fromAtom(atom))));
  }
  return shown;
}

function dividedByZero(op: string, dim: Dim): GraphError {
  return new GraphError(`dimension ${String(dim)} is divided by zero`, { op });
}

/** The remainder of `floorDivDim`. */
export function modDim(a: Dim, b: Dim): Dim {
  if (b === 0) throw dividedByZero('modDim', a);
  if (b === 1) return 0;
  if (typeof a === 'number' && typeof b === 'number') return operations.mod(a, b);
  if (exactQuotient(a, b) !== undefined) return 0;
  const quotient = quotientBesideConstant(a, b);
  return quotient === undefined ? operation('mod', a, b) : subDim(a, mulDim(quotient, b));
}

/** Division that rounds up: for an axis of `a` elements, how many blocks of `b`. */
export function ceilDivDim(a: Dim, b: Dim): Dim {
  return floorDivDim(subDim(addDim(a, b), 1), b);
}

/** The greater of two dimensions, simplified where their bounds decide. */
export function maxDim(a: Dim, b: Dim): Dim {
  const [x, y] = ordered(a, b);
  const difference = boundsOf(subDim(x, y));
  if (difference.max <= 0) return y;
  if (difference.min >= 0) return x;
  return operation('max', x, y);
}

/** The lesser of two dimensions, simplified where their bounds decide. */
export function minDim(a: Dim, b: Dim): Dim {
  const [x, y] = ordered(a, b);
  const difference = boundsOf(subDim(x, y));
  if (difference.min >= 0) return y;
  if (difference.max <= 0) return x;
  return operation('min', x, y);
}

/** The two operands of a minimum; null for any other dimension. */
export function minimumOf(dim: Dim): { readonly left: Dim; readonly right: Dim } | null {
  const [term, ...others] = termsOf(dim);
  if (others.length > 0 || term?.coefficient !== 1 || term.atoms.length !== 1) return null;
  const [atom] = term.atoms;
  return atom.kind === 'min' ? atom : null;
}

/** Applies an operation that polynomials cannot express. */
export function applyDim(kind: DimOperation, a: Dim, b: Dim): Dim {
  return builders[kind](a, b);
}

const builders: Readonly<Record<DimOperation, (a: Dim, b: Dim) => Dim>> = {
  floorDiv: floorDivDim,
  mod: modDim,
  max: maxDim,
  min: minDim,
};

/** A non-polynomial operation as an atom; a number where the bounds leave only one value. */
function operation(kind: DimOperation, left: Dim, right: Dim): Dim {
  const key = `${kind}(${String(left)}, ${String(right)})`;
  const dim = fromAtom({ kind, key, left, right });
  const { min, max } = boundsOf(dim);
  return min === max ? min : dim;
}

/** The operands of a commutative operation in canonical order, so that equal operations have equal keys. */
function ordered(a: Dim, b: Dim): [Dim, Dim] {
  return String(a) <= String(b) ? [a, b] : [b, a];
}
