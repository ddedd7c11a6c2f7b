import { bitsOf, sameBits } from '../../ir/bits.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { type ConstantData, sameType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { callOf } from '../../ops/declare/law.js';
import { logicalNot } from '../../ops/elementwise/logic.js';
import { where } from '../../ops/elementwise/selection.js';
import type { Evaluate } from '../rewrite/pass.js';

/* Choices between two known numbers by a predicate, all of rank 0: how the paths of a branch have ended. */

/** `where(condition, a, b)` of two constants of one type; the condition or its negation where it is that. */
export function choiceOf(condition: Value, a: ConstantData, b: ConstantData, into: Program): Value {
  if (isSame(a, b)) return into.constant(a);
  if (a.type.dtype === 'bool') return Number(a.data[0]) === 1 ? condition : logicalNot(condition);
  return where(condition, into.constant(a), into.constant(b));
}

export function isSame(a: ConstantData, b: ConstantData): boolean {
  return sameType(a.type, b.type) && sameBits(bitsOf(a.data), bitsOf(b.data));
}

/** True for calls that `throughChoice` may replace. */
export function mayBeOfChoice({ op, types }: CallNode): boolean {
  return (
    declarationOf(op).lowering.kind === 'point' && types.length === 1 && types[0].shape.length === 0
  );
}

/**
 * An elementwise call of constants and choices by one condition, as a choice of what it gives of either:
 * `where(p, 1, 2) == 2` is `not p`. Undefined for other calls.
 */
export function throughChoice(
  node: CallNode,
  operands: readonly Value[],
  into: Program,
  evaluate: Evaluate,
): Value | undefined {
  let condition: Value | null = null;
  const sides: [ConstantData[], ConstantData[]] = [[], []];
  for (const operand of operands) {
    const chosen = callOf(operand, where)?.inputs;
    if (chosen !== undefined) {
      if (condition !== null && condition !== chosen[0]) return undefined;
      [condition] = chosen;
    }
    const pair = chosen?.slice(1) ?? [operand, operand];
    for (const [k, value] of pair.entries()) {
      const found = into.node(value.node);
      if (found.kind !== 'constant') return undefined;
      sides[k].push(found.data);
    }
  }
  if (condition === null || condition.type.shape.length > 0) return undefined;
  const [a, b] = sides.map((data) => evaluate(node, data)?.[0]);
  return a === undefined || b === undefined ? undefined : choiceOf(condition, a, b, into);
}
