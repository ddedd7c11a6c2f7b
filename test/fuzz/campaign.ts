import assert from 'node:assert/strict';
import { isFloat } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import { registry } from '../../src/ops/registry.js';
import { checkProgram, oracleOf, programOf } from './check.js';
import { excluded } from './facts.js';
import type { Generated } from './generate.js';

const { KAON_SEED: seedGiven, KAON_PROGRAMS: countGiven, KAON_LONG_TESTS: long } = process.env;

/** The seeds to try: 10,000 fresh ones at night, others and other numbers on request. */
export function seedsOf(fixed: readonly [from: number, count: number]): readonly number[] {
  const isLong = long === '1';
  const first = Number(seedGiven ?? (isLong ? Date.now() % 2 ** 31 : fixed[0]));
  const count = Number(countGiven ?? (isLong ? 10_000 : fixed[1]));
  return Array.from({ length: count }, (_, i) => first + i);
}

/** Whether only the programs that a person asked for are run, which need not show anything else. */
export const isReplay: boolean = countGiven !== undefined;

/** What a row of programs was made of. */
export class Census {
  readonly #operators: Map<string, number> = new Map();
  #calls = 0;
  #programs = 0;
  #arrays = 0;
  #telling = 0;

  add({ program, values }: Generated): void {
    this.#programs++;
    this.#calls += program.steps.length;
    for (const { op } of program.steps) {
      this.#operators.set(op, (this.#operators.get(op) ?? 0) + 1);
    }
    for (const id of program.outputs) {
      const { dtype, shape, storage } = values.get(id)!;
      if (!isFloat(dtype) || shape.reduce((a, b) => a * b, 1) < 2) continue;
      this.#arrays++;
      const numbers = Array.from({ length: storage.length }, (_, i) =>
        Number(readElement(dtype, storage.host, i)),
      );
      if (numbers.every(Number.isFinite) && new Set(numbers).size > 1) this.#telling++;
    }
  }

  /** Asserts that the programs are long, hold every operator there is, and compute something. */
  check(): void {
    const missing = [...registry.keys()].filter(
      (name) => !this.#operators.has(name) && !excluded.has(name),
    );
    assert.deepEqual(missing, [], 'operators that no program calls');
    assert.ok(this.#calls >= 200 * this.#programs, `${this.#calls} calls in all`);
    const share = this.#telling / this.#arrays;
    assert.ok(share > 0.6, `only ${share} of the float outputs are finite and vary`);
  }
}

/** Runs the programs of seeds; throws with the smallest program of the first difference. */
export function runCampaign(seeds: readonly number[], census: Census): void {
  for (const seed of seeds) {
    const generated = programOf(seed);
    census.add(generated);
    const found = checkProgram(generated.program, oracleOf(seed));
    if (found !== null) assert.fail(found);
  }
}
