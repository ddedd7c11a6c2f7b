import { InternalError } from '../../base/errors.js';
import type { Buffer, Var } from '../../loop/language/nodes.js';
import type { ByteWriter } from './encoding/bytes.js';
import { typeCodes, type ValueType } from './encoding/opcodes.js';
import type { Home, LocalScope } from './select/statement.js';

/** The locals of one function. A local whose scope has ended is reused for the next of its type. */
export class Locals implements LocalScope {
  readonly #kernel: string;
  readonly #homes: Map<Var | Buffer, Home> = new Map();
  readonly #types: ValueType[] = [];
  readonly #free: Record<ValueType, number[]> = { i32: [], i64: [], f32: [], f64: [], v128: [] };
  #parameters = 0;

  constructor(kernel: string) {
    this.#kernel = kernel;
  }

  /** Parameters come first, in order. */
  parameter(owner: Var | Buffer, type: ValueType): void {
    this.#homes.set(owner, { local: this.fresh(type), nonNegative: false });
    this.#parameters++;
  }

  take(type: ValueType): number {
    return this.#free[type].pop() ?? this.fresh(type);
  }

  /** A local that no code written so far has used. */
  fresh(type: ValueType): number {
    return this.#types.push(type) - 1;
  }

  release(local: number): void {
    this.#free[this.#types[local]].push(local);
  }

  bind(variable: Var, home: Home): void {
    this.#homes.set(variable, home);
  }

  /** Ends a variable's scope. */
  unbind(variable: Var): void {
    this.release(this.variable(variable).local);
    this.#homes.delete(variable);
  }

  variable(variable: Var): Home {
    return this.#home(variable);
  }

  buffer(buffer: Buffer): Home {
    return this.#home(buffer);
  }

  #home(owner: Var | Buffer): Home {
    const home = this.#homes.get(owner);
    if (home === undefined)
      throw new InternalError(`wasm: ${owner.name} is not in scope in kernel ${this.#kernel}`);
    return home;
  }

  /** Declares all locals but the parameters, in runs of equal types. */
  write(code: ByteWriter): void {
    const runs: { type: ValueType; count: number }[] = [];
    for (const type of this.#types.slice(this.#parameters)) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    code.u32(runs.length);
    for (const { type, count } of runs) {
      code.u32(count);
      code.u8(typeCodes[type]);
    }
  }
}
