import * as e from '../language/build.js';
import { Facts } from '../analysis/facts.js';
import { Interner } from '../analysis/intern.js';
import type { BinaryExpr, BinaryOp, Const, Expr, Kernel, Var } from '../language/nodes.js';
import { binaryLane, bitcastLane, castLane, type Lane, unaryLane, UndefinedDivision } from '../language/scalar.js'; // prettier-ignore
import { children, exprMapper, mapChildren, visitNew } from '../language/visit.js';
import { conversionLaws } from './conversions.js';
import { floatLaws } from './floats.js';
import { type IndexContext, indexRules } from './indices.js';
import { integerLaws } from './integers.js';
import { type LaneRule, laneRules } from './lanes.js';
import { type ExprLaw, LawTable } from './pattern.js';

/** Every law that is a pair of patterns. */
export const laws: readonly ExprLaw[] = [...floatLaws, ...integerLaws, ...conversionLaws];
const table = new LawTable(laws);

const lanesByKind = new Map<Expr['kind'], LaneRule[]>();
for (const rule of laneRules) {
  for (const kind of rule.kinds) lanesByKind.set(kind, [...(lanesByKind.get(kind) ?? []), rule]);
}

const mirrored: Readonly<Partial<Record<BinaryOp, BinaryOp>>> = {
  add: 'add', mul: 'mul', min: 'min', max: 'max', and: 'and', or: 'or', xor: 'xor', eq: 'eq', ne: 'ne',
  lt: 'gt', le: 'ge', gt: 'lt', ge: 'le',
}; // prettier-ignore

/**
 * Simplifies expressions of one kernel. Results are interned, so equal ones are one object; each
 * distinct node is simplified once.
 */
export class ExprSimplifier {
  readonly #interner: Interner = new Interner();
  readonly facts: Facts;
  readonly #done: Map<Expr, Expr> = new Map();
  readonly #intern: (expr: Expr) => Expr;
  readonly #context: IndexContext;

  constructor(kernel: Kernel) {
    const numberOf = (expr: Expr): number => this.#interner.number(expr);
    this.facts = new Facts(numberOf, kernel.params);
    this.#intern = exprMapper((expr) => this.#interner.intern(expr));
    this.#context = { facts: this.facts, numberOf, simplify: (expr) => this.simplify(expr) };
  }

  /** From now on `variable` stands for `value`, which is simplified and always has the same worth. */
  define(variable: Var, value: Expr): void {
    this.#done.set(variable, value);
  }

  simplify(root: Expr): Expr {
    const known = this.#done.get(root);
    if (known !== undefined) return known;
    visitNew([root], this.#done, this.#visit);
    return this.#done.get(root)!;
  }

  readonly #known = (expr: Expr): Expr => this.#done.get(expr)!;

  readonly #visit = (expr: Expr): void => {
    const result = this.#settle(this.#interner.intern(mapChildren(expr, this.#known)));
    this.#done.set(expr, result);
    if (result !== expr) this.#done.set(result, result);
  };

  /** Applies rules to a node with simplified operands until none applies. */
  #settle(expr: Expr): Expr {
    const known = this.#done.get(expr);
    if (known !== undefined) return known;
    const operands = children(expr);
    if (operands.length === 0) return expr;
    const next =
      foldConstants(expr, operands) ??
      constantsRight(expr) ??
      this.#lanes(expr) ??
      table.apply(expr, operands);
    if (next !== null) return this.simplify(next);
    return this.#indices(expr);
  }

  #lanes(expr: Expr): Expr | null {
    if (expr.type.lanes === 1 && expr.kind !== 'extract') return null;
    const rules = lanesByKind.get(expr.kind);
    if (rules === undefined) return null;
    for (let i = 0; i < rules.length; i++) {
      const next = rules[i].apply(expr);
      if (next !== null) return next;
    }
    return null;
  }

  #indices(expr: Expr): Expr {
    if (expr.kind !== 'binary' && expr.kind !== 'unary') return expr;
    const operand = expr.kind === 'binary' ? expr.a : expr.x;
    if (operand.type.scalar !== 'i32' || operand.type.lanes !== 1) return expr;
    for (let i = 0; i < indexRules.length; i++) {
      const rule = indexRules[i];
      if (!rule.ops.has(expr.op)) continue;
      const next = rule.apply(expr, this.#context);
      if (next === null) continue;
      const interned = this.#intern(next);
      if (interned === expr) continue;
      // A sum in canonical order is its own simplest form; anything else may simplify further.
      if (rule.name !== 'collect-terms') return this.simplify(interned);
      this.#done.set(interned, interned);
      return interned;
    }
    return expr;
  }
}

/** An operation on constants is done now, unless it is one that must never be done. */
function foldConstants(expr: Expr, operands: readonly Expr[]): Const | null {
  for (let i = 0; i < operands.length; i++) if (operands[i].kind !== 'const') return null;
  const values = (operands as Const[]).map(({ value }) => value);
  const value = laneValue(expr, values);
  return value === null ? null : e.constant(expr.type.scalar, value, expr.type.lanes);
}

function laneValue(expr: Expr, [x, y, z]: readonly Lane[]): Lane | null {
  switch (expr.kind) {
    case 'unary':
      return unaryLane(expr.op, expr.type.scalar)(x);
    case 'cast':
      return castLane(expr.x.type.scalar, expr.type.scalar)(x);
    case 'bitcast':
      return bitcastLane(expr.x.type.scalar, expr.type.scalar)(x);
    case 'select':
      return x === 0 ? z : y;
    case 'extract':
      return x;
    case 'binary':
      try {
        return binaryLane(expr.op, expr.a.type.scalar)(x, y);
      } catch (error) {
        if (error instanceof UndefinedDivision) return null;
        throw error;
      }
    default:
      return null;
  }
}

/** f(c, x) = g(x, c) for a commutative f = g, or a comparison f and its mirror image g. */
function constantsRight(expr: Expr): BinaryExpr | null {
  if (expr.kind !== 'binary' || !isConstant(expr.a) || isConstant(expr.b)) return null;
  const op = mirrored[expr.op];
  return op === undefined ? null : e.binary(op, expr.b, expr.a);
}

const isConstant = (expr: Expr): boolean => expr.kind === 'const';
