import { isFloat } from '../../base/dtype.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { logicalAnd, logicalNot, logicalOr } from '../../ops/elementwise/logic.js';
import { where } from '../../ops/elementwise/selection.js';

/*
 * Single numbers that a branch chooses, such as the counter and the test of a loop behind a `break`: a selection costs
 * less than a branch, also where it computes what the other path needs.
 */

/** Calls of each path that are computed whichever is taken. */
const mostCalls = 4;

/**
 * A result of both paths as a selection of a number by the predicate; null where that is none, or not worth it. What
 * the paths compute for it are integers and bools, which no gradient flows through.
 */
export function selection(
  results: readonly [Value, Value],
  predicate: Value,
  captures: readonly Value[],
  into: Program,
): Value | null {
  const isNumber = [predicate, ...results].every(({ type }) => type.shape.length === 0);
  if (!isNumber || !results.every((value) => isCheap(value))) return null;
  const [a, b] = results.map((value) => outside(value, captures, into));
  if (a.type.dtype !== 'bool') return where(predicate, a, b);
  const [one, other] = [truthOf(a), truthOf(b)];
  if (one !== null) return one ? logicalOr(predicate, b) : logicalAnd(logicalNot(predicate), b);
  if (other !== null) return other ? logicalOr(logicalNot(predicate), a) : logicalAnd(predicate, a);
  return where(predicate, a, b);
}

/** True for a value of a path that costs at most a few operations on single integers. */
function isCheap(value: Value): boolean {
  let calls = 0;
  const check = ({ program, node: id }: Value): boolean => {
    const node = program.node(id);
    if (node.kind === 'check') return false;
    if (node.kind !== 'call') return true;
    return ++calls <= mostCalls && isCheapCall(node) && program.operands(id).every(isInteger) && program.operands(id).every(check); // prettier-ignore
  };
  return check(value);
}

function isCheapCall({ op, types }: CallNode): boolean {
  const { lowering, check } = declarationOf(op);
  const isPoint = lowering.kind === 'point' && check === undefined;
  return isPoint && types.length === 1 && types.every((type) => isInteger({ type }));
}

function isInteger({ type: { dtype, shape } }: Pick<Value, 'type'>): boolean {
  return shape.length === 0 && !isFloat(dtype);
}

/** A value of a path as one of the program around. */
function outside(value: Value, captures: readonly Value[], into: Program): Value {
  const { program, node: id } = value;
  const node = program.node(id);
  if (node.kind === 'constant') return into.constant(node.data);
  if (node.kind !== 'call') return captures[program.inputs.indexOf(value)];
  const operands = program.operands(id).map((each) => outside(each, captures, into));
  return into.appendTyped(node.op, operands, node.attributes, node.types, node)[0];
}

/** A constant bool; null for others. */
function truthOf({ program, node: id }: Value): boolean | null {
  const node = program.node(id);
  return node.kind === 'constant' ? Number(node.data.data[0]) === 1 : null;
}
