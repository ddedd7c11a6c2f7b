import { accumulationOf } from '../../loop/language/accumulation.js';
import type {
  Assign, Binary, Buffer, Expr, ExprType, Kernel, Load, Ramp, Stmt, Store, Var,
} from '../../loop/language/nodes.js'; // prettier-ignore
import { children, unreachable, visitExprs } from '../../loop/language/visit.js';
import type { Helpers } from './helpers.js';
import { readIn } from './read.js';
import { constantText } from './scalar.js';

/** What a kernel is called in C. */
export type NameOf = (kernel: Kernel) => string;

/**
 * A kernel as a C function. It gets the memory, then its parameters; those for buffers are offsets into
 * the memory, as in the loop IR, so that a kernel calls others with addresses that it has worked out.
 */
export function kernelText(kernel: Kernel, helpers: Helpers, nameOf: NameOf): string {
  return new KernelPrinter(kernel, helpers, nameOf).print();
}

class KernelPrinter {
  readonly #kernel: Kernel;
  readonly #helpers: Helpers;
  readonly #nameOf: NameOf;
  readonly #lines: string[] = [];
  readonly #names: Map<Var | Buffer, string> = new Map();
  readonly #taken: Set<string> = new Set(['memory']);
  /** Compilers warn of the others. */
  readonly #read: ReadonlySet<Var | Buffer>;
  #depth = 1;
  #temporaries = 0;
  /** Whether it adds products to vectors of sums. */
  #hasSums = false;
  /** The shared parts of the present statement. */
  #shared: Map<Expr, string> = new Map();

  constructor(kernel: Kernel, helpers: Helpers, nameOf: NameOf) {
    this.#kernel = kernel;
    this.#helpers = helpers;
    this.#nameOf = nameOf;
    this.#read = readIn(kernel);
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

  /** Nested blocks are there for their scopes. */
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

  /** The texts of expressions; what they share is computed first. */
  #values(...roots: readonly Expr[]): readonly string[] {
    this.#share(...roots);
    return roots.map((root) => this.#text(root));
  }

  /** Computes what expressions of one statement share. */
  #share(...roots: readonly Expr[]): void {
    this.#shared = new Map();
    const uses = new Map<Expr, number>();
    visitExprs(roots, (expr) => {
      for (const child of children(expr)) uses.set(child, (uses.get(child) ?? 0) + 1);
    });
    for (const root of roots) uses.set(root, (uses.get(root) ?? 0) + 1);
    visitExprs(roots, (expr) => {
      if (expr.kind === 'const' || expr.kind === 'var' || uses.get(expr)! < 2) return;
      // Behind a ramp that is only an address there is no value.
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
        return this.#select(expr.condition, expr.a, expr.b, type);
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

  #binary({ op, a, b, type }: Binary): string {
    const isBounded = (op === 'min' || op === 'max') && type.lanes > 1 && isBound(b);
    return isBounded ? this.#helpers.bound(op, type) : this.#helpers.binary(op, a.type, type);
  }

  #select(condition: Expr, a: Expr, b: Expr, type: ExprType): string {
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

  /** Where an access begins. */
  #address(index: Expr): string {
    return this.#distance(isAddress(index) ? index.base : index);
  }

  /**
   * An index as wide as a pointer. What is in bounds has not overflowed on the way, so that sums and
   * products may be taken without wrapping around, which lets compilers fold them into addresses.
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

  /** Names of C, of its library and of helpers neither end in an underscore nor look like temporaries. */
  #fresh(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#taken.has(name); count++) name = `${wanted}${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** Names of the loop IR may hold sizes, such as `2*n`. */
function identifier(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
  return `${/^[A-Za-z]/.test(plain) ? '' : 'x'}${plain}_`;
}

function isOne(expr: Expr): boolean {
  return expr.kind === 'const' && expr.value === 1;
}

/** Whether a value is surely a float that is neither NaN nor zero. */
function isBound(expr: Expr): boolean {
  if (expr.kind !== 'const' || expr.type.scalar[0] !== 'f') return false;
  return !Number.isNaN(Number(expr.value)) && Number(expr.value) !== 0;
}

/** A ramp by one is the address of lanes side by side. */
function isAddress(expr: Expr): expr is Ramp {
  return expr.kind === 'ramp' && isOne(expr.stride);
}
