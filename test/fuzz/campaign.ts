import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import { readElement } from '../../src/base/element.js';
import { registry } from '../../src/ops/registry.js';
import { checkProgram, isFlowing, oracleOf, programOf } from './check.js';
import { excluded } from './facts.js';
import { dealt, settings } from '../support/settings.js';
import { formsOf, selectionsIn, wantedForms } from './forms.js';
import type { Generated } from './generate.js';
import { allSteps } from './program.js';

/** How many files share the programs, so that they run side by side. */
const parts = 2;

/**
 * The seeds of a part: 120 fixed ones in all, 10,000 fresh ones at night, or those that settings ask for.
 */
function seedsOf(part: number): readonly number[] {
  const { seed, programs, isLong } = settings;
  const first = seed ?? (isLong ? Date.now() % 2 ** 31 : 1);
  const count = programs ?? (isLong ? 10_000 : 120);
  const all = dealt(Array.from({ length: count }, (_, i) => first + i));
  const at = (k: number): number => Math.floor((all.length * k) / parts);
  return all.slice(at(part), at(part + 1));
}

/** What a row of programs was made of. */
export class Census {
  readonly #operators: Map<string, number> = new Map();
  readonly #forms: Set<string> = new Set();
  #calls = 0;
  #wanted = 0;
  #arrays = 0;
  #telling = 0;

  add({ program, values }: Generated): void {
    this.#wanted += isFlowing(program.seed) ? 45 : 200;
    for (const step of program.steps) {
      for (const form of formsOf(step, values)) this.#forms.add(form);
    }
    for (const form of selectionsIn(program.steps)) this.#forms.add(form);
    const steps = allSteps(program.steps);
    this.#calls += steps.length;
    for (const { op } of steps) {
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
    assert.ok(this.#calls >= this.#wanted, `${this.#calls} calls in all`);
    const unseen = wantedForms.filter((form) => !this.#forms.has(form));
    assert.deepEqual(unseen, [], 'forms of control flow that no program has');
    const share = this.#telling / this.#arrays;
    assert.ok(share > 0.6, `only ${share} of the float outputs are finite and vary`);
  }
}

/** Declares the test of a part of the programs. It fails with the smallest program that shows a difference. */
export function testPrograms(part: number): void {
  const seeds = seedsOf(part);
  if (seeds.length === 0) return;
  // What a person asks to see again need not hold every operator.
  const isCounted = part === 0 && settings.programs === null && settings.shard.count === 1;
  test(`${seeds.length} random programs of the seeds ${seeds[0]} to ${seeds.at(-1)} agree however they are run`, () => {
    const census = new Census();
    for (const seed of seeds) {
      const generated = programOf(seed);
      if (isCounted) census.add(generated);
      assert.equal(checkProgram(generated.program, oracleOf(seed)), null);
    }
    if (!isCounted) return;
    // All programs count, those of other files too: of few, some lack an operator.
    for (let other = 1; other < parts; other++) {
      for (const seed of seedsOf(other)) census.add(programOf(seed));
    }
    census.check();
  });
}
