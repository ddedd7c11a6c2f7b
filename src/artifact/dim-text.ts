import { type Dim, type DimOperation, fold } from '../base/dim/index.js';

/** Syntax of sizes in a language. */
export interface DimStyle {
  constant(value: number): string;
  symbol(name: string): string;
  operation(kind: DimOperation, a: string, b: string): string;
}

/** A size as an expression. */
export function dimText(dim: Dim, style: DimStyle): string {
  return fold<string>(dim, {
    constant: style.constant,
    symbol: style.symbol,
    add: (a, b) => `${a} + ${b}`,
    // Factors are numbers, names and calls; only a sum inside of a call has more than one term.
    mul: (a, b) => `${a} * ${b}`,
    operation: style.operation,
  });
}
