import * as e from '../../src/loop/language/build.js';
import type { BinaryOp, Buffer, Expr, For, Kernel, Scalar, Stmt, Var } from '../../src/loop/language/nodes.js'; // prettier-ignore
import { binaryOps, comparisonOps, unaryOps } from '../../src/loop/language/scalar.js';

/** Elements of each buffer; every index that a random kernel computes is below. */
export const bufferLength = 256;

const x = e.buffer('x', 'f32');
const k = e.buffer('k', 'i32');
const bytes = e.buffer('bytes', 'u8');
const d = e.buffer('d', 'f64');
const l = e.buffer('l', 'i64');
const out = e.buffer('out', 'f32');
const count = e.buffer('count', 'i32');
const wide = e.buffer('wide', 'f64');
const n = e.variable('n', 'i32');
const m = e.variable('m', 'i32');

/** Inputs first, then outputs, then two sizes from 0 to 9. */
export const params: readonly (Buffer | Var)[] = [x, k, bytes, d, l, out, count, wide, n, m];
/** Those of kernels without float64. */
export const narrowParams: readonly (Buffer | Var)[] = params.filter((param) => param.kind === 'var' || param.storage !== 'f64'); // prettier-ignore
const inputs: readonly Buffer[] = [x, k, bytes, d, l];
const outputs: readonly Buffer[] = [out, count, wide];

/** In a vector loop every store to a buffer goes to the element that belongs to the iteration. */
type Place = (buffer: Buffer) => Expr;

interface Scope {
  /** Loop variables, each from 0 to at most 9. */
  readonly indices: readonly Var[];
  readonly locals: readonly Var[];
  readonly mutable: readonly Var[];
  /** Loops around whose end is `n`: there `n` may divide. */
  readonly sizes: readonly Var[];
  readonly place: Place | null;
  readonly depth: number;
}

/** A kernel made from a list of numbers, so that a shorter list with smaller numbers is simpler. */
export function randomKernel(entropy: readonly number[]): Kernel {
  return e.kernel('random', params, new Maker(entropy, true).kernelBody());
}

/** The same without float64. */
export function narrowRandomKernel(entropy: readonly number[]): Kernel {
  return e.kernel('random', narrowParams, new Maker(entropy, false).kernelBody());
}

class Maker {
  readonly #entropy: readonly number[];
  #at = 0;
  #names = 0;
  readonly #scalars: readonly Scalar[];
  readonly #outputs: readonly Buffer[];

  constructor(entropy: readonly number[], hasFloat64: boolean) {
    this.#entropy = entropy;
    this.#scalars = hasFloat64 ? ['f32', 'f64', 'i32', 'i64', 'bool'] : ['f32', 'i32', 'i64', 'bool']; // prettier-ignore
    this.#outputs = outputs.filter(({ storage }) => hasFloat64 || storage !== 'f64');
  }

  kernelBody(): Stmt {
    const scope = { indices: [], locals: [], mutable: [], sizes: [], place: null, depth: 0 };
    return this.#statements(scope, 4);
  }

  #pick(below: number): number {
    return (this.#entropy[this.#at++] ?? 0) % below;
  }

  #one<T>(from: readonly T[]): T {
    return from[this.#pick(from.length)];
  }

  #statements(scope: Scope, most: number): Stmt {
    const body: Stmt[] = [];
    let inside = scope;
    for (let left = 1 + this.#pick(most); left > 0; left--) {
      const kind = this.#pick(scope.depth < 3 ? 9 : 5);
      if (kind === 1 || kind === 2) {
        const value = this.#expr(inside, this.#one(this.#scalars), 3);
        const local = e.variable(`v${this.#names++}`, value.type.scalar);
        body.push(e.declare(local, value));
        inside =
          kind === 1
            ? { ...inside, locals: [...inside.locals, local] }
            : { ...inside, mutable: [...inside.mutable, local] };
      } else if (kind === 3 && inside.mutable.length > 0) {
        const local = this.#one(inside.mutable);
        body.push(e.assign(local, this.#expr(inside, local.type.scalar, 3)));
      } else if (kind === 5 || kind === 6) body.push(this.#loop(inside));
      else if (kind === 7) {
        const condition = this.#expr(inside, 'bool', 2);
        const deeper = { ...inside, depth: inside.depth + 1 };
        const alternate = this.#pick(2) === 0 ? null : this.#statements(deeper, 2);
        body.push(e.ifThen(condition, this.#statements(deeper, 2), alternate));
      } else if (kind === 8) body.push(this.#while(inside));
      else body.push(this.#store(inside));
    }
    return e.block(...body);
  }

  #loop(scope: Scope): Stmt {
    const bounds: (Expr | number)[] = [n, m, 0, 1, 4, 7, 9, ...scope.indices];
    const end = this.#one(bounds);
    const begin = this.#one([0, 0, 0, 1, 3, ...scope.indices]);
    const mode = this.#one<For['mode']>(['serial', 'vector', 'unroll', 'vector']);
    const vector = mode === 'vector' && scope.place === null;
    const options = {
      mode: mode === 'vector' && !vector ? 'serial' : mode,
      step: vector ? 1 : this.#one([1, 1, 2, 3]),
    } as const;
    return e.forLoop(
      `i${this.#names++}`,
      begin,
      end,
      (index) => {
        const place = vector ? this.#placeOf(index, scope) : scope.place;
        const inside: Scope = {
          ...scope,
          indices: [...scope.indices, index],
          mutable: vector && this.#pick(4) > 0 ? [] : scope.mutable,
          sizes: begin === 0 && (end === n || end === m) ? [...scope.sizes, end] : scope.sizes,
          place,
          depth: scope.depth + 1,
        };
        // A local from outside that iterations assign would break the promise of independence.
        return this.#statements(vector ? { ...inside, mutable: [] } : inside, 3);
      },
      options,
    );
  }

  #placeOf(index: Var, scope: Scope): Place {
    const base = this.#index({ ...scope, place: null }, 1);
    const stride = this.#one([1, 1, 2, 5]);
    return () => e.add(e.mul(index, stride), base);
  }

  #while(scope: Scope): Stmt {
    const counter = e.variable(`w${this.#names++}`, 'i32');
    const deeper = { ...scope, locals: [...scope.locals], depth: scope.depth + 1 };
    const limit = this.#one<Expr>([e.i32(3), n, m]);
    return e.block(
      e.declare(counter, e.i32(0)),
      e.whileLoop(
        e.and(e.lt(counter, limit), e.lt(counter, 5)),
        e.block(this.#statements(deeper, 2), e.assign(counter, e.add(counter, 1))),
      ),
    );
  }

  #store(scope: Scope): Stmt {
    const to = this.#one(this.#outputs);
    const index = scope.place === null ? this.#index(scope, 2) : scope.place(to);
    return e.store(to, index, this.#expr(scope, e.loadedScalar(to.storage), 4));
  }

  /** An index from 0 on; no depth gives more than a few thousand. */
  #index(scope: Scope, depth: number): Expr {
    const atom = (): Expr =>
      scope.indices.length > 0 && this.#pick(4) > 0
        ? this.#one(scope.indices)
        : e.i32(this.#pick(10));
    if (depth === 0) return atom();
    const inner = (): Expr => this.#index(scope, depth - 1);
    switch (this.#pick(9)) {
      case 1:
        return e.add(inner(), inner());
      case 2:
        return e.mul(atom(), this.#pick(6));
      case 3:
        return e.add(e.mul(atom(), this.#one<Expr>([n, m, e.i32(8)])), atom());
      case 4:
        return e.div(inner(), 1 + this.#pick(5));
      case 5:
        return e.rem(inner(), 1 + this.#pick(5));
      case 6: {
        if (scope.sizes.length === 0) return atom();
        const size = this.#one(scope.sizes);
        const sum = e.add(e.mul(atom(), size), atom());
        return this.#pick(2) === 0 ? e.div(sum, size) : e.rem(sum, size);
      }
      case 7:
        return e.binary(this.#one<BinaryOp>(['min', 'max']), inner(), inner());
      case 8:
        return e.add(e.sub(inner(), e.i32(this.#pick(4))), 3);
      default:
        return atom();
    }
  }

  #load(scope: Scope, scalar: Scalar): Expr | null {
    const readable = scope.place === null ? [...inputs, ...this.#outputs] : inputs;
    const fitting = readable.filter((from) => e.loadedScalar(from.storage) === scalar);
    if (fitting.length === 0) return null;
    return e.load(this.#one(fitting), this.#index(scope, 2));
  }

  #expr(scope: Scope, scalar: Scalar, depth: number): Expr {
    const locals = [...scope.locals, ...scope.mutable].filter((v) => v.type.scalar === scalar);
    const deeper = (type: Scalar = scalar): Expr => this.#expr(scope, type, depth - 1);
    const kind = depth === 0 ? this.#pick(3) : this.#pick(9);
    switch (kind) {
      case 1:
        if (locals.length > 0) return this.#one(locals);
        return this.#load(scope, scalar) ?? this.#constant(scalar);
      case 2:
        return this.#load(scope, scalar) ?? this.#constant(scalar);
      case 3:
      case 4:
        return this.#binary(scalar, deeper);
      case 5:
        return e.select(deeper('bool'), deeper(), deeper());
      case 6:
        return e.cast(scalar, deeper(this.#one(this.#scalars)));
      case 7: {
        return e.unary(this.#one([...unaryOps[scalar]]), deeper());
      }
      case 8: {
        const shared = deeper();
        if (scalar === 'bool') return e.binary(this.#one<BinaryOp>(['and', 'xor']), shared, shared);
        return this.#binary(scalar, () => shared);
      }
      default:
        return scalar === 'i32' ? this.#index(scope, 1) : this.#constant(scalar);
    }
  }

  #binary(scalar: Scalar, operand: (type?: Scalar) => Expr): Expr {
    if (scalar === 'bool') {
      const type = this.#one<Scalar>(['bool', 'f32', 'i32']);
      const ops = type === 'bool' ? binaryOps.bool : comparisonOps;
      return e.binary(this.#one([...ops]), operand(type), operand(type));
    }
    const op = this.#one([...binaryOps[scalar]].filter((each) => !comparisonOps.has(each)));
    const isWhole = scalar === 'i32' || scalar === 'i64';
    const isQuotient = isWhole && (op === 'div' || op === 'rem');
    return e.binary(op, operand(), isQuotient ? 2 + this.#pick(5) : operand());
  }

  #constant(scalar: Scalar): Expr {
    if (scalar === 'bool') return e.constant('bool', this.#pick(2));
    const integral = scalar === 'i32' || scalar === 'i64';
    return e.constant(scalar, this.#one(integral ? [0, 1, -1, 2, 7] : [0, 1, -1, -0, 0.5, 3]));
  }
}
