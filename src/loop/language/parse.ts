import { FormatError } from '../../base/errors.js';
import * as e from './build.js';
import type { BinaryOp, Buffer, Expr, ExprType, For, Kernel, Module, Scalar, Stmt, ElementKind, UnaryOp, Var } from './nodes.js'; // prettier-ignore
import { unaryOps } from './scalar.js';
import { infix, keywords } from './text.js';

/** Parses the text of `moduleText`. A `FormatError` names the line that is invalid. */
export function parseModule(text: string): Module {
  return new Parser(text).module();
}

/** One kernel that calls no other. */
export function parseKernel(text: string): Kernel {
  const { kernels } = parseModule(text);
  if (kernels.length !== 1)
    throw new FormatError(`expected one kernel, found ${kernels.length}`, { op: 'parseKernel' });
  return kernels[0];
}

const token =
  /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[Ld]?)|([A-Za-z_]\w*)|(#\d+)|(\.\.|>>>|<<|>>|[=!<>]=|[-+*/%&|^<>=(){}[\],:]))/y;
const scalars: ReadonlySet<string> = new Set<Scalar>(['f32', 'f64', 'i32', 'i64', 'bool']);
const storages: ReadonlySet<string> = new Set<ElementKind>([
  'f32', 'f64', 'i32', 'i64', 'i8', 'u8', 'u16',
]); // prettier-ignore
const unaries: ReadonlySet<string> = new Set(Object.values(unaryOps).flatMap((ops) => [...ops]));
const modes: ReadonlySet<string> = new Set<For['mode']>(['vector', 'unroll']);
const operators: ReadonlyMap<string, readonly [BinaryOp, number]> = new Map(
  Object.entries(infix).map(([op, [symbol, level]]) => [symbol, [op as BinaryOp, level]]),
);

class Parser {
  readonly #text: string;
  #at = 0;
  #next = '';
  readonly #kernels: Map<string, Kernel> = new Map();
  #names: Map<string, Var | Buffer> = new Map();
  #shared: Map<string, Expr> = new Map();

  constructor(text: string) {
    this.#text = text;
    this.#advance();
  }

  module(): Module {
    while (this.#next !== '') {
      const kernel = this.#kernel();
      if (this.#kernels.has(kernel.name)) this.#refuse(`a second kernel ${kernel.name}`);
      this.#kernels.set(kernel.name, kernel);
    }
    return e.moduleOf([...this.#kernels.values()]);
  }

  #kernel(): Kernel {
    this.#names = new Map();
    this.#expect('kernel');
    const name = this.#word();
    this.#expect('(');
    const params = this.#list(')', () => {
      const param = this.#word();
      this.#expect(':');
      const isPrivate = this.#skip('private');
      const type = this.#take();
      if (this.#skip('[')) {
        this.#expect(']');
        if (!storages.has(type)) this.#refuse(`storage ${type}`);
        return this.#bind(e.buffer(param, type as ElementKind, { isPrivate }));
      }
      if (isPrivate) this.#refuse(`a private ${type}`);
      const { scalar, lanes } = this.#type(type);
      return this.#bind(e.variable(param, scalar, lanes));
    });
    return e.kernel(name, params, this.#body());
  }

  #type(text: string): ExprType {
    const [, scalar, lanes] = /^([a-z]+\d*?)(?:x(\d+))?$/.exec(text) ?? [];
    if (!scalars.has(scalar)) this.#refuse(`type ${text}`);
    return e.exprType(scalar as Scalar, Number(lanes ?? 1));
  }

  #body(): Stmt {
    this.#expect('{');
    const statements: Stmt[] = [];
    const outer = new Map(this.#names);
    while (!this.#skip('}')) statements.push(this.#statement());
    this.#names = outer;
    return e.block(...statements);
  }

  #statement(): Stmt {
    while (this.#next.startsWith('#')) {
      const name = this.#take();
      this.#expect('=');
      this.#shared.set(name, this.#expr());
    }
    if (this.#next === '{') return this.#body();
    if (this.#skip('let')) {
      const name = this.#word();
      this.#expect('=');
      const value = this.#expr();
      const { scalar, lanes } = value.type;
      return e.declare(this.#bind(e.variable(name, scalar, lanes)), value);
    }
    if (modes.has(this.#next)) {
      const mode = this.#take() as For['mode'];
      this.#expect('for');
      return this.#loop(mode);
    }
    if (this.#skip('for')) return this.#loop('serial');
    if (this.#skip('parallel')) return this.#parallel();
    if (this.#skip('workgroups')) return this.#workgroups();
    if (this.#skip('workgroup_barrier')) return e.workgroupBarrier;
    if (this.#skip('while')) return e.whileLoop(this.#condition(), this.#body());
    if (this.#skip('if')) {
      const condition = this.#condition();
      const consequent = this.#body();
      return e.ifThen(condition, consequent, this.#skip('else') ? this.#body() : null);
    }
    if (this.#skip('call')) return this.#call();
    if (this.#skip('barrier')) return this.#barrier();
    const place = this.#named();
    if (place.kind === 'buffer') {
      this.#expect('[');
      const index = this.#expr();
      this.#expect(']');
      this.#expect('=');
      return e.store(place, index, this.#expr());
    }
    this.#expect('=');
    return e.assign(place, this.#expr());
  }

  #loop(mode: For['mode']): Stmt {
    const name = this.#word();
    this.#expect('in');
    const begin = this.#expr();
    this.#expect('..');
    const end = this.#expr();
    const step = this.#skip('step') ? Number(this.#take()) : 1;
    const outer = new Map(this.#names);
    const body = (index: Var): Stmt => {
      this.#bind(index);
      return this.#body();
    };
    const loop = e.forLoop(name, begin, end, body, { step, mode });
    this.#names = outer;
    return loop;
  }

  #parallel(): Stmt {
    const names = [this.#word()];
    this.#expect('..');
    names.push(this.#word());
    this.#expect('in');
    const begin = this.#expr();
    this.#expect('..');
    const end = this.#expr();
    const step = this.#skip('step') ? Number(this.#take()) : 1;
    const outer = new Map(this.#names);
    const range = e.parallel(begin, end, step, (...ends) => {
      ends.forEach((variable, k) => this.#names.set(names[k], variable));
      return this.#body();
    });
    this.#names = outer;
    return range;
  }

  #workgroups(): Stmt {
    const names = [this.#word()];
    this.#expect(',');
    names.push(this.#word());
    this.#expect('in');
    const count = this.#expr();
    this.#expect('of');
    const size = Number(this.#take());
    const outer = new Map(this.#names);
    this.#expect('(');
    const memory = this.#list(')', () => {
      const name = this.#word();
      this.#expect(':');
      const storage = this.#take();
      if (!storages.has(storage)) this.#refuse(`storage ${storage}`);
      this.#expect('[');
      const length = Number(this.#take());
      this.#expect(']');
      return { buffer: this.#bind(e.buffer(name, storage as ElementKind)), length };
    });
    const groups = e.workgroups(count, size, memory, (...numbers) => {
      numbers.forEach((variable, k) => this.#names.set(names[k], variable));
      return this.#body();
    });
    this.#names = outer;
    return groups;
  }

  #call(): Stmt {
    const name = this.#word();
    const callee = this.#kernels.get(name);
    if (callee === undefined) return this.#refuse(`a call of ${name}, which is not above`);
    this.#expect('(');
    return e.call(
      callee,
      this.#list(')', () => this.#expr()),
    );
  }

  #barrier(): Stmt {
    this.#expect('(');
    const meeting = this.#named();
    if (meeting.kind !== 'buffer') return this.#refuse(`a barrier in ${meeting.name}`);
    this.#expect(',');
    const thread = this.#expr();
    this.#expect(',');
    const threads = this.#expr();
    this.#expect(')');
    return e.barrier(meeting, thread, threads);
  }

  #condition(): Expr {
    this.#expect('(');
    const condition = this.#expr();
    this.#expect(')');
    return condition;
  }

  #expr(level: number = 0): Expr {
    let left = this.#operand();
    for (;;) {
      const operator = operators.get(this.#next);
      if (operator === undefined || operator[1] < level) return left;
      this.#advance();
      left = e.binary(operator[0], left, this.#expr(operator[1] + 1));
    }
  }

  #operand(): Expr {
    const start = this.#take();
    if (start === '-') return this.#constant(this.#take(), -1);
    if (start === '(') {
      const inner = this.#expr();
      this.#expect(')');
      return inner;
    }
    if (start.startsWith('#')) {
      return this.#shared.get(start) ?? this.#refuse(`${start} before its line`);
    }
    if (/^\d/.test(start) || /^(true|false|(nan|inf)(_d)?)$/.test(start)) {
      return this.#constant(start, 1);
    }
    if (this.#next === '(') return this.#function(start);
    const named = this.#names.get(start) ?? this.#refuse(`the unknown name ${start}`);
    if (named.kind === 'var') return named;
    this.#expect('[');
    const index = this.#expr();
    this.#expect(']');
    return e.load(named, index);
  }

  #constant(text: string, sign: 1 | -1): Expr {
    if (text === 'true' || text === 'false') return e.constant('bool', text === 'true' ? 1 : 0);
    const special = /^(nan|inf)(_d)?$/.exec(text);
    if (special !== null) {
      const value = special[1] === 'nan' ? NaN : sign * Infinity;
      return e.constant(special[2] === undefined ? 'f32' : 'f64', value);
    }
    if (text.endsWith('L')) return e.constant('i64', BigInt(text.slice(0, -1)) * BigInt(sign));
    if (text.endsWith('d')) return e.constant('f64', sign * Number(text.slice(0, -1)));
    if (!/^\d/.test(text)) this.#refuse(`- before ${text}`);
    return e.constant(/^\d+$/.test(text) ? 'i32' : 'f32', sign * Number(text));
  }

  #function(name: string): Expr {
    this.#expect('(');
    const args = this.#list(')', () => this.#expr());
    const [x, y, z] = args;
    const count = (wanted: number): void => {
      if (args.length !== wanted) this.#refuse(`${args.length} arguments of ${name}`);
    };
    const integer = (of: Expr): number =>
      of.kind === 'const' ? Number(of.value) : this.#refuse(`a variable count in ${name}`);
    if (name === 'select' || name === 'ramp') count(3);
    else if (name === 'min' || name === 'max' || name === 'lane') count(2);
    else count(1);
    if (name === 'select') return e.select(x, y, z);
    if (name === 'ramp') return e.ramp(x, y, integer(z));
    if (name === 'lane') return e.extract(x, integer(y));
    if (name === 'min' || name === 'max') return e.binary(name, x, y);
    if (unaries.has(name)) return e.unary(name as UnaryOp, x);
    if (scalars.has(name)) return e.cast(name as Scalar, x);
    if (name.startsWith('bits_')) return e.bitcast(name.slice(5) as Scalar, x);
    if (/^x\d+$/.test(name)) return e.broadcast(x, Number(name.slice(1)));
    return this.#refuse(`the unknown function ${name}`);
  }

  #list<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#skip(close)) {
      if (items.length > 0) this.#expect(',');
      items.push(item());
    }
    return items;
  }

  #bind<T extends Var | Buffer>(named: T): T {
    this.#names.set(named.name, named);
    return named;
  }

  #named(): Var | Buffer {
    const name = this.#word();
    return this.#names.get(name) ?? this.#refuse(`the unknown name ${name}`);
  }

  #word(): string {
    const word = this.#take();
    if (!/^[A-Za-z_]/.test(word) || keywords.has(word)) this.#refuse(`"${word}" for a name`);
    return word;
  }

  #take(): string {
    const taken = this.#next;
    this.#advance();
    return taken;
  }

  #skip(wanted: string): boolean {
    if (this.#next !== wanted) return false;
    this.#advance();
    return true;
  }

  #expect(wanted: string): void {
    if (!this.#skip(wanted)) this.#refuse(`"${this.#next}" where "${wanted}" belongs`);
  }

  #advance(): void {
    token.lastIndex = this.#at;
    const match = token.exec(this.#text);
    if (match === null) {
      if (this.#text.slice(this.#at).trim() !== '') this.#refuse('a character of no token');
      this.#next = '';
      this.#at = this.#text.length;
      return;
    }
    this.#next = match[1] ?? match[2] ?? match[3] ?? match[4];
    this.#at = token.lastIndex;
  }

  #refuse(problem: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length;
    throw new FormatError(`loop IR text: ${problem}, at line ${line}`, { op: 'parseModule' });
  }
}
