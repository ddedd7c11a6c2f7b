import { type DType, isFloat, kindOf } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import type { NDArray } from '../../src/index.js';

/** A value of a program in the making, with what it holds for each of the program's sizes. */
export interface Known {
  readonly id: number;
  readonly dtype: DType;
  readonly arrays: readonly NDArray[];
  readonly taint: number;
  /** Whether its elements are finite and of ordinary size, whatever they are. */
  readonly isTame: boolean;
  readonly low: number;
  readonly high: number;
}

const tameness = 100;

export function knownValue(id: number, arrays: readonly NDArray[], taint: number): Known {
  const { dtype } = arrays[0];
  let [low, high] = [Infinity, -Infinity];
  let isFinite = true;
  for (const array of arrays) {
    const { host } = array.storage;
    for (let i = 0; i < host.length; i++) {
      const value = Number(readElement(dtype, host, i));
      if (!Number.isFinite(value)) isFinite = false;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const isTame = isFinite && (low > high || (low >= -tameness && high <= tameness));
  return { id, dtype, arrays, taint, isTame, low, high };
}

/** Whether a value varies: zeros everywhere hide most mistakes. */
export function isVaried({ low, high }: Known): boolean {
  return high > low;
}

export function sameKind(a: DType, b: DType): boolean {
  return kindOf(a) === kindOf(b);
}

/** The shapes of a value, one for each of the program's sizes. */
export function shapesOf({ arrays }: Known): (readonly number[])[] {
  return arrays.map(({ shape }) => shape);
}

/** Whether one shape broadcasts with another. */
export function broadcasts(a: readonly number[], b: readonly number[]): boolean {
  return Array.from({ length: Math.min(a.length, b.length) }, (_, i) => i + 1).every((back) => {
    const [x, y] = [a.at(-back), b.at(-back)];
    return x === y || x === 1 || y === 1;
  });
}

/** A source of choices. */
export class Choices {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  /** An entry, the later the likelier: programs shall be deep. */
  late<T>(list: readonly T[]): T {
    return list[list.length - 1 - Math.floor(this.#random() ** 2 * list.length)];
  }

  shuffled<T>(list: readonly T[]): T[] {
    const result = [...list];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [result[i], result[j]] = [result[j], result[i]];
    }
    return result;
  }
}

/** What dtypes a program's floats and integers have. */
export interface Palette {
  readonly float: DType;
  readonly other: DType;
  readonly int: DType;
}

export function choosePalette(choices: Choices): Palette {
  return {
    float: choices.pick(['float32', 'float32', 'float32', 'float64']),
    other: choices.pick(['float64', 'float16', 'bfloat16', 'float32']),
    int: choices.pick(['int32', 'int32', 'int64', 'int8', 'uint8']),
  };
}

/** The dtype that an operand declared with `dtype` shall have. */
export function recolour(dtype: DType, palette: Palette, choices: Choices): DType {
  if (isFloat(dtype)) return choices.chance(0.9) ? palette.float : palette.other;
  if (kindOf(dtype) === 'int' && choices.chance(0.3)) return palette.int;
  return dtype;
}
