import { type DimBindings, symbolsOf } from '../../base/dim/index.js';
import { ShapeError } from '../../base/errors.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Operand } from '../execution/executable.js';
import type { Storage } from '../memory/storage.js';
import { AgreedRows, type RowDestination, StackedRows } from './rows.js';
import { shapeAt } from './sizes.js';

/* What the iterations of a loop give whose body decides sizes: it is looked at when it is there. */

/** Where the rows of a loop go that its iterations make: the results that come before the states. */
export function rowDestinations(
  call: CallNode,
  outputs: number,
  capacity: number,
  sizes: DimBindings,
): readonly RowDestination[] {
  return call.types.slice(0, outputs).map((type, k) => {
    const row = { dtype: type.dtype, shape: type.shape.slice(1) };
    const isKnown = row.shape.every((dim) => [...symbolsOf(dim)].every((name) => sizes.has(name)));
    return isKnown
      ? new StackedRows(row.dtype, shapeAt(row, sizes), capacity)
      : new AgreedRows(row, `output ${k}`, call, capacity);
  });
}

/** The states that an iteration has made: those of sizes that its data decides must be like the ones before. */
export class ReturnedStates {
  readonly #call: CallNode;
  /** By state: the shape that it must have, where that takes a look. */
  readonly #wanted: readonly (readonly number[] | null)[];

  constructor(call: CallNode, outputs: number, sizes: DimBindings) {
    const body = call.regions[call.regions.length - 1];
    this.#call = call;
    this.#wanted = body.outputs
      .slice(outputs)
      .map((_, k) =>
        hasOwnSize(body, outputs + k) ? shapeAt(call.types[outputs + k], sizes) : null,
      );
  }

  /** Where the next iteration writes: to the storages of these, but for those that have to be looked at first. */
  homesOf(states: readonly Operand[]): readonly (Storage | null)[] {
    return states.map(({ storage, shape }, k) => {
      const wanted = this.#wanted[k];
      if (wanted === null) return storage;
      if (shape.some((size, axis) => size !== wanted[axis])) {
        throw new ShapeError(`state ${k} changes its shape`, {
          op: this.#call.op.name,
          expected: `[${wanted.join(', ')}]`,
          actual: `[${shape.join(', ')}]`,
          advice: 'a state keeps its shape from one iteration to the next',
        });
      }
      return null;
    });
  }
}

/** Whether the data of a program decides a size of an output. */
function hasOwnSize({ outputs, decidedSizes }: Program, output: number): boolean {
  const { shape }: TensorType = outputs[output].value.type;
  return shape.some((dim) => [...symbolsOf(dim)].some((name) => decidedSizes.has(name)));
}
