import { type DimBindings, evaluateDim } from '../../base/dim/index.js';
import type { CallNode } from '../../ir/program.js';
import type { WhileForm } from '../../ops/declare/lowering.js';
import type { Executable, Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { type HostCall, inHostCall } from './host-call.js';
import { ReturnedStates, rowDestinations } from './iterations.js';
import { copyOperand } from './rows.js';

/** A loop that a condition ends and that the host runs, one call of condition and body after the other. */
export class HostWhile implements HostCall {
  readonly #call: CallNode;
  readonly #form: WhileForm;
  readonly #condition: Executable;
  readonly #body: Executable;

  constructor(call: CallNode, form: WhileForm, condition: Executable, body: Executable) {
    this.#call = call;
    this.#form = form;
    this.#condition = condition;
    this.#body = body;
  }

  run(operands: readonly Operand[], sizes: DimBindings): readonly Operand[] {
    const { states, limit, padded } = this.#form;
    const { types } = this.#call;
    const outputs = types.length - states - 1;
    const most = limit === null ? Infinity : evaluateDim(limit, sizes);
    const captures = operands.slice(states);
    const stacked = rowDestinations(this.#call, outputs, padded ? most : 0, sizes);
    const returned = new ReturnedStates(this.#call, outputs, sizes);
    let current = operands.slice(0, states);
    /** Where the states go: to storages of the loop's own, once there are any. */
    let homes: readonly (Storage | null)[] = current.map(() => null);
    let count = 0;
    for (; count < most; count++) {
      try {
        const inputs = [...current, ...captures];
        const [{ storage: holds }] = this.#condition.run(inputs);
        if (holds.host[0] === 0) break;
        const results = this.#body.run(inputs, [
          ...stacked.map((rows) => rows.at(count)),
          ...homes,
        ]);
        stacked.forEach((rows, k) => rows.keep(count, results[k]));
        current = results.slice(outputs);
        homes = returned.homesOf(current);
      } catch (error) {
        throw inHostCall(error, `iteration ${count}`, this.#call);
      }
    }
    return [
      ...stacked.map((rows) => rows.first(padded ? most : count)),
      ...(count === 0 ? current.map(copyOperand) : current),
      { storage: new Storage('int32', Int32Array.of(count)), shape: [] },
    ];
  }
}
