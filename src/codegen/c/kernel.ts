import { InternalError } from '../../base/errors.js';
import { unreachable } from '../../base/unreachable.js';
import { accumulationOf } from '../../loop/language/accumulation.js';
import { comparedExtremumOf } from '../../loop/language/compared-extremum.js';
import type {
  Assign, BinaryExpr, Buffer, Expr, ExprType, Kernel, Load, Ramp, Select, Stmt, Store, Var,
} from '../../loop/language/nodes.js'; // prettier-ignore
import { children, refuseRange, visitExprs } from '../../loop/language/visit.js';
import type { Helpers } from './helpers.js';
import { usedVariables } from './read.js';
import { constantText } from './scalar.js';
import { scalarTypes } from './types.js';

/** Function name of a kernel in C. */
export type NameOf = (kernel: Kernel) => string;

/**
 * Prints a kernel as a C function. It takes the memory, then its parameters; buffers are offsets into the
 * memory, as in the loop IR, so that a kernel calls others with computed addresses.
 */
export function kernelToC(kernel: Kernel, helpers: Helpers, nameOf: NameOf): string {
  if (kernel.isExternal) return externalToC(kernel, nameOf(kernel));
  return new KernelPrinter(kernel, helpers, nameOf).print();
}

/** Name of the pointer to the function that an external kernel runs, by the name of the kernel's own function. */
export function pointerName(name: string): string {
  return `${name}_given`;
}

/** An external kernel, whose parameters are numbers: it runs the function that a pointer has been set to. */
function externalToC({ params }: Kernel, name: string): string {
  const types = params.map((param) => {
    if (param.kind === 'buffer') throw new InternalError(`${name}: external kernels take numbers`);
    return scalarTypes[param.type.scalar];
  });
  const args = types.map((_, k) => `a${k}`);
  const list = types.map((type, k) => `${type} ${args[k]}`);
  return [
    `static void (*${pointerName(name)})(${types.join(', ')});`,
    `static void ${name}(${['uint8_t *memory', ...list].join(', ')}) {`,
    '  (void)memory;',
    `  ${pointerName(name)}(${args.join(', ')});`,
    '}\n',
  ].join('\n');
}

class KernelPrinter {
  readonly #kernel: Kernel;
  readonly #helpers: Helpers;
  readonly #nameOf: NameOf;
  readonly #lines: string[] = [];
  readonly #names: Map<Var | Buffer, string> = new Map();
  readonly #taken: Set<string> = new Set(['memory']);
  /** Variables and buffers that are used; others are cast to void, since compilers warn of them. */
  readonly #read: ReadonlySet<Var | Buffer>;
  #depth = 1;
  #temporaries = 0;
  /** True when the kernel accumulates products in vectors. */
  #hasSums = false;
  /** Shared subexpressions of the current statement. */
  #shared: Map<Expr, string> = new Map();

  constructor(kernel: Kernel, helpers: Helpers, nameOf: NameOf) {
    this.#kernel = kernel;
    this.#helpers = helpers;
    this.#nameOf = nameOf;
    this.#read = usedVariables(kernel);
  }

  print(): string {
    const { params, body } = this.#kernel;
    this.#line(`${this.#helpers.writesMemory()};`);
    const list = params.map((param) => {
      const name = this.#name(param);
      return param.kind === 'buffer' ? `ptrdiff_t ${name}_at` : `${this.#type(param.type)} ${name}`;
    });
    if (!params.some((param) => param.kind === 'buffer' && this.#read.has(param))) this.#line('(void)memory;'); // prettier-ignore
    for (const param of params) {
      const name = this.#name(param);
      const isBuffer = param.kind === 'buffer';
      if (!this.#read.has(param)) this.#line(`(void)${name}${isBuffer ? '_at' : ''};`);
      else if (isBuffer) this.#line(`uint8_t *const ${name} = memory + ${name}_at;`);
    }
    this.#statement(body);
    const kept = this.#hasSums ? `${this.#helpers.sumsInRegisters()} ` : '';
    const head = `${kept}static void ${this.#nameOf(this.#kernel)}(${['uint8_t *memory', ...list].join(', ')})`;
    return `${head} {\n${this.#lines.join('\n')}\n}\n`;
  }

  #line(text: string): void {
    this.#lines.push('  '.repeat(this.#depth) + text);
  }

  #braced(head: string, inside: () => void, tail = '}'): void {
    this.#line(`${head} {`);
    this.#depth++;
    inside();
    this.#depth--;
    this.#line(tail);
  }

  #statement(stmt: Stmt): void {
    switch (stmt.kind) {
      case 'block':
        return stmt.body.forEach((inner) => this.#scoped(inner));
      case 'for': {
        const [begin, end] = this.#values(stmt.begin, stmt.end);
        const index = this.#name(stmt.variable);
        const limit = this.#temporary();
        this.#line(`const int32_t ${limit} = ${end};`);
        const head = `for (int32_t ${index} = ${begin}; ${index} < ${limit}; ${index} += ${stmt.step})`;
        return this.#braced(head, () => this.#statement(stmt.body));
      }
      case 'while':
        return this.#braced('for (;;)', () => {
          const [condition] = this.#values(stmt.condition);
          this.#line(`if (!(${condition})) break;`);
          this.#statement(stmt.body);
        });
      case 'if': {
        const [condition] = this.#values(stmt.condition);
        const { consequent, alternate } = stmt;
        this.#braced(
          `if (${condition})`,
          () => this.#statement(consequent),
          alternate === null ? '}' : '} else {',
        );
        if (alternate === null) return;
        this.#depth++;
        this.#statement(alternate);
        this.#depth--;
        return this.#line('}');
      }
      case 'declare': {
        const { variable } = stmt;
        const [value] = this.#values(stmt.value);
        this.#line(`${this.#type(variable.type)} ${this.#name(variable)} = ${value};`);
        if (!this.#read.has(variable)) this.#line(`(void)${this.#name(variable)};`);
        return;
      }
      case 'assign':
        return this.#assign(stmt);
      case 'store':
        return this.#store(stmt);
      case 'call': {
        const args = this.#values(...stmt.args);
        return this.#line(`${this.#nameOf(stmt.kernel)}(${['memory', ...args].join(', ')});`);
      }
      case 'barrier': {
        if (!this.#helpers.hasThreads) return;
        const [threads] = this.#values(stmt.threads);
        return this.#line(`if (${this.#helpers.barrier()}(${this.#name(stmt.meeting)}, ${threads})) return;`); // prettier-ignore
      }
      case 'parallel':
      case 'workgroups':
      case 'workgroup barrier':
        return refuseRange(stmt);
      default:
        return unreachable(stmt);
    }
  }

  #assign(stmt: Assign): void {
    const { variable, value } = stmt;
    const name = this.#name(variable);
    const product = this.#helpers.fusesMultiplyAdd ? accumulationOf(stmt) : null;
    if (product === null) {
      const [text] = this.#values(value);
      return this.#line(`${name} = ${text};`);
    }
    const [a, b] = this.#values(product.a, product.b);
    if (variable.type.lanes > 1) this.#hasSums = true;
    const accumulate = this.#helpers.accumulate(variable.type);
    this.#line(`${name} = ${accumulate}(${a}, ${b}, ${name});`);
  }

  /** Nested blocks exist for their scopes. */
  #scoped(stmt: Stmt): void {
    if (stmt.kind !== 'block') return this.#statement(stmt);
    this.#braced('', () => this.#statement(stmt));
  }

  #store({ buffer, index, value }: Store): void {
    const name = this.#name(buffer);
    const { storage } = buffer;
    this.#share(index, value);
    const stored = this.#text(value);
    if (index.type.lanes > 1 && !isAddress(index)) {
      const scatter = this.#helpers.scatter(storage, value.type);
      return this.#line(`${scatter}(${name}, ${this.#text(index)}, ${stored});`);
    }
    const store = this.#helpers.store(storage, value.type);
    this.#line(`${store}(${name}, ${this.#address(index)}, ${stored});`);
  }

  /** Prints expressions, after declaring their common subexpressions. */
  #values(...roots: readonly Expr[]): readonly string[] {
    this.#share(...roots);
    return roots.map((root) => this.#text(root));
  }

  /** Declares the common subexpressions of one statement. */
  #share(...roots: readonly Expr[]): void {
    this.#shared = new Map();
    const uses = new Map<Expr, number>();
    visitExprs(roots, (expr) => {
      for (const child of children(expr)) uses.set(child, (uses.get(child) ?? 0) + 1);
    });
    for (const root of roots) uses.set(root, (uses.get(root) ?? 0) + 1);
    visitExprs(roots, (expr) => {
      if (expr.kind === 'const' || expr.kind === 'var' || uses.get(expr)! < 2) return;
      // A ramp that is only an address has no value to compute.
      if (isAddress(expr)) return;
      const text = this.#text(expr);
      const name = this.#temporary();
      this.#line(`const ${this.#type(expr.type)} ${name} = ${text};`);
      this.#shared.set(expr, name);
    });
  }

  #text(expr: Expr): string {
    const shared = this.#shared.get(expr);
    if (shared !== undefined) return shared;
    const { type } = expr;
    switch (expr.kind) {
      case 'const': {
        const one = constantText(type.scalar, expr.value);
        return type.lanes === 1 ? one : `${this.#helpers.splat(type)}(${one})`;
      }
      case 'var':
        return this.#name(expr);
      case 'unary':
        return `${this.#helpers.unary(expr.op, type)}(${this.#text(expr.x)})`;
      case 'binary': {
        const call = this.#binary(expr);
        return `${call}(${this.#text(expr.a)}, ${this.#text(expr.b)})`;
      }
      case 'select':
        return this.#select(expr);
      case 'cast':
        return `${this.#helpers.cast(expr.x.type, type)}(${this.#text(expr.x)})`;
      case 'bitcast':
        return `${this.#helpers.bitcast(expr.x.type, type)}(${this.#text(expr.x)})`;
      case 'load':
        return this.#load(expr);
      case 'ramp':
        return `${this.#helpers.ramp(type)}(${this.#text(expr.base)}, ${this.#text(expr.stride)})`;
      case 'broadcast':
        return `${this.#helpers.splat(type)}(${this.#text(expr.x)})`;
      case 'extract':
        return `${this.#helpers.extract(expr.x.type)}(${this.#text(expr.x)}, ${expr.lane})`;
      default:
        return unreachable(expr as never);
    }
  }

  #binary({ op, a, b, type }: BinaryExpr): string {
    const isBounded = (op === 'min' || op === 'max') && type.lanes > 1 && isBound(b);
    return isBounded ? this.#helpers.bound(op, type) : this.#helpers.binary(op, a.type, type);
  }

  #select(expr: Select): string {
    const { condition, a, b, type } = expr;
    const extremum = type.lanes > 1 ? comparedExtremumOf(expr) : null;
    if (extremum !== null) {
      const compared = this.#helpers.compared(extremum.op, type);
      if (compared !== null)
        return `${compared}(${this.#text(extremum.a)}, ${this.#text(extremum.b)})`;
    }
    if (type.lanes > 1 && condition.kind === 'binary' && !this.#shared.has(condition)) {
      const { op, a: x, b: y } = condition;
      const choice = this.#helpers.choice(op, x.type, type);
      if (choice !== null) return `${choice}(${[x, y, a, b].map((e) => this.#text(e)).join(', ')})`;
    }
    const [test, yes, no] = [condition, a, b].map((expr) => this.#text(expr));
    if (type.lanes === 1) return `(${test} ? ${yes} : ${no})`;
    return `${this.#helpers.select(type)}(${yes}, ${no}, ${test})`;
  }

  #load({ buffer, index, type }: Load): string {
    const name = this.#name(buffer);
    if (type.lanes > 1 && !isAddress(index)) {
      return `${this.#helpers.gather(buffer.storage, type)}(${name}, ${this.#text(index)})`;
    }
    return `${this.#helpers.load(buffer.storage, type)}(${name}, ${this.#address(index)})`;
  }

  /** Address of an access. */
  #address(index: Expr): string {
    return this.#distance(isAddress(index) ? index.base : index);
  }

  /**
   * An index as wide as a pointer. An index in bounds has not overflowed, so sums and products may be
   * computed without wrapping, which lets compilers fold them into addresses.
   */
  #distance(index: Expr): string {
    if (index.kind === 'const') return String(index.value);
    if (index.kind === 'binary' && !this.#shared.has(index)) {
      const sign = { add: '+', sub: '-', mul: '*' }[index.op as string];
      if (sign !== undefined)
        return `(${this.#distance(index.a)} ${sign} ${this.#distance(index.b)})`;
    }
    return `(ptrdiff_t)${this.#text(index)}`;
  }

  #type(type: ExprType): string {
    return this.#helpers.type(type);
  }

  #temporary(): string {
    return this.#fresh(`t${this.#temporaries++}`);
  }

  #name(of: Var | Buffer): string {
    let name = this.#names.get(of);
    if (name === undefined) this.#names.set(of, (name = this.#fresh(identifier(of.name))));
    return name;
  }

  /**
   * A fresh name. Names of C, of its library and of helpers neither end in an underscore nor look like
   * temporaries.
   */
  #fresh(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#taken.has(name); count++) name = `${wanted}${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** Turns a name of the loop IR, which may contain a size such as `2*n`, into an identifier. */
function identifier(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
  return `${/^[A-Za-z]/.test(plain) ? '' : 'x'}${plain}_`;
}

function isOne(expr: Expr): boolean {
  return expr.kind === 'const' && expr.value === 1;
}

/** True for a float constant that is neither NaN nor zero. */
function isBound(expr: Expr): boolean {
  if (expr.kind !== 'const' || expr.type.scalar[0] !== 'f') return false;
  return !Number.isNaN(Number(expr.value)) && Number(expr.value) !== 0;
}

/** True for a ramp with stride 1: the address of contiguous lanes. */
function isAddress(expr: Expr): expr is Ramp {
  return expr.kind === 'ramp' && isOne(expr.stride);
}
