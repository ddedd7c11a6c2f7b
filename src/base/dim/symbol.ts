import { ArgumentError } from '../errors.js';
import { type Bounds, type Dim, type DimExpr, fromAtom, termsOf } from './expression.js';
import { fold, operations } from './fold.js';
import { applyDim } from './operations.js';
import { addDim, mulDim } from './polynomial.js';

const defaultBounds: Bounds = { min: 0, max: Infinity };

/** A value in an error message. Local, because `describe` of attributes depends on dimensions. */
function shown(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string'
    ? JSON.stringify(value.slice(0, 100))
    : `a value of type ${typeof value}`;
}

/**
 * A named dimension with inclusive bounds; by default 0 or more elements. The same name in one program means
 * the same size. `ArgumentError` for a name that is not an identifier, and for bounds that are not a range of
 * sizes.
 */
export function symbol(name: string, bounds: Partial<Bounds> = {}): DimExpr {
  const isName = typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
  if (!isName || Object.hasOwn(operations, name)) {
    throw new ArgumentError('not a name for a dimension', {
      op: 'dim',
      expected: 'a letter or underscore, then letters, digits or underscores',
      actual: shown(name),
    });
  }
  const { min, max } = { ...defaultBounds, ...bounds };
  const areSizes = Number.isSafeInteger(min) && (max === Infinity || Number.isSafeInteger(max));
  if (!(areSizes && min >= 0 && max >= min)) {
    throw new ArgumentError(`the bounds of dimension ${name} are not a range of sizes`, {
      op: 'dim',
      expected: 'whole numbers, 0 <= min <= max; max may be Infinity',
      actual: `min ${shown(min)}, max ${shown(max)}`,
    });
  }
  return fromAtom({ kind: 'symbol', key: name, name, bounds: { min, max } });
}

/** The names a dimension depends on, added to `names`. */
export function symbolsOf(dim: Dim, names: Set<string> = new Set()): Set<string> {
  for (const name of symbolTable(dim).keys()) names.add(name);
  return names;
}

/** The symbols a dimension depends on with their ranges, added to `table`. */
export function symbolTable(dim: Dim, table: Map<string, Bounds> = new Map()): Map<string, Bounds> {
  for (const term of termsOf(dim)) {
    for (const atom of term.atoms) {
      if (atom.kind === 'symbol') table.set(atom.name, atom.bounds);
      else {
        symbolTable(atom.left, table);
        symbolTable(atom.right, table);
      }
    }
  }
  return table;
}

/** Replaces symbols by other dimensions; names without an entry stay. */
export function substituteDim(dim: Dim, replacements: ReadonlyMap<string, Dim>): Dim {
  if (typeof dim === 'number') return dim;
  return fold<Dim>(dim, {
    constant: (value) => value,
    symbol: (name, bounds) => replacements.get(name) ?? symbol(name, bounds),
    add: addDim,
    mul: mulDim,
    operation: applyDim,
  });
}
