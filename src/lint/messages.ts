import type { NDArray } from '../front/core/ndarray.js';
import type * as operators from '../ops/index.js';

type OperatorName = {
  [K in keyof typeof operators]: (typeof operators)[K] extends { readonly declaration: unknown }
    ? K
    : never;
}[keyof typeof operators] &
  keyof NDArray;

/** Kaon's method for each of JavaScript's binary operators. */
export const binaryOperators: Readonly<Record<string, OperatorName>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod',
  '**': 'pow',
  '&': 'bitwiseAnd',
  '|': 'bitwiseOr',
  '^': 'bitwiseXor',
  '<<': 'leftShift',
  '>>': 'rightShift',
  '>>>': 'rightShift',
  '<': 'less',
  '<=': 'lessEqual',
  '>': 'greater',
  '>=': 'greaterEqual',
};

/** Method for each operator that compares objects instead of throwing. */
export const equalities: Readonly<Record<string, OperatorName>> = {
  '==': 'equal',
  '===': 'equal',
  '!=': 'notEqual',
  '!==': 'notEqual',
};

/** Replacement for each unary operator. */
export const unaryOperators: Readonly<Record<string, string>> = {
  '-': 'x.neg()',
  '~': 'x.bitwiseNot()',
  '+': 'x.item() for its one element as a number',
};

const truthy = 'an array is an object, so it is true whatever its elements are';

/** Kinds of mistakes. */
export type Message =
  | 'branch'
  | 'loop'
  | 'not'
  | 'and'
  | 'or'
  | 'convert'
  | 'binary'
  | 'concatenation'
  | 'update'
  | 'unary'
  | 'equality'
  | 'text'
  | 'refused';

export const messages: Readonly<Record<Message, string>> = {
  branch: `The condition does not depend on the elements: ${truthy}. In captured code use cond(pred, a, b) or, element by element, where(mask, a, b); outside it read the one element with x.item().`,
  loop: `The loop does not depend on the elements: ${truthy}. In captured code use whileLoop; outside it read the one element with x.item().`,
  not: `'!' of an array is always false: ${truthy}. Use x.logicalNot(), or !x.item() outside captured code.`,
  and: `'&&' after an array always goes on: ${truthy}. Use x.logicalAnd(y), or x.item() && ... outside captured code.`,
  or: `'||' after an array always stops: ${truthy}. Use x.logicalOr(y), or x.item() || ... outside captured code.`,
  convert: `Boolean of an array is always true: ${truthy}. Use x.astype('bool'), or Boolean(x.item()) outside captured code.`,
  binary: `'{{operator}}' throws on arrays. Use x.{{method}}(y).`,
  concatenation: `'{{operator}}' throws on arrays, beside text as well. Put the array into a template literal, or use x.add(y) to add.`,
  update: `'{{operator}}' throws on arrays. Use x = x.{{method}}(1).`,
  unary: `'{{operator}}' throws on arrays. Use {{instead}}.`,
  equality: `'{{operator}}' compares the identity of array objects, never their elements. Use x.{{method}}(y), or Object.is(x, y) where identity is meant.`,
  text: `The text of an array is no number, so '{{operator}}' gives NaN. Use the operators of arrays, or x.item() for the one element outside captured code.`,
  refused: `'{{construct}}' cannot become a graph: where a captured array decides about it, that is a TraceError. Put it outside of what the array decides.`,
};
