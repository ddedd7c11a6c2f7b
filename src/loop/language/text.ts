import { unreachable } from '../../base/unreachable.js';
import type { BinaryOp, Buffer, Const, Expr, ExprType, For, Kernel, Module, Stmt, Var } from './nodes.js'; // prettier-ignore
import { children, ownExprs, visitExprs } from './visit.js';

/**
 * The loop IR as text that `parse.ts` reads back. One statement a line; `#0 = ...` lines before a
 * statement name sub-expressions that it shares, so that the text grows with the DAG, not the tree.
 */

/** Infix operators and how tightly they bind; all associate to the left. */
export const infix: Readonly<Partial<Record<BinaryOp, readonly [symbol: string, level: number]>>> =
  {
    or: ['|', 1], xor: ['^', 2], and: ['&', 3],
    eq: ['==', 4], ne: ['!=', 4], lt: ['<', 5], le: ['<=', 5], gt: ['>', 5], ge: ['>=', 5],
    shl: ['<<', 6], shr: ['>>', 6], shrU: ['>>>', 6],
    add: ['+', 7], sub: ['-', 7], mul: ['*', 8], div: ['/', 8], rem: ['%', 8],
  }; // prettier-ignore

/** Words that cannot be names. */
export const keywords: ReadonlySet<string> = new Set([
  'kernel', 'private', 'for', 'parallel', 'in', 'step', 'vector', 'unroll', 'while', 'if', 'else', 'let', 'call', 'barrier',
  'workgroups', 'workgroup_barrier', 'of',
  'true', 'false', 'nan', 'inf', 'nan_d', 'inf_d',
]); // prettier-ignore

/** Size from which a shared sub-expression is named instead of repeated. */
const worthNaming = 8;

export function moduleText(module: Module): string {
  return module.kernels.map(kernelText).join('\n');
}

export function kernelText(kernel: Kernel): string {
  const printer = new Printer();
  const params = kernel.params.map((param) =>
    param.kind === 'buffer'
      ? `${printer.name(param)}: ${param.isPrivate ? 'private ' : ''}${param.storage}[]`
      : `${printer.name(param)}: ${typeText(param.type)}`,
  );
  printer.line(`kernel ${kernel.name}(${params.join(', ')}) {`);
  printer.inside(kernel.body);
  printer.line('}');
  return printer.text;
}

/** A statement by itself, for people: names are unique within it only. */
export function stmtText(stmt: Stmt): string {
  const printer = new Printer();
  printer.statement(stmt);
  return printer.text;
}

/** An expression by itself, on one line where it shares nothing large. */
export function exprText(expr: Expr): string {
  const printer = new Printer();
  const [text] = printer.expressions([expr]);
  return printer.text + text;
}

function stepText({ step }: Pick<For, 'step'>): string {
  return step === 1 ? '' : ` step ${step}`;
}

function typeText(type: ExprType): string {
  return type.lanes === 1 ? type.scalar : `${type.scalar}x${type.lanes}`;
}

class Printer {
  text = '';
  #indent = '';
  readonly #names: Map<Var | Buffer, string> = new Map();
  readonly #taken: Set<string> = new Set(keywords);

  line(content: string): void {
    this.text += `${this.#indent}${content}\n`;
  }

  /** The name of a variable or buffer, made a word that nothing else in the kernel has. */
  name(of: Var | Buffer): string {
    let name = this.#names.get(of);
    if (name !== undefined) return name;
    const word = of.name.replace(/\W/g, '_').replace(/^(?=\d|$)/, '_');
    name = word;
    for (let i = 1; this.#taken.has(name); i++) name = `${word}_${i}`;
    this.#taken.add(name);
    this.#names.set(of, name);
    return name;
  }

  inside(body: Stmt): void {
    const outer = this.#indent;
    this.#indent += '  ';
    for (const stmt of body.kind === 'block' ? body.body : [body]) this.statement(stmt);
    this.#indent = outer;
  }

  statement(stmt: Stmt): void {
    const [x, y] = this.expressions(ownExprs(stmt));
    switch (stmt.kind) {
      case 'block':
        this.line('{');
        this.inside(stmt);
        this.line('}');
        break;
      case 'for':
        this.line(`${this.#loopHead(stmt, x, y)} {`);
        this.inside(stmt.body);
        this.line('}');
        break;
      case 'parallel': {
        const [from, to] = [this.name(stmt.from), this.name(stmt.to)];
        this.line(`parallel ${from}..${to} in ${x}..${y}${stepText(stmt)} {`);
        this.inside(stmt.body);
        this.line('}');
        break;
      }
      case 'workgroups': {
        const [group, invocation] = [this.name(stmt.group), this.name(stmt.invocation)];
        const memory = stmt.memory.map(
          ({ buffer, length }) => `${this.name(buffer)}: ${buffer.storage}[${length}]`,
        );
        this.line(`workgroups ${group}, ${invocation} in ${x} of ${stmt.size}(${memory.join(', ')}) {`); // prettier-ignore
        this.inside(stmt.body);
        this.line('}');
        break;
      }
      case 'workgroup barrier':
        this.line('workgroup_barrier');
        break;
      case 'while':
        this.line(`while (${x}) {`);
        this.inside(stmt.body);
        this.line('}');
        break;
      case 'if':
        this.line(`if (${x}) {`);
        this.inside(stmt.consequent);
        if (stmt.alternate !== null) {
          this.line('} else {');
          this.inside(stmt.alternate);
        }
        this.line('}');
        break;
      case 'declare':
        this.line(`let ${this.name(stmt.variable)} = ${x}`);
        break;
      case 'assign':
        this.line(`${this.name(stmt.variable)} = ${x}`);
        break;
      case 'store':
        this.line(`${this.name(stmt.buffer)}[${x}] = ${y}`);
        break;
      case 'call': {
        const args = this.expressions(stmt.args);
        this.line(`call ${stmt.kernel.name}(${args.join(', ')})`);
        break;
      }
      case 'barrier':
        this.line(`barrier(${this.name(stmt.meeting)}, ${x}, ${y})`);
        break;
      default:
        unreachable(stmt);
    }
  }

  #loopHead({ variable, step, mode }: For, begin: string, end: string): string {
    const prefix = mode === 'serial' ? '' : `${mode} `;
    return `${prefix}for ${this.name(variable)} in ${begin}..${end}${stepText({ step })}`;
  }

  /** The text of expressions that one statement evaluates; writes the lines they share first. */
  expressions(roots: readonly Expr[]): string[] {
    const shared = sharedIn(roots);
    const written = new Map<Expr, string>();
    const write = (expr: Expr, level: number): string =>
      written.get(expr) ?? this.#expression(expr, level, write);
    for (const expr of shared) {
      const text = write(expr, 0);
      const name = `#${written.size}`;
      this.line(`${name} = ${text}`);
      written.set(expr, name);
    }
    return roots.map((root) => write(root, 0));
  }

  #expression(expr: Expr, level: number, write: (expr: Expr, level: number) => string): string {
    const call = (f: string, ...args: readonly Expr[]): string =>
      `${f}(${args.map((arg) => write(arg, 0)).join(', ')})`;
    switch (expr.kind) {
      case 'const':
        return expr.type.lanes === 1 ? constText(expr) : `x${expr.type.lanes}(${constText(expr)})`;
      case 'var':
        return this.name(expr);
      case 'unary':
        return call(expr.op, expr.x);
      case 'binary': {
        const operator = infix[expr.op];
        if (operator === undefined) return call(expr.op, expr.a, expr.b);
        const [symbol, own] = operator;
        const text = `${write(expr.a, own)} ${symbol} ${write(expr.b, own + 1)}`;
        return own < level ? `(${text})` : text;
      }
      case 'select':
        return call('select', expr.condition, expr.a, expr.b);
      case 'cast':
        return call(expr.type.scalar, expr.x);
      case 'bitcast':
        return call(`bits_${expr.type.scalar}`, expr.x);
      case 'load':
        return `${this.name(expr.buffer)}[${write(expr.index, 0)}]`;
      case 'ramp':
        return `ramp(${write(expr.base, 0)}, ${write(expr.stride, 0)}, ${expr.type.lanes})`;
      case 'broadcast':
        return call(`x${expr.type.lanes}`, expr.x);
      case 'extract':
        return `lane(${write(expr.x, 0)}, ${expr.lane})`;
    }
  }
}

/**
 * The shared sub-expressions that get a line, operands first: those with several users whose text would be
 * long. Sizes count a named operand as one node, so the unnamed rest stays small.
 */
function sharedIn(roots: readonly Expr[]): readonly Expr[] {
  const uses = new Map<Expr, number>();
  const order: Expr[] = [];
  const use = (expr: Expr): void => void uses.set(expr, (uses.get(expr) ?? 0) + 1);
  roots.forEach(use);
  visitExprs(roots, (expr) => {
    children(expr).forEach(use);
    order.push(expr);
  });
  const sizes = new Map<Expr, number>();
  return order.filter((expr) => {
    const size = children(expr).reduce((sum, child) => sum + sizes.get(child)!, 1);
    const named = uses.get(expr)! > 1 && size >= worthNaming;
    sizes.set(expr, named ? 1 : size);
    return named;
  });
}

function constText({ type: { scalar }, value }: Const): string {
  if (typeof value === 'bigint') return `${value}L`;
  if (scalar === 'bool') return value === 0 ? 'false' : 'true';
  if (scalar === 'i32') return String(value);
  const suffix = scalar === 'f64' ? 'd' : '';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (Number.isNaN(value)) return scalar === 'f64' ? 'nan_d' : 'nan';
  if (size === Infinity) return sign + (scalar === 'f64' ? 'inf_d' : 'inf');
  const digits = scalar === 'f32' ? shortestFloat32(size) : String(size);
  return `${sign}${digits}${scalar === 'f32' && /^\d+$/.test(digits) ? '.0' : ''}${suffix}`;
}

/** The fewest digits that still read back as the same float32. */
function shortestFloat32(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}
