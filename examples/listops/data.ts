import { type Draw } from '../support/random.js';

/** The symbols of an expression: ten digits, four operators that open a list, and what closes it. */
export const symbols: readonly string[] = [...'0123456789', '[MIN', '[MAX', '[MED', '[SM', ']'];

const operators: readonly ((values: readonly number[]) => number)[] = [
  (values) => Math.min(...values),
  (values) => Math.max(...values),
  (values) => {
    const sorted = values.toSorted((a, b) => a - b);
    const middle = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
    return Math.floor(middle);
  },
  (values) => values.reduce((a, b) => a + b) % 10,
];
const firstOperator = 10;
const closing = symbols.length - 1;

/** A binary tree over symbols, which are given by their indices. */
export type Tree = number | readonly [left: Tree, right: Tree];

/** An expression, parsed, and the digit that it stands for. */
export interface Expression {
  readonly tree: Tree;
  readonly value: number;
}

export interface ListopsRules {
  /** How deep lists are nested at most. */
  readonly depth: number;
  /** How many arguments a list has at most; it has two at least. */
  readonly longest: number;
}

/**
 * An expression such as `[MAX 2 9 [MIN 4 7 ] 0 ]`, which is 9. A list takes 2 to `longest` arguments,
 * MIN, MAX, the median rounded down, or the sum modulo 10, all equally likely. An argument is a list with
 * probability 1/4 as long as the depth allows it, otherwise a digit; the outermost is always a list. The
 * parse is the published one, which applies an operator to one argument after the other and to the
 * closing bracket at last: `(((([MAX 2) 9) ...) ])`.
 *
 * Source: Nangia and Bowman, ListOps: A Diagnostic Dataset for Latent Tree Learning, NAACL 2018, where
 * the depth is 20 at most and there are up to 5 arguments.
 */
export function drawExpression(draw: Draw, { depth, longest }: ListopsRules): Expression {
  const list = (level: number): Expression => {
    const operator = draw(0, operators.length - 1);
    const values: number[] = [];
    let tree: Tree = firstOperator + operator;
    for (let left = draw(2, longest); left > 0; left--) {
      const argument = level < depth && draw(1, 4) === 1 ? list(level + 1) : digit();
      values.push(argument.value);
      tree = [tree, argument.tree];
    }
    return { tree: [tree, closing], value: operators[operator](values) };
  };
  const digit = (): Expression => {
    const value = draw(0, 9);
    return { tree: value, value };
  };
  return list(1);
}

/** The symbols of an expression in reading order. */
export function symbolsOf(tree: Tree): readonly number[] {
  return typeof tree === 'number' ? [tree] : tree.flatMap(symbolsOf);
}

/** An expression as it is written. */
export function textOf(tree: Tree): string {
  return symbolsOf(tree)
    .map((symbol) => symbols[symbol])
    .join(' ');
}
