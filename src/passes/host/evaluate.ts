import { type Dim, type DimBindings, evaluateDim, substituteDim } from '../../base/dim/index.js';
import { inContext } from '../../base/errors.js';
import type { CallNode } from '../../ir/program.js';
import { textOfWords, wordsOver } from '../../ir/requirement.js';
import type { HostSite, ZeroTest } from './statements.js';

/*
 * The integers of a routine, and errors at its sites, as an interpreter evaluates them: functions of what the names
 * stand for. What no run changes is computed when they are made.
 */

export type DimEvaluator<T> = (names: DimBindings) => T;

export function dimEvaluator(dim: Dim): DimEvaluator<number> {
  return typeof dim === 'number' ? () => dim : (names) => evaluateDim(dim, names);
}

export function testEvaluator({ dim, relation }: ZeroTest): DimEvaluator<boolean> {
  const value = dimEvaluator(dim);
  return relation === '=' ? (names) => value(names) === 0 : (names) => value(names) >= 0;
}

export function shapeEvaluator(shape: readonly Dim[]): DimEvaluator<readonly number[]> {
  const numbers = shape.filter((dim) => typeof dim === 'number');
  if (numbers.length === shape.length) return () => numbers;
  return (names) => shape.map((dim) => evaluateDim(dim, names));
}

export function lengthEvaluator(shape: readonly Dim[]): DimEvaluator<number> {
  const at = shapeEvaluator(shape);
  return (names) => at(names).reduce((product, extent) => product * extent, 1);
}

/** An error inside of a loop or branch, told by the call that owns it. */
export function errorWithin(error: unknown, { where, call }: HostSite, names: DimBindings): Error {
  const words = wordsOver(where, (dim) => substituteDim(dim, names));
  return inContext(error, textOfWords(words), detailsOf(call));
}

/** The operator and the line of a call, for errors. */
export function detailsOf({ op, source }: CallNode): { op: string; source: string | undefined } {
  return { op: op.name, source };
}
