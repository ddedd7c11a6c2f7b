import { maskText } from './mask-text.js';
import { storageBytes } from '../../loop/language/build.js';
import type {
  BinaryOp,
  ExprType,
  Scalar,
  ElementKind,
  UnaryOp,
} from '../../loop/language/nodes.js';
import { barrierHeaders, barrierText } from './barrier.js';
import type { Dialect } from './dialect.js';
import { boundIntrinsics, choiceIntrinsics, comparedIntrinsics, extremumIntrinsics, firstOf, fusedIntrinsics, instructionHeaders, unaryIntrinsics, type Intrinsic } from './instructions.js'; // prettier-ignore
import { binaryText, castText, infixOf, unaryText } from './scalar.js';
import { cType, laneScalar, scalarTypes, storageTypes, typeName, vectorType } from './types.js';
import { vectorBinary, vectorCast, vectorComparison, vectorSelect, vectorUnary, integerFor } from './whole.js'; // prettier-ignore

const inline = 'static inline';

/**
 * Helper functions of a generated file: one for each operation on each type that occurs. Those on vectors
 * work lane by lane unless the dialect has arithmetic on whole vectors.
 */
export class Helpers {
  readonly #dialect: Dialect;
  readonly #types: Map<string, string> = new Map();
  readonly #functions: Map<string, string> = new Map();

  #usesInstructions = false;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The declarations, each after those it uses. */
  get text(): string {
    const headers = this.#usesInstructions ? [instructionHeaders] : [];
    return [...headers, ...this.#types.values(), ...this.#functions.values()].join('\n');
  }

  type(type: ExprType): string {
    if (type.lanes > 1) this.#vector(type.scalar, type.lanes);
    return cType(type);
  }

  unary(op: UnaryOp, type: ExprType): string {
    return this.#define(`k_${op}_${typeName(type)}`, (name) => {
      if (type.lanes === 1) return this.#scalar(name, type.scalar, ['a'], type.scalar, unaryText(op, type.scalar)); // prettier-ignore
      const { scalar } = type;
      const text = scalar === 'bool' ? '~a' : unaryText(op, scalar);
      if (!this.#dialect.hasVectorArithmetic) return this.#byLane(name, type, [type], text);
      const whole = vectorUnary(op, scalar, type.lanes) ?? this.#filled(type, this.#ofLanes(text));
      const body = isFloat(scalar) ? this.#wayOf(unaryIntrinsics(op, type), whole) : whole;
      return this.#body(name, type, [type], body, scalar);
    });
  }

  binary(op: BinaryOp, operands: ExprType, result: ExprType): string {
    return this.#define(`k_${op}_${typeName(operands)}`, (name) => {
      const { scalar, lanes } = operands;
      if (lanes === 1) return this.#scalar(name, scalar, ['a', 'b'], result.scalar, binaryText(op, scalar)); // prettier-ignore
      if (scalar === 'bool') return this.#byLane(name, result, [operands, operands], maskText(op));
      const text = binaryText(op, scalar);
      if (result.scalar === 'bool') return this.#comparison(name, operands, result, text);
      const whole = this.#dialect.hasVectorArithmetic ? vectorBinary(op, scalar, lanes) : null;
      if (whole !== null) {
        const body = isFloat(scalar) ? this.#wayOf(extremumIntrinsics(op, operands), whole) : whole;
        return this.#body(name, result, [operands, operands], body, scalar);
      }
      const own = infixOf(op, scalar);
      const isWhole = this.#dialect.hasVectorArithmetic && own !== null && op !== 'rem';
      return isWhole
        ? this.#whole(name, result, [operands, operands], `a ${own} b`)
        : this.#byLane(name, result, [operands, operands], text);
    });
  }

  /** True when multiply-accumulate may round once (`accumulate`). */
  get fusesMultiplyAdd(): boolean {
    return this.#dialect.hasVectorArithmetic;
  }

  /** `a * b + c`, rounded once where the processor has an instruction for that. */
  accumulate(type: ExprType): string {
    return this.#define(`k_accumulate_${typeName(type)}`, (name) => {
      const made = this.type(type);
      const body = this.#wayOf(fusedIntrinsics(type), 'return a * b + c;');
      return `${inline} ${made} ${name}(${made} a, ${made} b, ${made} c) { ${body} }`;
    });
  }

  /** First statement of a kernel: declares that it writes memory. */
  writesMemory(): string {
    return this.#define('k_writes', writesText);
  }

  /** Prologue of a function whose accumulators must stay in registers. */
  sumsInRegisters(): string {
    return this.#define('k_sums', registersText);
  }

  /** `min` or `max` of floats, where the second is neither NaN nor zero. */
  bound(op: 'min' | 'max', type: ExprType): string {
    const whole = this.#dialect.hasVectorArithmetic
      ? vectorBinary(op, type.scalar, type.lanes)
      : null;
    if (whole === null) return this.binary(op, type, type);
    return this.#define(`k_${op}_bound_${typeName(type)}`, (name) =>
      this.#body(
        name,
        type,
        [type, type],
        this.#wayOf(boundIntrinsics(op, type), whole),
        type.scalar,
      ),
    );
  }

  /** A `ComparedExtremum` of two vectors; null where compare and select cost no more. */
  compared(op: 'min' | 'max', type: ExprType): string | null {
    const ways = this.#dialect.hasVectorArithmetic ? comparedIntrinsics(op, type) : [];
    if (ways.length === 0) return null;
    const condition: ExprType = { scalar: 'bool', lanes: type.lanes };
    const compare = this.binary(op === 'max' ? 'lt' : 'gt', type, condition);
    const otherwise = `return ${this.select(type)}(b, a, ${compare}(a, b));`;
    return this.#define(`k_${op}_compared_${typeName(type)}`, (name) =>
      this.#body(name, type, [type, type], this.#wayOf(ways, otherwise), type.scalar),
    );
  }

  /** Selects one of two values by a comparison of two others; null where compare and select cost no more. */
  choice(op: BinaryOp, compared: ExprType, type: ExprType): string | null {
    if (!this.#dialect.hasVectorArithmetic) return null;
    const ways = choiceIntrinsics(op, compared.scalar, type);
    if (ways.length === 0 || compared.lanes !== type.lanes) return null;
    const condition: ExprType = { scalar: 'bool', lanes: type.lanes };
    const [compare, select] = [this.binary(op, compared, condition), this.select(type)];
    return this.#define(`k_where_${op}_${typeName(compared)}_${typeName(type)}`, (name) => {
      const [given, made] = [this.type(compared), this.type(type)];
      const body = this.#wayOf(ways, `return ${select}(a, b, ${compare}(x, y));`);
      return `${inline} ${made} ${name}(${given} x, ${given} y, ${made} a, ${made} b) { ${body} }`;
    });
  }

  get hasThreads(): boolean {
    return this.#dialect.hasThreads;
  }

  /** Waits for the other threads; true when one has failed. */
  barrier(): string {
    return this.#define('k_barrier', (name) => `${barrierHeaders}\n${barrierText(name)}`);
  }

  select(type: ExprType): string {
    return this.#define(`k_select_${typeName(type)}`, (name) => {
      const condition: ExprType = { scalar: 'bool', lanes: type.lanes };
      if (this.#dialect.hasVectorArithmetic) {
        const whole = vectorSelect(type.scalar, type.lanes);
        return this.#body(name, type, [type, type, condition], whole, type.scalar);
      }
      return this.#byLane(name, type, [type, type, condition], 'c != 0 ? a : b');
    });
  }

  cast(from: ExprType, to: ExprType): string {
    return this.#define(`k_${typeName(from)}_to_${typeName(to)}`, (name) => {
      if (from.lanes === 1) return this.#scalar(name, from.scalar, ['a'], to.scalar, castText(from.scalar, to.scalar)); // prettier-ignore
      const whole = this.#dialect.hasVectorArithmetic
        ? vectorCast(from.scalar, to.scalar, from.lanes)
        : null;
      if (whole !== null) return this.#body(name, to, [from], whole, from.scalar);
      if (from.scalar === 'bool') {
        return this.#byLane(
          name,
          to,
          [from],
          castText('i32', to.scalar).replaceAll(/\ba\b/g, '(-a)'),
        );
      }
      const text = castText(from.scalar, to.scalar);
      return this.#byLane(name, to, [from], to.scalar === 'bool' ? `-(${text})` : text);
    });
  }

  bitcast(from: ExprType, to: ExprType): string {
    return this.#define(`k_${typeName(from)}_as_${typeName(to)}`, (name) => {
      const [given, made] = [this.type(from), this.type(to)];
      return `${inline} ${made} ${name}(${given} a) { ${made} r; memcpy(&r, &a, sizeof r); return r; }`;
    });
  }

  /** A scalar in every lane. */
  splat(type: ExprType): string {
    return this.#define(`k_splat_${typeName(type)}`, (name) => {
      const x = type.scalar === 'bool' ? '-a' : 'a';
      if (this.#dialect.hasVectorArithmetic) {
        const made = this.type(type);
        const list = Array.from({ length: type.lanes }, () => x).join(', ');
        return `${inline} ${made} ${name}(${scalarTypes[type.scalar]} a) { return (${made}){${list}}; }`;
      }
      return this.#lanes(name, type, `${scalarTypes[type.scalar]} a`, x);
    });
  }

  ramp(type: ExprType): string {
    return this.#define(`k_ramp_${typeName(type)}`, (name) =>
      this.#lanes(
        name,
        type,
        'int32_t a, int32_t b',
        '(int32_t)((uint32_t)a + (uint32_t)l * (uint32_t)b)',
      ),
    );
  }

  extract(type: ExprType): string {
    return this.#define(`k_lane_${typeName(type)}`, (name) => {
      const lane = this.#dialect.lane('a', 'l');
      const value = type.scalar === 'bool' ? `-${lane}` : lane;
      return `${inline} ${scalarTypes[type.scalar]} ${name}(${this.type(type)} a, int l) { return ${value}; }`;
    });
  }

  /** Reads one element, or contiguous lanes. */
  load(storage: ElementKind, type: ExprType): string {
    return this.#define(`k_load_${storage}_${typeName(type)}`, (name) => {
      const stored = storageTypes[storage];
      if (type.lanes === 1) {
        return `${inline} ${scalarTypes[type.scalar]} ${name}(const uint8_t *p, ptrdiff_t i) { ${stored} r; memcpy(&r, p + i * ${storageBytes(storage)}, sizeof r); return r; }`;
      }
      const vector = this.type(type);
      if (stored === scalarTypes[type.scalar]) {
        return `${inline} ${vector} ${name}(const uint8_t *p, ptrdiff_t i) { ${vector} r; memcpy(&r, p + i * ${storageBytes(storage)}, sizeof r); return r; }`;
      }
      const one = this.load(storage, { scalar: type.scalar, lanes: 1 });
      return this.#lanes(name, type, 'const uint8_t *p, ptrdiff_t i', `${one}(p, i + l)`);
    });
  }

  /** Reads lanes at arbitrary addresses. */
  gather(storage: ElementKind, type: ExprType): string {
    return this.#define(`k_gather_${storage}_${typeName(type)}`, (name) => {
      const one = this.load(storage, { scalar: type.scalar, lanes: 1 });
      const indices = this.type({ scalar: 'i32', lanes: type.lanes });
      return this.#lanes(name, type, `const uint8_t *p, ${indices} i`, `${one}(p, ${this.#dialect.lane('i', 'l')})`); // prettier-ignore
    });
  }

  store(storage: ElementKind, type: ExprType): string {
    return this.#define(`k_store_${storage}_${typeName(type)}`, (name) => {
      const stored = storageTypes[storage];
      const head = `${inline} void ${name}(uint8_t *p, ptrdiff_t i, ${this.type(type)} a)`;
      if (type.lanes === 1) {
        return `${head} { ${stored} v = (${stored})a; memcpy(p + i * ${storageBytes(storage)}, &v, sizeof v); }`;
      }
      if (stored === scalarTypes[type.scalar])
        return `${head} { memcpy(p + i * ${storageBytes(storage)}, &a, sizeof a); }`;
      if (this.#dialect.hasVectorArithmetic) {
        return `${head} { ${narrowed(storage, type.lanes)} memcpy(p + i * ${storageBytes(storage)}, &v, sizeof v); }`;
      }
      const one = this.store(storage, { scalar: type.scalar, lanes: 1 });
      return `${head} { for (int l = 0; l < ${type.lanes}; l++) ${one}(p, i + l, ${this.#dialect.lane('a', 'l')}); }`;
    });
  }

  /** Writes lanes at arbitrary addresses, in order: of equal addresses the last one wins. */
  scatter(storage: ElementKind, type: ExprType): string {
    return this.#define(`k_scatter_${storage}_${typeName(type)}`, (name) => {
      const one = this.store(storage, { scalar: type.scalar, lanes: 1 });
      const indices = this.type({ scalar: 'i32', lanes: type.lanes });
      const { lane } = this.#dialect;
      const store = `${one}(p, ${lane('i', 'l')}, ${lane('a', 'l')});`;
      return `${inline} void ${name}(uint8_t *p, ${indices} i, ${this.type(type)} a) { ${eachLane(type, store).join(' ')} }`;
    });
  }

  #wayOf(ways: readonly Intrinsic[], otherwise: string): string {
    if (ways.length === 0) return otherwise;
    this.#usesInstructions = true;
    return `\n${firstOf(ways, otherwise)}\n`;
  }

  #define(name: string, make: (name: string) => string): string {
    if (!this.#functions.has(name)) {
      // Helpers that the body uses are defined while it is made, and so come first.
      const text = make(name);
      this.#functions.set(name, text);
    }
    return name;
  }

  #vector(scalar: Scalar, lanes: number): void {
    const name = vectorType(scalar, lanes);
    if (!this.#types.has(name))
      this.#types.set(name, this.#dialect.vector(laneScalar(scalar), lanes));
  }

  #scalar(name: string, from: Scalar, params: readonly string[], to: Scalar, text: string): string {
    const list = params.map((param) => `${scalarTypes[from]} ${param}`).join(', ');
    return `${inline} ${scalarTypes[to]} ${name}(${list}) { return ${text}; }`;
  }

  /** A vector whose lane `l` is an expression. */
  #lanes(name: string, type: ExprType, params: string, text: string): string {
    return `${inline} ${this.type(type)} ${name}(${params}) { ${this.#filled(type, text)} }`;
  }

  /**
   * A function body that returns a vector whose lane `l` is an expression. An initializer list where
   * possible: GCC keeps vectors that are assigned lane by lane in memory, and then takes minutes for hundreds
   * of gathers.
   */
  #filled(type: ExprType, text: string): string {
    if (this.#dialect.hasVectorArithmetic)
      return `return (${this.type(type)}){${eachLane(type, text).join(', ')}};`;
    const lane = this.#dialect.lane('r', 'l');
    return `${this.type(type)} r; for (int l = 0; l < ${type.lanes}; l++) ${lane} = ${text}; return r;`;
  }

  #byLane(name: string, type: ExprType, operands: readonly ExprType[], text: string): string {
    const params = operands.map((operand, k) => `${this.type(operand)} ${'abc'[k]}`).join(', ');
    return this.#lanes(name, type, params, this.#ofLanes(text));
  }

  /** An expression of vectors, applied to their lanes `l`. */
  #ofLanes(text: string): string {
    const { lane } = this.#dialect;
    return text.replace(/\b[abc]\b/g, (param) => lane(param, 'l'));
  }

  #whole(name: string, type: ExprType, operands: readonly ExprType[], text: string): string {
    const params = operands.map((operand, k) => `${this.type(operand)} ${'ab'[k]}`).join(', ');
    return `${inline} ${this.type(type)} ${name}(${params}) { return ${text}; }`;
  }

  #comparison(name: string, operands: ExprType, result: ExprType, text: string): string {
    if (!this.#dialect.hasVectorArithmetic) {
      return this.#byLane(name, result, [operands, operands], `-(${text})`);
    }
    const { scalar, lanes } = operands;
    const whole = vectorComparison(text, scalar, lanes);
    return this.#body(name, result, [operands, operands], whole, scalar);
  }

  /** A function of whole vectors, which may use integers as wide as the lanes of `words`. */
  #body(
    name: string,
    type: ExprType,
    operands: readonly ExprType[],
    body: string,
    words: Scalar,
  ): string {
    this.#vector(integerFor(words), type.lanes);
    const params = operands.map((operand, k) => `${this.type(operand)} ${'abc'[k]}`).join(', ');
    return `${inline} ${this.type(type)} ${name}(${params}) { ${body} }`;
  }
}

/** Declares `v`, the low bits of 32-bit lanes. Bytes take two steps: GCC scalarizes a single one. */
function narrowed(storage: ElementKind, lanes: number): string {
  const bytes = storageBytes(storage);
  const vector = (name: string, element: string, size: number): string =>
    `typedef ${element} ${name} __attribute__((vector_size(${size * lanes})));`;
  const stored = vector('stored', storageTypes[storage], bytes);
  if (bytes === 2) return `${stored} stored v = __builtin_convertvector(a, stored);`;
  const halves = vector('halves', 'int16_t', 2);
  return `${halves} ${stored} stored v = __builtin_convertvector(__builtin_convertvector(a, halves), stored);`;
}

/** A text for each lane `l`. */
function eachLane({ lanes }: ExprType, text: string): readonly string[] {
  return Array.from({ length: lanes }, (_, lane) => text.replaceAll(/\bl\b/g, String(lane)));
}

/**
 * GCC hoists constants and loads out of loops without counting the registers they occupy, so it carries more
 * values across iterations than there are registers: an accumulator is then spilled, and every iteration
 * waits for memory. Other compilers do not, and without accumulators the code is faster as it is (decision
 * 44).
 */
const registersText = (name: string): string => `#if defined(__GNUC__) && !defined(__clang__)
#define ${name} __attribute__((optimize("ira-loop-pressure", "no-tree-partial-pre")))
#else
#define ${name}
#endif`;

/**
 * GCC (12.2) classifies a loop that reads and writes memory with different strides as one that writes
 * nothing, once it has merged both pointers, and removes calls of such a function: results are left
 * unwritten. So each kernel states, without an instruction, that it writes memory.
 */
const writesText = (name: string): string => `#if defined(__GNUC__) && !defined(__clang__)
#define ${name} __asm__ volatile("" ::: "memory")
#else
#define ${name} (void)0
#endif`;

const isFloat = (scalar: Scalar): boolean => scalar === 'f32' || scalar === 'f64';
