/** A number with the methods of arrays that random programs use. It keeps how tests of it came out. */
export class PlainNumber {
  readonly value: number;
  /** The outcomes of all tests so far, of this number and of those it was computed with. */
  readonly #tests: boolean[];

  constructor(value: number, tests: boolean[]) {
    this.value = value;
    this.#tests = tests;
  }

  add(other: PlainNumber | number): PlainNumber {
    return this.#made(this.value + numberOf(other));
  }

  sub(other: PlainNumber | number): PlainNumber {
    return this.#made(this.value - numberOf(other));
  }

  mul(other: PlainNumber | number): PlainNumber {
    return this.#made(this.value * numberOf(other));
  }

  div(other: PlainNumber | number): PlainNumber {
    return this.#made(this.value / numberOf(other));
  }

  sin(): PlainNumber {
    return this.#made(Math.sin(this.value));
  }

  tanh(): PlainNumber {
    return this.#made(Math.tanh(this.value));
  }

  exp(): PlainNumber {
    return this.#made(Math.exp(this.value));
  }

  less(other: PlainNumber | number): boolean {
    return this.#tested(this.value < numberOf(other));
  }

  greaterEqual(other: PlainNumber | number): boolean {
    return this.#tested(this.value >= numberOf(other));
  }

  #made(value: number): PlainNumber {
    return new PlainNumber(value, this.#tests);
  }

  #tested(outcome: boolean): boolean {
    this.#tests.push(outcome);
    return outcome;
  }
}

const numberOf = (value: PlainNumber | number): number =>
  typeof value === 'number' ? value : value.value;

type OnNumbers = (
  a: PlainNumber,
  b: PlainNumber,
  rows: (...all: PlainNumber[]) => readonly PlainNumber[],
  demand: (condition: boolean, message: string) => void,
  total: (list: readonly PlainNumber[]) => PlainNumber,
) => PlainNumber;

/** A run of a program on plain numbers. */
export interface PlainRun {
  readonly value: number;
  /** The way that it took: the outcomes of its tests. */
  readonly path: string;
}

/** A check of a program that did not hold. */
export class Refusal extends Error {}

/**
 * Runs a program as it is written on two numbers.
 * @throws what the program throws, a Refusal for a check.
 */
export function runPlainly(program: unknown, a: number, b: number): PlainRun {
  const tests: boolean[] = [];
  const number = (value: number): PlainNumber => new PlainNumber(value, tests);
  const demand = (condition: boolean, message: string): void => {
    if (!condition) throw new Refusal(message);
  };
  // The sum of all sums of the first rows, and how many there are.
  const total = (list: readonly PlainNumber[]): PlainNumber =>
    list.reduce((sum, row, i) => sum.add(row.mul(list.length - i)), number(list.length));
  const { value } = (program as OnNumbers)(number(a), number(b), (...all) => all, demand, total);
  return { value, path: tests.map(Number).join('') };
}
