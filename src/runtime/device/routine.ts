import { copyElements } from '../../base/dtype.js';
import { type Dim, type DimBindings } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { refusalAt, refusalError } from '../../ir/requirement.js';
import { storageOf } from '../../ops/elements.js';
import { refuseInCapturedCode } from '../../passes/host/elements.js';
import { dimEvaluator, errorWithin, lengthEvaluator, shapeEvaluator, testEvaluator } from '../../passes/host/evaluate.js'; // prettier-ignore
import type { Handle, HostCallee, HostPart, HostRoutine, HostStatement, HostStatementOf, StackedArray, Stretch } from '../../passes/host/statements.js'; // prettier-ignore
import { arrayLength } from '../execution/binding.js';
import { RunArray } from './arrays.js';
import { clearElements, copyBetween, storeInteger } from './memory.js';
import type { DeviceQueue } from './queue.js';
import type { Waiting } from './queue/waiting.js';

/** Elements that code reads: some of an array's, as an array of this shape. */
export interface RunOperand {
  readonly array: RunArray;
  /** In elements. */
  readonly from: number;
  readonly length: number;
  readonly shape: readonly number[];
}

/** A result, which is nobody else's. */
export interface RunResult {
  readonly array: RunArray;
  readonly shape: readonly number[];
}

/** The code that a routine runs. */
export interface DeviceCode {
  /** `sizes` are those that the part is passed. */
  part(
    part: HostPart,
    operands: readonly RunOperand[],
    sizes: readonly number[],
  ): Waiting<readonly RunArray[]>;
  /** `sizes` are those that the program is passed. */
  callee(
    callee: HostCallee,
    operands: readonly RunOperand[],
    sizes: readonly number[],
  ): Waiting<readonly RunResult[]>;
}

/** Interprets the host program of a program on a device. */
export class RoutineRun {
  readonly #queue: DeviceQueue;
  readonly #code: DeviceCode;
  readonly #routine: HostRoutine;
  readonly #names: Map<string, number>;
  readonly #arrays: (RunArray | undefined)[] = [];
  /** The arrays that are to be freed. */
  readonly #own: Set<RunArray> = new Set();

  constructor(
    queue: DeviceQueue,
    code: DeviceCode,
    routine: HostRoutine,
    names: DimBindings,
    inputs: readonly RunArray[],
  ) {
    this.#queue = queue;
    this.#code = code;
    this.#routine = routine;
    this.#names = new Map(names);
    routine.inputs.forEach(({ id }, k) => (this.#arrays[id] = inputs[k]));
  }

  /** Runs it. The results are the caller's; all else is freed. */
  *run(): Waiting<readonly RunResult[]> {
    const { body, outputs, constants } = this.#routine;
    try {
      for (const [handle, { data }] of constants) {
        this.#put(handle, RunArray.ofHost(this.#queue, handle.dtype, data));
      }
      yield* this.#all(body);
      return yield* this.#results(outputs);
    } finally {
      for (const array of this.#own) array.free();
    }
  }

  *#results(outputs: readonly Stretch[]): Waiting<readonly RunResult[]> {
    const results: RunResult[] = [];
    for (const { of, shape: declared } of outputs) {
      const array = this.#at(of);
      const shape = shapeEvaluator(declared)(this.#names);
      const length = arrayLength(shape);
      if (length < array.length) {
        // There is room for more than there is.
        const part = yield* array.part(0, length);
        this.#own.add(part);
        results.push({ array: part, shape });
        continue;
      }
      const isFirst = this.#own.has(array) && !this.#routine.constants.has(of);
      // Inputs and constants are somebody else's, and so is what another output is.
      const result =
        isFirst && !results.some((other) => other.array === array) ? array : array.copy();
      this.#own.add(result);
      results.push({ array: result, shape });
    }
    for (const { array } of results) this.#own.delete(array);
    return results;
  }

  /** Runs statements in order; true where one of them leaves the repetition around them. */
  *#all(body: readonly HostStatement[]): Waiting<boolean> {
    for (const statement of body) if (yield* this.#one(statement)) return true;
    return false;
  }

  *#one(statement: HostStatement): Waiting<boolean> {
    const names = this.#names;
    switch (statement.kind) {
      case 'leave':
        return testEvaluator(statement.when)(names);
      case 'choose': {
        const { when, consequent, alternate } = statement;
        return yield* this.#all(testEvaluator(when)(names) ? consequent : alternate);
      }
      case 'repeat':
        while (!(yield* this.#all(statement.body)));
        return false;
      case 'set':
      case 'assign':
        names.set(statement.name, this.#value(statement.value));
        return false;
      case 'load': {
        const { of, offset = 0 } = statement.from;
        names.set(statement.name, yield* this.#at(of).element(this.#value(offset)));
        return false;
      }
      case 'store': {
        const { of, offset = 0 } = statement.to;
        this.#store(this.#at(of), this.#value(offset), this.#value(statement.value));
        return false;
      }
      case 'require':
        if (testEvaluator(statement.test)(names)) return false;
        throw refusalError(refusalAt(statement.refusal, names));
      case 'allocate':
        yield* this.#resize(statement.stacks, statement.rows, null);
        return false;
      case 'grow':
        if (this.#value(statement.needed) <= names.get(statement.rows)!) return false;
        yield* this.#resize(statement.stacks, statement.to, statement.kept);
        names.set(statement.rows, this.#value(statement.to));
        return false;
      case 'trim':
        yield* this.#resize(statement.stacks, statement.rows, statement.rows);
        return false;
      case 'copy': {
        const { array, from, length } = this.#operand(statement.from);
        yield* this.#copy(array, from, statement.to, length);
        return false;
      }
      case 'clear':
        this.#clear(this.#operand(statement.at));
        return false;
      case 'check': {
        const { call, elements, types } = statement;
        // An array may have room for more elements than its data has decided.
        const { array, from, length } = this.#operand(elements);
        const all = yield* array.elements();
        refuseInCapturedCode(call, all.subarray(from, from + length), types, names);
        return false;
      }
      case 'run': {
        const operands = statement.reads.map((stretch) => this.#operand(stretch));
        const sizes = shapeEvaluator(statement.sizes)(names);
        const made = yield* this.#code.part(statement.part, operands, sizes);
        statement.gives.forEach((handle, k) => this.#put(handle, made[k]));
        return false;
      }
      case 'call':
        yield* this.#call(statement);
        return false;
      case 'drop':
        for (const handle of statement.handles) this.#drop(handle);
        return false;
    }
  }

  *#call({ callee, operands, sizes, results, site }: HostStatementOf<'call'>): Waiting<void> {
    const given = operands.map((stretch) => this.#operand(stretch));
    let made: readonly RunResult[];
    try {
      made = yield* this.#code.callee(callee, given, shapeEvaluator(sizes)(this.#names));
    } catch (error) {
      throw errorWithin(error, site, this.#names);
    }
    const own = new Set(made.map(({ array }) => array));
    try {
      for (const [k, result] of results.entries()) {
        const { array, shape } = made[k];
        if (result.kind === 'into') yield* this.#copy(array, 0, result.to, array.length);
        else {
          own.delete(array);
          this.#put(result.as, array);
          result.extents.forEach((name, axis) => {
            if (name !== null) this.#names.set(name, shape[axis]);
          });
        }
      }
    } finally {
      for (const array of own) array.free();
    }
  }

  /** New memory for `rows` rows of each array, into which the first `kept` are moved; null for new arrays. */
  *#resize(stacks: readonly StackedArray[], rows: Dim, kept: Dim | null): Waiting<void> {
    for (const { of, row } of stacks) {
      const rowLength = lengthEvaluator(row)(this.#names);
      const length = this.#value(rows) * rowLength;
      const old = kept === null ? undefined : this.#at(of);
      if (old?.length === length) continue;
      const array = RunArray.room(this.#queue, of.dtype, length);
      this.#own.add(array);
      if (old !== undefined) {
        const moved = Math.min(this.#value(kept!) * rowLength, length);
        yield* transfer(this.#queue, { array: old, from: 0 }, { array, from: 0 }, moved);
      }
      this.#put(of, array);
    }
  }

  *#copy(array: RunArray, from: number, to: Stretch, length: number): Waiting<void> {
    const target = { array: this.#at(to.of), from: this.#value(to.offset ?? 0) };
    const count = Math.min(length, lengthEvaluator(to.shape)(this.#names));
    yield* transfer(this.#queue, { array, from }, target, count);
  }

  #clear({ array, from, length }: RunOperand): void {
    if (array.isOnHost) {
      const { hostTarget } = array;
      if (hostTarget instanceof BigInt64Array) hostTarget.fill(0n, from, from + length);
      else hostTarget.fill(0, from, from + length);
      return;
    }
    clearElements(this.#queue, storageOf(array.dtype), array.target(from), 0, length);
  }

  #store(array: RunArray, at: number, value: number): void {
    if (array.isOnHost) array.hostTarget[at] = value;
    else storeInteger(this.#queue, array.target(at), value);
  }

  #operand({ of, shape: declared, offset = 0 }: Stretch): RunOperand {
    const shape = shapeEvaluator(declared)(this.#names);
    const length = arrayLength(shape);
    const array = this.#at(of);
    return { array, shape, length, from: length === array.length ? 0 : this.#value(offset) };
  }

  #value(dim: Dim): number {
    return dimEvaluator(dim)(this.#names);
  }

  #at({ id }: Handle): RunArray {
    const array = this.#arrays[id];
    if (array === undefined) throw new InternalError('an array is read that is not there');
    return array;
  }

  #put({ id }: Handle, array: RunArray): void {
    const old = this.#arrays[id];
    this.#arrays[id] = array;
    this.#own.add(array);
    if (old !== undefined && old !== array && this.#own.delete(old)) old.free();
  }

  #drop({ id }: Handle): void {
    const array = this.#arrays[id];
    this.#arrays[id] = undefined;
    if (array !== undefined && this.#own.delete(array)) array.free();
  }
}

interface ArrayPosition {
  readonly array: RunArray;
  readonly from: number;
}

/** Copies elements from one array to another, wherever they are. */
function* transfer(
  queue: DeviceQueue,
  from: ArrayPosition,
  to: ArrayPosition,
  length: number,
): Waiting<void> {
  if (length <= 0) return;
  const { array } = to;
  if (array.isOnHost) {
    const elements = yield* from.array.elements();
    const part = array.hostTarget.subarray(to.from, to.from + length);
    copyElements(part, elements.subarray(from.from, from.from + length));
    return;
  }
  copyBetween(queue, array.dtype, from.array.slot(from.from), array.target(to.from), length);
}
