import type { DimBindings } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { CallNode } from '../../ir/program.js';
import type { ForeachForm } from '../../ops/declare/lowering.js';
import type { Executable, Operand } from '../execution/executable.js';
import type { Storage } from '../memory/storage.js';
import { type HostCall, inHostCall } from './host-call.js';
import { ReturnedStates, rowDestinations } from './iterations.js';
import { copyOperand, RowReader } from './rows.js';

/** A loop over rows that the host runs, one call of the body for each. */
export class HostForeach implements HostCall {
  readonly #call: CallNode;
  readonly #form: ForeachForm;
  readonly #body: Executable;

  constructor(call: CallNode, form: ForeachForm, body: Executable) {
    this.#call = call;
    this.#form = form;
    this.#body = body;
  }

  run(operands: readonly Operand[], sizes: DimBindings): readonly Operand[] {
    const { data, states, reverse, counted } = this.#form;
    const { types } = this.#call;
    const outputs = types.length - states;
    const [length] = operands[0].shape;
    const end = operands.length - Number(counted);
    const count = counted ? this.#countIn(operands[end], length) : length;
    const slices = operands.slice(0, data).map((operand) => new RowReader(operand));
    const captures = operands.slice(data + states, end);
    const stacked = rowDestinations(this.#call, outputs, length, sizes);
    const returned = new ReturnedStates(this.#call, outputs, sizes);
    let current = operands.slice(data, data + states);
    /** Where the states go: to storages of the loop's own, once there are any. */
    let homes: readonly (Storage | null)[] = current.map(() => null);
    for (let iteration = 0; iteration < count; iteration++) {
      const row = reverse ? count - 1 - iteration : iteration;
      try {
        const results = this.#body.run(
          [...slices.map((slice) => slice.at(row)), ...current, ...captures],
          [...stacked.map((rows) => rows.at(row)), ...homes],
        );
        stacked.forEach((rows, k) => rows.keep(row, results[k]));
        current = results.slice(outputs);
        homes = returned.homesOf(current);
      } catch (error) {
        throw inHostCall(error, `iteration ${iteration}`, this.#call);
      }
    }
    const final = count === 0 ? current.map(copyOperand) : current;
    return [...stacked.map((rows) => rows.first(length)), ...final];
  }

  #countIn({ storage }: Operand, length: number): number {
    const count = Number(storage.host[0]);
    if (count >= 0 && count <= length) return count;
    const { op, source } = this.#call;
    throw new ArgumentError('there are not so many rows', {
      op: op.name,
      expected: `a count from 0 to ${length}`,
      actual: String(count),
      ...(source !== undefined && { source }),
    });
  }
}
