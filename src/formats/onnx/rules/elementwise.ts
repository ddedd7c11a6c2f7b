import { boundsOf, isMultipleOf, isStatic } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import { atLeast, requireOrKeep, words } from '../../../ir/requirement.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode, ImportRule } from '../node.js';
import { logicalShift, ordered, truncated, wrappedInteger } from './carriers.js';
import { anyElement, rule, type ImportRules, unaryRule } from './rule.js';

/** Binary arithmetic, wrapped to the range of the element type. */
function arithmetic(f: (a: Value, b: Value, node: ImportedNode) => Value): ImportRule {
  return anyElement((node) => {
    const [a, b] = aligned(node);
    return node.like(0, wrappedInteger(node.element(0), f(a, b, node)));
  });
}

/** The operands of a binary operator; before opset 7 an attribute aligns the second to an axis. */
function aligned(node: ImportedNode): readonly [Value, Value] {
  const [a, b] = [node.value(0), node.value(1)];
  const axis = node.version < 7 ? node.attributes.int('axis', null) : null;
  if (axis === null) return [a, b];
  const trailing = a.type.shape.length - node.axis(axis, a.type.shape.length) - b.type.shape.length;
  if (trailing <= 0) return [a, b];
  return [a, ops.reshape(b, [...b.type.shape, ...Array.from({ length: trailing }, () => 1)])];
}

function comparison(f: (a: Value, b: Value) => Value): ImportRule {
  return anyElement((node) => {
    const [a, b] = aligned(node);
    return f(ordered(node.element(0), a), ordered(node.element(1), b));
  });
}

function logical(f: (a: Value, b: Value) => Value): ImportRule {
  return rule((node) => f(...aligned(node)));
}

/** Reduces any number of operands pairwise. */
function variadic(f: (a: Value, b: Value) => Value): ImportRule {
  return anyElement((node) => {
    const element = node.element(0);
    const [first, ...others] = node.values();
    return node.like(
      0,
      others.reduce((a, b) => wrappedInteger(element, f(a, b)), first),
    );
  });
}

/** Extremum of values whose carriers may have another order. */
function extremum(
  f: (a: Value, b: Value) => Value,
  isBetter: (a: Value, b: Value) => Value,
): ImportRule {
  return anyElement((node) => {
    const element = node.element(0);
    const [first, ...others] = node.values();
    const best = others.reduce(
      (a, b) =>
        element.name === 'uint64'
          ? ops.where(isBetter(ordered(element, a), ordered(element, b)), a, b)
          : f(a, b),
      first,
    );
    return node.like(0, best);
  });
}

/** Integer division truncates. */
function quotient(a: Value, b: Value, node: ImportedNode): Value {
  if (isFloat(a.type.dtype)) return ops.div(a, b);
  return dividesSizes(node) ? ops.floorDivide(a, b) : truncated(node.element(0), a, b).quotient;
}

/**
 * True when sizes are divided by one number, so that the quotient is a size. A run requires that none is
 * negative: then truncation equals floor.
 */
function dividesSizes(node: ImportedNode): boolean {
  const [sizes, [divisor, ...others] = []] = [node.operand(0).known, node.operand(1).known ?? []];
  if (sizes === null || sizes.every(isStatic) || others.length > 0) return false;
  if (divisor === undefined || boundsOf(divisor).min < 1) return false;
  const { program } = node.region;
  const require = requireOrKeep((requirement) => program.require(requirement));
  for (const size of sizes) {
    if (isMultipleOf(size, divisor)) continue;
    require(atLeast(size, 0), () => ({
      op: 'fromOnnx',
      problem: words`${node.title} divides a size that is negative`,
      expected: words`0 or more`,
      actual: words`${size}`,
      source: node.place,
    }));
  }
  return true;
}

/** With `fmod` the remainder has the sign of the dividend, otherwise that of the divisor. */
function remainder(a: Value, b: Value, node: ImportedNode): Value {
  if (node.element(0).name === 'uint64') return truncated(node.element(0), a, b).rest;
  if (!node.attributes.flag('fmod')) return ops.mod(a, b);
  return isFloat(a.type.dtype) ? ops.fmod(a, b) : truncated(node.element(0), a, b).rest;
}

/** The result has the dtype of the base. */
function power(node: ImportedNode): Value {
  const [a, b] = aligned(node);
  const { dtype } = a.type;
  if (a.type.dtype === b.type.dtype) return ops.pow(a, b);
  if (isFloat(dtype)) return ops.pow(a, ops.cast(b, dtype));
  if (isFloat(b.type.dtype)) {
    return ops.cast(ops.pow(ops.cast(a, 'float64'), ops.cast(b, 'float64')), dtype);
  }
  return ops.cast(ops.pow(ops.cast(a, 'int64'), ops.cast(b, 'int64')), dtype);
}

function shifted(node: ImportedNode): Value {
  const [x, by] = [node.value(0), node.value(1)];
  const element = node.element(0);
  const direction = node.attributes.string('direction', '');
  if (direction === 'LEFT') return wrappedInteger(element, ops.leftShift(x, by));
  if (direction !== 'RIGHT') throw node.refuse('no direction', 'LEFT or RIGHT', direction);
  return element.name === 'uint64' ? logicalShift(x, by) : ops.rightShift(x, by);
}

/** Clip: bounds are attributes before opset 11, operands since; either may be absent. */
function clipped(node: ImportedNode): Value {
  const x = node.value(0);
  const bound = (name: string, index: number): Value | null => {
    if (node.has(index)) return ops.reshape(node.value(index), []);
    const given = node.version < 11 ? node.attributes.float(name, null) : null;
    return given === null ? null : node.scalar(given, x.type.dtype);
  };
  return ops.clip(x, bound('min', 1), bound('max', 2));
}

export const elementwiseRules: ImportRules = {
  Add: arithmetic((a, b) => ops.add(a, b)),
  Sub: arithmetic((a, b) => ops.sub(a, b)),
  Mul: arithmetic((a, b) => ops.mul(a, b)),
  Div: arithmetic(quotient),
  Mod: arithmetic(remainder),
  Pow: anyElement((node) => node.like(0, power(node))),
  Sum: variadic((a, b) => ops.add(a, b)),
  Mean: rule((node) => {
    const all = node.values();
    return ops.div(
      all.reduce((a, b) => ops.add(a, b)),
      all.length,
    );
  }),
  Max: extremum(
    (a, b) => ops.maximum(a, b),
    (a, b) => ops.greater(a, b),
  ),
  Min: extremum(
    (a, b) => ops.minimum(a, b),
    (a, b) => ops.less(a, b),
  ),
  Equal: comparison((a, b) => ops.equal(a, b)),
  Less: comparison((a, b) => ops.less(a, b)),
  LessOrEqual: comparison((a, b) => ops.lessEqual(a, b)),
  Greater: comparison((a, b) => ops.greater(a, b)),
  GreaterOrEqual: comparison((a, b) => ops.greaterEqual(a, b)),
  And: logical((a, b) => ops.logicalAnd(a, b)),
  Or: logical((a, b) => ops.logicalOr(a, b)),
  Xor: logical((a, b) => ops.logicalXor(a, b)),
  Not: unaryRule((x) => ops.logicalNot(x)),
  BitwiseAnd: arithmetic((a, b) => ops.bitwiseAnd(a, b)),
  BitwiseOr: arithmetic((a, b) => ops.bitwiseOr(a, b)),
  BitwiseXor: arithmetic((a, b) => ops.bitwiseXor(a, b)),
  BitwiseNot: anyElement((node) =>
    node.like(0, wrappedInteger(node.element(0), ops.bitwiseNot(node.value(0)))),
  ),
  BitShift: anyElement((node) => node.like(0, shifted(node))),
  Where: anyElement((node) => node.like(1, ops.where(node.value(0), node.value(1), node.value(2)))),
  Clip: rule(clipped),
  Abs: unaryRule((x) => ops.abs(x)),
  Neg: unaryRule((x) => ops.neg(x)),
  Sign: unaryRule((x) => ops.sign(x)),
  Reciprocal: unaryRule((x) => ops.reciprocal(x)),
  Sqrt: unaryRule((x) => ops.sqrt(x)),
  Exp: unaryRule((x) => ops.exp(x)),
  Log: unaryRule((x) => ops.log(x)),
  Floor: unaryRule((x) => ops.floor(x)),
  Ceil: unaryRule((x) => ops.ceil(x)),
  Round: unaryRule((x) => ops.round(x)),
  Erf: unaryRule((x) => ops.erf(x)),
  Sin: unaryRule((x) => ops.sin(x)),
  Cos: unaryRule((x) => ops.cos(x)),
  Tan: unaryRule((x) => ops.tan(x)),
  Asin: unaryRule((x) => ops.asin(x)),
  Acos: unaryRule((x) => ops.acos(x)),
  Atan: unaryRule((x) => ops.atan(x)),
  Sinh: unaryRule((x) => ops.sinh(x)),
  Cosh: unaryRule((x) => ops.cosh(x)),
  Tanh: unaryRule((x) => ops.tanh(x)),
  Asinh: unaryRule((x) => ops.asinh(x)),
  Acosh: unaryRule((x) => ops.acosh(x)),
  Atanh: unaryRule((x) => ops.atanh(x)),
  IsNaN: unaryRule((x) => ops.isNaN(x)),
  IsInf: rule((node) => {
    const x = node.value(0);
    const above = node.attributes.flag('detect_positive', true);
    const below = node.attributes.flag('detect_negative', true);
    if (above && below) return ops.isInf(x);
    const side = above ? ops.greater(x, 0) : ops.less(x, 0);
    const isWanted = above || below ? side : ops.notEqual(x, x);
    return ops.logicalAnd(ops.isInf(x), isWanted);
  }),
};
