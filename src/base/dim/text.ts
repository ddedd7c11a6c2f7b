import { GraphError } from '../errors.js';
import type { Bounds, Dim, DimOperation } from './expression.js';
import { operations } from './fold.js';
import { applyDim } from './operations.js';
import { addDim, mulDim, subDim } from './polynomial.js';
import { symbol } from './symbol.js';

/** Deeper nesting in the text of a dimension is refused rather than risk the stack. */
const deepest = 100;

/** Reads what `String(dim)` wrote. `bounds` gives the ranges of names; others are unbounded. */
export function parseDim(text: string, bounds: ReadonlyMap<string, Bounds> = new Map()): Dim {
  const tokens = text.match(/[A-Za-z_][A-Za-z0-9_]*|\d+|[-+*(),]|\S/g) ?? [];
  let at = 0;
  const fail = (): never => {
    throw new GraphError('not a dimension', {
      expected: 'a name, a number, or what String(dim) wrote',
      actual: JSON.stringify(text.slice(0, 200)),
    });
  };
  const expect = (token: string): void => {
    if (tokens[at++] !== token) fail();
  };
  let depth = 0;
  const atom = (): Dim => {
    if (++depth > deepest) return fail();
    const value = atomInside();
    depth--;
    return value;
  };
  const atomInside = (): Dim => {
    const token = tokens[at++];
    if (token === undefined) return fail();
    if (token === '-') return mulDim(-1, atom());
    if (/^\d/.test(token)) return Number.isSafeInteger(Number(token)) ? Number(token) : fail();
    if (!/^[A-Za-z_]/.test(token)) return fail();
    if (!Object.hasOwn(operations, token)) return symbol(token, bounds.get(token));
    expect('(');
    const left = sum();
    expect(',');
    const right = sum();
    expect(')');
    return applyDim(token as DimOperation, left, right);
  };
  const product = (): Dim => {
    let value = atom();
    while (tokens[at] === '*') {
      at++;
      value = mulDim(value, atom());
    }
    return value;
  };
  const sum = (): Dim => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-') {
      value = tokens[at++] === '+' ? addDim(value, product()) : subDim(value, product());
    }
    return value;
  };
  const dim = sum();
  return at === tokens.length ? dim : fail();
}
