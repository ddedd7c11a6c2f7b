import { type Dim, evaluateDim, substituteDim } from '../../base/dim/index.js';
import { allocate } from '../../base/dtype.js';
import { inContext, InternalError } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { substituteType } from '../../ir/bind.js';
import type { CallNode } from '../../ir/program.js';
import { refusalAt, refusalError, textOfWords, wordsAt } from '../../ir/requirement.js';
import { refuseElements } from '../../ops/declare/check.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Call, Callee, CheckElements, Grow, Handle, HostStatement, Part, Require, Run, Site, Stack, Stretch, Test } from '../../passes/host/statements.js'; // prettier-ignore
import type { Executable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

/** The compiled code that a routine runs. */
export interface Compiled {
  part(part: Part): Executable;
  callee(callee: Callee): Executable;
}

/** One run of a routine: what its names and handles stand for. */
export class Interpreter {
  readonly names: Map<string, number>;
  readonly #compiled: Compiled;
  /** By the numbers of handles. */
  readonly #arrays: (Storage | undefined)[];

  /** `names` has the sizes of the inputs, `arrays` what is there when the run starts. */
  constructor(compiled: Compiled, names: Map<string, number>, arrays: (Storage | undefined)[]) {
    this.names = names;
    this.#compiled = compiled;
    this.#arrays = arrays;
  }

  /** What a handle stands for by now. */
  storage({ id }: Handle): Storage {
    const storage = this.#arrays[id];
    if (storage === undefined) throw new InternalError('an array is read that is not there');
    return storage;
  }

  shapeAt({ shape }: Pick<Stretch, 'shape'>): number[] {
    return shape.map((dim) => this.#value(dim));
  }

  /** Runs statements in order. Gives whether one of them left the repetition around them. */
  execute(body: readonly HostStatement[]): boolean {
    for (const statement of body) if (this.#execute(statement)) return true;
    return false;
  }

  /** Runs code; `into` as in `Executable.run`. */
  run({ part, reads, gives }: Run, into?: readonly (Storage | null)[]): void {
    const operands = reads.map((stretch) => this.#operand(stretch));
    const results = this.#compiled.part(part).run(operands, into);
    gives.forEach((handle, k) => this.#set(handle, results[k].storage));
  }

  #execute(statement: HostStatement): boolean {
    switch (statement.kind) {
      case 'set':
      case 'assign':
        this.names.set(statement.name, this.#value(statement.value));
        return false;
      case 'load':
        this.names.set(statement.name, this.#element(statement.from));
        return false;
      case 'store':
        this.#target(statement.to).fill(Int32Array.of(this.#value(statement.value)));
        return false;
      case 'require':
        this.#require(statement);
        return false;
      case 'repeat':
        while (!this.execute(statement.body));
        return false;
      case 'leave':
        return this.#holds(statement.when);
      case 'choose':
        return this.execute(
          this.#holds(statement.when) ? statement.consequent : statement.alternate,
        );
      case 'allocate': {
        const rows = this.#value(statement.rows);
        for (const stack of statement.stacks) {
          const length = rows * this.#rowLength(stack);
          this.#set(stack.of, Storage.zeros(stack.of.dtype, length));
        }
        return false;
      }
      case 'grow':
        this.#grow(statement);
        return false;
      case 'copy':
        this.#target(statement.to).fill(this.#operand(statement.from).storage.elements);
        return false;
      case 'clear': {
        const target = this.#target(statement.at);
        if (target.length > 0) target.fill(allocate(target.dtype, target.length));
        return false;
      }
      case 'check':
        this.#check(statement);
        return false;
      case 'run':
        this.run(statement);
        return false;
      case 'call':
        this.#call(statement);
        return false;
      case 'drop':
        for (const { id } of statement.handles) this.#arrays[id] = undefined;
        return false;
    }
  }

  #set({ id }: Handle, storage: Storage): void {
    this.#arrays[id] = storage;
  }

  #value(dim: Dim): number {
    return typeof dim === 'number' ? dim : evaluateDim(dim, this.names);
  }

  #holds({ dim, relation }: Test): boolean {
    const value = this.#value(dim);
    return relation === '=' ? value === 0 : value >= 0;
  }

  #rowLength({ row }: Stack): number {
    return elementCount(this.shapeAt({ shape: row }));
  }

  #element({ of, offset = 0 }: Stretch): number {
    return Number(this.storage(of).elements[this.#value(offset)]);
  }

  #operand(stretch: Stretch): Operand {
    const { dtype, length, isPinned, host } = this.storage(stretch.of);
    const shape = this.shapeAt(stretch);
    const count = elementCount(shape);
    if (count === length) return { storage: this.storage(stretch.of), shape };
    const from = this.#value(stretch.offset ?? 0);
    // The memory that a pinned array lies in may move before the elements are read.
    const part = isPinned ? host.slice(from, from + count) : host.subarray(from, from + count);
    return { storage: new Storage(dtype, part), shape };
  }

  #target(stretch: Stretch): Storage {
    const storage = this.storage(stretch.of);
    const count = elementCount(this.shapeAt(stretch));
    if (count === storage.length) return storage;
    const from = this.#value(stretch.offset ?? 0);
    return Storage.window(storage.dtype, storage.host.subarray(from, from + count));
  }

  #grow({ stacks, rows, to, kept }: Grow): void {
    const [wanted, staying] = [this.#value(to), this.#value(kept)];
    if (wanted !== this.names.get(rows)) {
      for (const stack of stacks) {
        const length = this.#rowLength(stack);
        const grown = Storage.zeros(stack.of.dtype, wanted * length);
        const old = this.storage(stack.of).host.subarray(0, staying * length);
        Storage.window(stack.of.dtype, grown.host.subarray(0, staying * length)).fill(old);
        this.#set(stack.of, grown);
      }
    }
    this.names.set(rows, wanted);
  }

  #require({ test, refusal, site }: Require): void {
    if (this.#holds(test)) return;
    const error = refusalError(refusalAt(refusal, this.names));
    throw site === undefined ? error : this.#within(error, site);
  }

  #check({ call, types, elements }: CheckElements): void {
    const { op, attributes } = call;
    const actual = types.map((type) => substituteType(type, this.names));
    try {
      const known = mapAttributeDims(op.attributes, attributes, (dim) =>
        substituteDim(dim, this.names),
      );
      refuseElements(declarationOf(op).check!, this.storage(elements.of).host, actual, known);
    } catch (error) {
      throw inContext(error, 'in captured code', contextOf(call));
    }
  }

  #call({ callee, operands, results, site }: Call): void {
    const into = results.map((result) => (result.kind === 'into' ? this.#target(result.to) : null));
    try {
      const made = this.#compiled
        .callee(callee)
        .run(operands.map((stretch) => this.#operand(stretch)), into); // prettier-ignore
      results.forEach((result, k) => {
        if (result.kind === 'into') return;
        this.#set(result.as, made[k].storage);
        result.extents.forEach((name, axis) => {
          if (name !== null) this.names.set(name, made[k].shape[axis]);
        });
      });
    } catch (error) {
      throw this.#within(error, site);
    }
  }

  /** An error inside of a loop or branch, told from where the call stands that owns it. */
  #within(error: unknown, { where, call }: Site): unknown {
    return inContext(error, textOfWords(wordsAt(where, this.names)), contextOf(call));
  }
}

function contextOf({ op, source }: CallNode): { op: string; source?: string } {
  return { op: op.name, ...(source !== undefined && { source }) };
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}
