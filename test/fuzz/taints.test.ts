import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import { gpuTarget } from '../../src/kernels/gpu/index.js';
import { wasmTarget } from '../../src/loop/language/target.js';
import { outcomeOf } from './compare.js';
import { byHand } from './control.js';
import { compareWith, needsExact, readsNothing } from './facts.js';
import { generate } from './generate.js';
import { allSteps, refsOf, type FuzzProgram } from './program.js';
import { Runner, World } from './run.js';
import { taintsOf } from './taints.js';

/*
 * What is only nearly equal decides no truth values, integers and jumps, wherever loops carry it.
 */

/** Every value of a run, those of bodies among them; of a program that is refused, those before. */
function valuesIn(program: FuzzProgram): ReadonlyMap<number, NDArray> {
  const world = new World(program);
  const values = new Map(world.bind(world.load(0)));
  outcomeOf(() => {
    new Runner(values, { control: byHand }).run(program.steps);
    return [];
  });
  return values;
}

/** Steps whose results are exact, or jump, though what they read is only nearly equal. */
function wrongSteps(program: FuzzProgram): string[] {
  const values = valuesIn(program);
  const taints = taintsOf(program, values);
  return allSteps(program.steps).flatMap((step) => {
    if (step.regions !== undefined || readsNothing(step.op)) return [];
    const isTainted = refsOf(step).some((id) => (taints.get(id) ?? 0) > 0);
    const isExact = step.results.some((id) => values.has(id) && !isFloat(values.get(id)!.dtype));
    return isTainted && (isExact || needsExact(step.op)) ? [`${program.seed}: ${step.op} of v${refsOf(step).join()}`] : []; // prettier-ignore
  });
}

for (const [target, first] of [
  [wasmTarget, 20],
  [gpuTarget, 118_000_000],
] as const) {
  test(`no step of random programs for ${target.name} needs more than its operands are exact`, () => {
    compareWith(target);
    try {
      const seeds = Array.from({ length: 20 }, (_, k) => first + k);
      const programs = seeds.map((seed) => generate(seed, { flows: true, calls: 45, states: true }).program); // prettier-ignore
      assert.ok(programs.some(({ steps }) => allSteps(steps).some(({ op }) => op === 'assign')));
      assert.deepEqual(programs.flatMap(wrongSteps), []);
    } finally {
      compareWith(wasmTarget);
    }
  });
}
