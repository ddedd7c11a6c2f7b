import { InternalError } from '../../base/errors.js';
import { exprType } from '../../loop/language/build.js';
import type { BinaryExpr, Expr, For, Kernel, Select, Stmt, UnaryExpr, Var } from '../../loop/language/nodes.js'; // prettier-ignore
import { unreachable } from '../../base/unreachable.js';
import { assignedVariables, children, refuseRange, variablesOf, visitExprs } from '../../loop/language/visit.js'; // prettier-ignore
import { groupBarrier } from './barrier.js';
import { BufferTexts } from './buffers.js';
import { Exactness } from './exact.js';
import type { GridKernel, GridWorkgroups } from './grid.js';
import { ShaderFunctions } from './functions/helpers.js';
import { bindingTexts, type ShaderLayout, uniformText } from './layout.js';
import { ShaderNames } from './names.js';
import { binaryWgsl, bitsText, castWgsl, constantWgsl, unaryWgsl } from './operations.js';
import { inAllLanes, wgslType } from './functions/types.js';
import type { VectorAccesses } from './memory/vector-access.js';

/** The most iterations of a loop that drivers may unroll. */
const mostUnrolled = 2;

/** Prints a kernel of scalars and vectors of WGSL, whose ranges have become loops, as a shader. */
export function shaderText(
  grid: GridKernel,
  layout: ShaderLayout,
  accesses: VectorAccesses,
  workgroupSize: number,
): string {
  return new KernelPrinter(grid, layout, accesses, workgroupSize).print();
}

/** Operations in one expression: compilers of shaders recurse over them. */
const deepest = 24;

class KernelPrinter {
  readonly #kernel: Kernel;
  readonly #layout: ShaderLayout;
  readonly #workgroupSize: number;
  readonly #helpers: ShaderFunctions = new ShaderFunctions();
  readonly #exact: Exactness;
  readonly #assigned: ReadonlySet<Var>;
  /** By variables that hold the number of the invocation or of the workgroup: the number of all. */
  readonly #numbers: Map<Var, 'invocations' | 'workgroups'>;
  /** Null for kernels without workgroups. */
  readonly #workgroups: GridWorkgroups | null;
  readonly #lines: string[] = [];
  readonly #names: Map<Var, string> = new Map();
  readonly #buffers: BufferTexts;
  readonly #unique: ShaderNames = new ShaderNames();
  #depth = 1;
  #temporaries = 0;
  /** Subexpressions of the present statement that have names. */
  #shared: Map<Expr, string> = new Map();

  constructor(
    grid: GridKernel,
    layout: ShaderLayout,
    accesses: VectorAccesses,
    workgroupSize: number,
  ) {
    const { kernel, invocation, workgroups } = grid;
    this.#kernel = kernel;
    this.#layout = layout;
    this.#buffers = new BufferTexts(layout, accesses, this.#helpers, (expr) => this.#text(expr));
    this.#workgroupSize = workgroupSize;
    this.#exact = new Exactness(kernel);
    this.#assigned = assignedVariables(kernel.body);
    this.#numbers = new Map([[invocation, 'invocations']]);
    this.#names.set(invocation, 'invocation');
    this.#workgroups = workgroups;
    if (workgroups === null) return;
    this.#numbers.set(workgroups.group, 'workgroups');
    this.#names.set(workgroups.group, 'workgroup');
    this.#names.set(workgroups.statement.invocation, 'local');
    for (const memory of workgroups.statement.memory) {
      this.#buffers.share(memory, this.#unique.identifier(memory.buffer.name));
    }
  }

  print(): string {
    this.#parameters();
    this.#statement(this.#kernel.body);
    const inputs = [
      '@builtin(global_invocation_id) id: vec3<u32>',
      ...(this.#workgroups !== null
        ? ['@builtin(workgroup_id) group_id: vec3<u32>', '@builtin(local_invocation_index) local_index: u32'] // prettier-ignore
        : []),
    ];
    const main = [
      `@compute @workgroup_size(${this.#workgroupSize})`,
      `fn main(${inputs.join(', ')}) {`,
      ...this.#lines,
      '}',
    ];
    const zero = `fn k_zero() -> u32 {\n  return ${uniformText(this.#layout.zeroWord)};\n}`;
    const declarations = [...bindingTexts(this.#layout), ...this.#buffers.declarations];
    const parts = [declarations.join('\n'), zero, this.#helpers.text, main.join('\n')];
    return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
  }

  #parameters(): void {
    const { groupsWord, parameters } = this.#layout;
    const groups = `i32(${uniformText(groupsWord)})`;
    if (this.#workgroups !== null) {
      this.#line('let workgroup = i32(group_id.x);');
      this.#line('let local = i32(local_index);');
      this.#line(`let workgroups = ${groups};`);
    } else {
      this.#line('let invocation = i32(id.x);');
      this.#line(`let invocations = ${groups} * ${this.#workgroupSize}i;`);
    }
    this.#kernel.params.forEach((param, k) => {
      const place = parameters[k];
      if (place.kind === 'locals') return;
      const word = uniformText(place.word);
      if (param.kind === 'var') {
        const texts = {
          i32: `bitcast<i32>(${word})`,
          f32: `bitcast<f32>(${word})`,
          bool: `(${word} != 0u)`,
          i64: `vec2<u32>(${word}, ${uniformText(place.word + 1)})`,
          f64: `vec2<u32>(${word}, ${uniformText(place.word + 1)})`,
        };
        if (place.kind !== 'number') throw new InternalError('a number is no buffer');
        return this.#line(`let ${this.#name(param)} = ${texts[place.scalar]};`);
      }
      if (place.kind === 'number') throw new InternalError('a buffer is no number');
      const first = this.#unique.identifier(param.name, 'at');
      this.#buffers.bind(param, place, first);
      const member = place.kind === 'private' ? ' + id.x' : '';
      return this.#line(`let ${first} = ${word}${member};`);
    });
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
        for (const inner of stmt.body) {
          // Nested blocks exist for their scopes.
          if (inner.kind === 'block') this.#braced('', () => this.#statement(inner));
          else this.#statement(inner);
        }
        return;
      case 'for':
        return this.#loop(stmt);
      case 'while':
        return this.#braced('loop', () => {
          const [condition] = this.#values(stmt.condition);
          this.#line(`if (!${condition}) { break; }`);
          this.#statement(stmt.body);
        });
      case 'if': {
        const [condition] = this.#values(stmt.condition);
        const { consequent, alternate } = stmt;
        if (alternate === null) {
          return this.#braced(`if (${condition})`, () => this.#statement(consequent));
        }
        this.#braced(`if (${condition})`, () => this.#statement(consequent), '} else {');
        this.#depth++;
        this.#statement(alternate);
        this.#depth--;
        return this.#line('}');
      }
      case 'declare': {
        const { variable, value } = stmt;
        // A sum that begins with 0 and has one term would be the term, though 0 and -0 are 0.
        const isSum = this.#assigned.has(variable) && value.type.scalar === 'f32' && value.kind === 'const'; // prettier-ignore
        const text = isSum ? this.#hidden(value) : this.#values(value)[0];
        const number = this.#numberIn(value);
        if (number !== undefined) this.#numbers.set(variable, number);
        const kind = this.#assigned.has(variable) ? 'var' : 'let';
        return this.#line(`${kind} ${this.#name(variable)} = ${text};`);
      }
      case 'assign': {
        const [text] = this.#values(stmt.value);
        return this.#line(`${this.#name(stmt.variable)} = ${text};`);
      }
      case 'store': {
        const { buffer, index, value } = stmt;
        this.#share(this.#buffers.computed(buffer, index), value);
        return this.#line(this.#buffers.store(buffer, index, this.#text(value)));
      }
      case 'call':
      case 'barrier':
        throw new InternalError(`a shader has no ${stmt.kind} among threads`);
      case 'workgroup barrier':
        return this.#line(groupBarrier(this.#kernel, this.#layout));
      case 'parallel':
      case 'workgroups':
        return refuseRange(stmt);
      default:
        return unreachable(stmt);
    }
  }

  #loop({ variable, begin, end, step, body }: For): void {
    const [from, to] = this.#values(begin, end);
    const index = this.#name(variable);
    let limit = to;
    if (end.kind !== 'const') {
      limit = this.#temporary();
      this.#line(`let ${limit} = ${to};`);
    }
    const all = this.#numberIn(begin);
    // Drivers unroll loops whose count they see: nested ones then take minutes to compile.
    const isLong = end.kind === 'const' && Number(end.value) > mostUnrolled * step;
    if (isLong && all === undefined) limit = `(${to} + i32(k_zero()))`;
    const stride = all ?? `${step}i`;
    const head = `for (var ${index} = ${from}; ${index} < ${limit}; ${index} += ${stride})`;
    this.#braced(head, () => this.#statement(body));
  }

  /** Prints expressions, after declaring those that are used several times. */
  #values(...roots: readonly Expr[]): readonly string[] {
    this.#share(...roots);
    return roots.map((root) => this.#text(root));
  }

  #share(...roots: readonly Expr[]): void {
    this.#shared = new Map();
    const uses = new Map<Expr, number>();
    const count = (expr: Expr): void => void uses.set(expr, (uses.get(expr) ?? 0) + 1);
    visitExprs(roots, (expr) => {
      if (expr.kind === 'load') count(this.#buffers.computed(expr.buffer, expr.index));
      else children(expr).forEach(count);
    });
    roots.forEach(count);
    const depths = new Map<Expr, number>();
    visitExprs(roots, (expr) => {
      if (expr.kind === 'const' || expr.kind === 'var') return;
      const depth = 1 + Math.max(0, ...children(expr).map((child) => depths.get(child) ?? 0));
      depths.set(expr, depth);
      if ((uses.get(expr) ?? 0) < 2 && depth < deepest) return;
      const text = this.#text(expr);
      const name = this.#temporary();
      this.#line(`let ${name} = ${text};`);
      this.#shared.set(expr, name);
      depths.set(expr, 0);
    });
  }

  #text(expr: Expr): string {
    const shared = this.#shared.get(expr);
    if (shared !== undefined) return shared;
    const { scalar, lanes } = expr.type;
    switch (expr.kind) {
      case 'const':
        return constantWgsl(expr.type, expr.value, this.#helpers);
      case 'var':
        return this.#name(expr);
      case 'unary':
        return this.#unary(expr);
      case 'binary':
        return this.#binary(expr);
      case 'select':
        return this.#select(expr);
      case 'cast':
        return castWgsl(expr.x.type, scalar, this.#runtime(expr.x), this.#helpers);
      case 'bitcast':
        // Both of 64 bits are pairs of words.
        if (scalar === 'i64' || scalar === 'f64') return this.#text(expr.x);
        return `bitcast<${wgslType(scalar as 'i32' | 'f32', lanes)}>(${this.#runtime(expr.x)})`;
      case 'load':
        return this.#buffers.load(expr);
      case 'ramp': {
        const steps = Array.from({ length: lanes }, (_, k) => `${k}i`).join(', ');
        const stride = inAllLanes('i32', this.#text(expr.stride), lanes);
        const isNeighbor = expr.stride.kind === 'const' && Number(expr.stride.value) === 1;
        const distances = isNeighbor ? '' : ` * ${stride}`;
        return `(${inAllLanes('i32', this.#text(expr.base), lanes)} + vec${lanes}<i32>(${steps})${distances})`;
      }
      case 'broadcast':
        return inAllLanes(scalar, this.#text(expr.x), lanes);
      case 'extract':
        return `${this.#text(expr.x)}.${'xyzw'[expr.lane]}`;
    }
  }

  #unary({ op, x }: UnaryExpr): string {
    const operand = this.#exact.resolve(x);
    if (op === 'not' && operand.kind === 'binary' && operand.a.type.scalar === 'f32') {
      const isLocal = x.kind !== 'var' && !this.#shared.has(x);
      const negated = isLocal ? this.#negated(operand) : null;
      if (negated !== null) return negated;
    }
    return unaryWgsl(op, x.type.scalar, this.#runtime(x), this.#helpers);
  }

  /** The contrary of a comparison of floats, of which drivers know that NaN makes it true; null for others. */
  #negated({ op, a, b }: BinaryExpr): string | null {
    const call = (name: string, x: Expr, y: Expr): string =>
      `${this.#helpers.use(name, x.type.lanes)}(${this.#text(x)}, ${this.#text(y)})`;
    switch (op) {
      case 'eq':
        return call('k_ne', a, b);
      case 'lt':
        return call('k_not_lt', a, b);
      case 'le':
        return call('k_not_le', a, b);
      case 'gt':
        return call('k_not_lt', b, a);
      case 'ge':
        return call('k_not_le', b, a);
      default:
        return null;
    }
  }

  #binary(expr: BinaryExpr): string {
    const { op, a, b } = expr;
    const { scalar, lanes } = a.type;
    if (scalar === 'f32') {
      const isSame = this.#exact.resolve(a) === this.#exact.resolve(b);
      if (isSame && (op === 'ne' || op === 'eq')) {
        const isNan = `${this.#helpers.use('k_nan', lanes)}(${this.#text(a)})`;
        return op === 'ne' ? isNan : `!${isNan}`;
      }
      if (this.#exact.widensHalf(expr)) return `${this.#helpers.use('k_half', lanes)}(${this.#text(a)})`; // prettier-ignore
      const [left, right] = (['a', 'b'] as const).map((which) => {
        const operand = expr[which];
        return this.#exact.hidesOperand(expr, which) ? this.#hidden(operand) : this.#text(operand);
      });
      if (a.kind === 'const' && b.kind === 'const') {
        return binaryWgsl(op, a.type, this.#hidden(a), right, this.#helpers);
      }
      return binaryWgsl(op, a.type, left, right, this.#helpers);
    }
    const left = b.kind === 'const' ? this.#runtime(a) : this.#text(a);
    return binaryWgsl(op, a.type, left, this.#text(b), this.#helpers);
  }

  #select({ condition, a, b, type }: Select): string {
    const [yes, no] = [a, b].map((arm) =>
      type.scalar === 'f32' && this.#exact.hidesArm(condition, arm)
        ? this.#hidden(arm)
        : this.#text(arm),
    );
    return `select(${no}, ${yes}, ${this.#text(condition)})`;
  }

  /** A float of which drivers do not know where it comes from. */
  #hidden(expr: Expr): string {
    const { lanes } = expr.type;
    if (expr.kind === 'const') {
      const float = `${this.#helpers.use('k_float')}(${bitsText(Number(expr.value))})`;
      return inAllLanes('f32', float, lanes);
    }
    return `${this.#helpers.use('k_exact', lanes)}(${this.#text(expr)})`;
  }

  /** A value that compilers do not compute beforehand: they refuse results that are out of range. */
  #runtime(expr: Expr): string {
    if (expr.kind !== 'const') return this.#text(expr);
    if (expr.type.scalar === 'f32') return this.#hidden(expr);
    if (expr.type.scalar !== 'i32') return this.#text(expr);
    const { lanes } = expr.type;
    const scalar = constantWgsl(exprType('i32'), expr.value, this.#helpers);
    return inAllLanes('i32', `${this.#helpers.use('k_opaque')}(${scalar})`, lanes);
  }

  /** The number of all of which an expression tells one, if it does. */
  #numberIn(expr: Expr): 'invocations' | 'workgroups' | undefined {
    for (const variable of variablesOf([expr])) {
      const number = this.#numbers.get(variable);
      if (number !== undefined) return number;
    }
    return undefined;
  }

  #temporary(): string {
    return this.#unique.fresh(`t${this.#temporaries++}`);
  }

  #name(of: Var): string {
    let name = this.#names.get(of);
    if (name === undefined) this.#names.set(of, (name = this.#unique.identifier(of.name)));
    return name;
  }
}
