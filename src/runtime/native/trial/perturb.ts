import { type DType, type HostArray, isFloat } from '../../../base/dtype.js';
import { writeElement } from '../../../base/element.js';
import type { Operand } from '../../execution/executable.js';
import { Storage } from '../../memory/storage.js';
import { numbersOf } from './compare.js';

/**
 * Runs code on operands whose floats are perturbed by up to `slack`, relative to themselves. Whole numbers
 * stay: they count, label and select, and are seldom the outcome of rounding. Pinned operands are changed in
 * place, and restored afterwards.
 */
export function onPerturbed<R>(
  inputs: readonly Operand[],
  slack: number,
  run: (inputs: readonly Operand[]) => R,
): R {
  const noise = new Noise(slack);
  const changed = new Map<Storage, Storage>();
  const originals = new Map<Storage, HostArray>();
  try {
    const operands = inputs.map((operand): Operand => {
      const { storage, shape } = operand;
      if (!isFloat(storage.dtype)) return operand;
      let other = changed.get(storage);
      if (other === undefined) {
        const elements = noise.on(storage.dtype, storage.host);
        other = storage.isPinned ? storage : new Storage(storage.dtype, elements);
        if (storage.isPinned) {
          originals.set(storage, storage.host.slice());
          storage.fill(elements);
        }
        changed.set(storage, other);
      }
      return { storage: other, shape };
    });
    return run(operands);
  } finally {
    for (const [storage, elements] of originals) storage.fill(elements);
  }
}

/** Deterministic, so that a verdict is reproducible. */
class Noise {
  readonly #slack: number;
  #state = 1;

  constructor(slack: number) {
    this.#slack = slack;
  }

  on(dtype: DType, elements: HostArray): HostArray {
    const values = numbersOf(dtype, elements);
    const noisy = elements.slice();
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (!Number.isFinite(value) || Number.isInteger(value)) continue;
      writeElement(dtype, noisy, i, value * (1 + this.#slack * this.#next()));
    }
    return noisy;
  }

  /** Between -1 and 1, by the multiplier of L'Ecuyer's tables (1999) for 32 bits. */
  #next(): number {
    this.#state = (Math.imul(this.#state, 1597334677) + 1) | 0;
    return this.#state / 2 ** 31;
  }
}
