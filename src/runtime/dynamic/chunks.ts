import { type DimBindings, type DimExpr, evaluateDim } from '../../base/dim/index.js';
import { type CallNode, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { whileLoop } from '../../ops/control/while-loop.js';
import type { WhileForm } from '../../ops/declare/lowering.js';
import { carrierOf, undeterminedSymbols, partition } from '../../passes/host/partition.js';
import type { Executable, Inspectable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { type HostCall, inHostCall } from './host-call.js';
import { copyOperand, leastCapacity, StackedRows } from './rows.js';
import { carrying, shapeAt } from './sizes.js';

/** A loop for at most so many iterations, compiled as one. */
export interface Chunk {
  readonly program: Program;
  /** What its last input carries: sizes of the surroundings, then the most iterations. */
  readonly symbols: readonly string[];
}

/** Chunks of rows grow up to so many bytes. */
export const mostBytes: number = 2 ** 24;

/**
 * A loop whose rows are as many as its iterations, as a padded one for some of them. Null where that
 * would not be compiled either.
 */
export function chunkOf(
  { regions: [condition, body] }: CallNode,
  { states, padded }: WhileForm,
  operands: readonly TensorType[],
): Chunk | null {
  if (padded) return null;
  const program = new Program();
  const values = operands.map((type, k) => program.variable(`x${k}`, type));
  const limit = program.freshDim('chunk', { min: 1 }) as DimExpr;
  const symbols = [...undeterminedSymbols(operands), limit];
  program.variable('sizes', carrierOf(symbols));
  const results = whileLoop<Value>(condition, body, {
    states: values.slice(0, states),
    captures: values.slice(states),
    limit,
    padded: true,
  });
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  if (partition(program) !== null) return null;
  return { program, symbols: symbols.map(({ key }) => key) };
}

/**
 * A loop with as many rows as iterations: chunks of it run compiled, each for more iterations than the
 * last one, until one ends before it has to.
 */
export class HostChunks implements HostCall {
  readonly #call: CallNode;
  readonly #form: WhileForm;
  readonly #chunk: Inspectable;
  readonly #symbols: readonly string[];
  readonly #condition: () => Executable;

  /** `condition` is only asked for once a chunk is full. */
  constructor(
    call: CallNode,
    form: WhileForm,
    { symbols }: Chunk,
    chunk: Inspectable,
    condition: () => Executable,
  ) {
    this.#call = call;
    this.#form = form;
    this.#chunk = chunk;
    this.#symbols = symbols.slice(0, -1);
    this.#condition = condition;
  }

  run(operands: readonly Operand[], sizes: DimBindings): readonly Operand[] {
    const { states, limit } = this.#form;
    const { types } = this.#call;
    const outputs = types.length - states - 1;
    const most = limit === null ? Infinity : evaluateDim(limit, sizes);
    const captures = operands.slice(states);
    const given = this.#symbols.map((name) => sizes.get(name)!);
    const stacked = types.slice(0, outputs).map(({ dtype, shape }) => {
      return new StackedRows(dtype, shapeAt({ shape: shape.slice(1) }, sizes), 0);
    });
    const rowBytes = stacked.reduce((bytes, rows) => bytes + rows.rowBytes, 1);
    const largest = Math.max(leastCapacity, Math.floor(mostBytes / rowBytes));
    let current = operands.slice(0, states);
    /** Where the states go: to storages of the loop's own, once there are any. */
    let homes: readonly (Storage | null)[] = current.map(() => null);
    let count = 0;
    let capacity = Math.min(leastCapacity, most);
    try {
      while (capacity > 0) {
        const results = this.#chunk.run(
          [...current, ...captures, carrying([...given, capacity])],
          [...stacked.map((rows) => rows.at(count, capacity)), ...homes],
        );
        const done = results[results.length - 1].storage.host[0] as number;
        count += done;
        current = results.slice(outputs, -1);
        homes = current.map(({ storage }) => storage);
        if (done < capacity || count === most || !this.#goesOn([...current, ...captures])) break;
        capacity = Math.min(2 * capacity, largest, most - count);
      }
    } catch (error) {
      throw inHostCall(error, `from iteration ${count} on`, this.#call);
    }
    return [
      ...stacked.map((rows) => rows.first(count)),
      ...(homes.includes(null) ? current.map(copyOperand) : current),
      { storage: new Storage('int32', Int32Array.of(count)), shape: [] },
    ];
  }

  #goesOn(inputs: readonly Operand[]): boolean {
    return this.#condition().run(inputs)[0].storage.host[0] !== 0;
  }
}
