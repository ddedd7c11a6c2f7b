import { type DType, isFloat, kindOf } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import type { NDArray } from '../../src/index.js';

/** A value of a program in the making, with what it holds in each of the trials. */
export interface Known {
  readonly id: number;
  readonly dtype: DType;
  readonly arrays: readonly NDArray[];
  /**
   * What tells the sizes of its axes apart: sizes in all trials, or the value whose data decides. Two sizes
   * that data decides may be equal, but captured code cannot know.
   */
  readonly extents: readonly string[];
  readonly taint: number;
  /** In how many bodies the step stands whose data decides its sizes; 0 where that is the program or nobody. */
  readonly sized: number;
  /** Whether its elements are finite and of ordinary size, whatever they are. */
  readonly isTame: boolean;
  readonly low: number;
  readonly high: number;
}

const tameness = 100;

export function knownValue(
  id: number,
  arrays: readonly NDArray[],
  taint: number,
  extents: readonly string[] = extentsOf(arrays),
): Known {
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
  return { id, dtype, arrays, extents, taint, sized: 0, isTame, low, high };
}

/** Whether a value has one shape in all trials. */
export function isFixed({ arrays }: Known): boolean {
  return arrays.every(({ shape }) => shape.join() === arrays[0].shape.join());
}

/** Whether one of some axes has one size in all trials. */
export function hasFixedAxis({ arrays }: Known, isMeant: (axis: number) => boolean): boolean {
  return arrays[0].shape.some(
    (size, axis) => isMeant(axis) && arrays.every(({ shape }) => shape[axis] === size),
  );
}

/** Whether two values have one shape, whatever it is in each of the trials. */
export function sameShapes(a: Known, b: Known): boolean {
  return a.extents.join(';') === b.extents.join(';');
}

/** The sizes of each axis in all trials. */
export function extentsOf(arrays: readonly NDArray[]): string[] {
  return arrays[0].shape.map((_, axis) => arrays.map(({ shape }) => shape[axis]).join());
}

/** What an axis is told by whose size data decides. */
export function openExtent(by: string): string {
  return `#${by}`;
}

export function isOpen(extent: string): boolean {
  return extent.startsWith('#');
}

/** Whether a value varies: zeros everywhere hide most mistakes. */
export function isVaried({ low, high }: Known): boolean {
  return high > low;
}

export function sameKind(a: DType, b: DType): boolean {
  return kindOf(a) === kindOf(b);
}

/** Whether two values broadcast, and in one way in all trials. */
export function broadcasts(a: Known, b: Known): boolean {
  const ranks = Math.min(a.extents.length, b.extents.length);
  const isOne = ({ arrays }: Known, back: number): boolean => arrays.every(({ shape }) => shape.at(-back) === 1); // prettier-ignore
  return Array.from({ length: ranks }, (_, i) => i + 1).every(
    (back) => a.extents.at(-back) === b.extents.at(-back) || isOne(a, back) || isOne(b, back),
  );
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
export function recolor(dtype: DType, palette: Palette, choices: Choices): DType {
  if (isFloat(dtype)) return choices.chance(0.9) ? palette.float : palette.other;
  if (kindOf(dtype) === 'int' && choices.chance(0.3)) return palette.int;
  return dtype;
}
