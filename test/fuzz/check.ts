import { registry } from '../../src/ops/registry.js';
import { isBySizes } from './dynamic.js';
import { type Generated, generate, type GenerateOptions } from './generate.js';
import { differenceIn, type OracleName } from './oracles.js';
import { printProgram } from './print.js';
import { type FuzzProgram, neededIn } from './program.js';
import type { Planted } from './run.js';
import type { Refused } from './scene.js';
import { shrink } from './shrink.js';

/** What kind of program each way of running is tried on. */
const kinds: Readonly<Record<OracleName, GenerateOptions>> = {
  called: { states: true },
  saved: { states: true },
  exported: {},
  deferred: {},
  sizes: { generic: true },
  recorded: { gradients: true, states: true },
  whole: { gradients: true },
  second: { gradients: true, calls: 200 },
  cut: { states: true },
  cutRecorded: { gradients: true, states: true },
  cutWhole: { gradients: true },
  kept: { gradients: true, states: true },
  unrolled: { gradients: true, states: true },
  onDevice: { states: true },
  onDeviceWhole: { gradients: true },
  onTwoDevices: { states: true },
  divided: { states: true },
  dividedWhole: { gradients: true },
};

/** The ways of running in turn: each program meets one, and the cheaper ones come more often. */
const turns: readonly OracleName[] = [
  'called', 'recorded', 'saved', 'sizes', 'exported', 'whole', 'cut', 'deferred', 'cutRecorded', 'second', 'cutWhole',
  'kept', 'unrolled',
]; // prettier-ignore

/** Programs with control flow are shorter at the top: their bodies are programs, too. */
const flowing: GenerateOptions = { flows: true, calls: 45 };

/** The ways of running on another device, which are slow: they have programs of their own. */
export function deviceOracleOf(seed: number): OracleName {
  return (['onDevice', 'onDeviceWhole', 'onTwoDevices', 'onDeviceWhole'] as const)[seed % 4];
}

/** Programs that are divided between this library and an engine. */
export function engineOracleOf(seed: number): OracleName {
  return seed % 2 === 0 ? 'divided' : 'dividedWhole';
}

export function oracleOf(seed: number): OracleName {
  return turns[seed % turns.length];
}

/** Whether the program of a seed has control flow: every second of those that one oracle meets, or all. */
export function isFlowing(seed: number): boolean {
  return oracleOf(seed) === 'unrolled' || Math.floor(seed / turns.length) % 2 === 1;
}

/** The program of a seed. Every seventh one goes wrong: one of its calls is refused. */
export function programOf(seed: number, oracle: OracleName = oracleOf(seed)): Generated {
  const generated = generate(seed, { ...kinds[oracle], ...(isFlowing(seed) && flowing) });
  const { program, refused } = generated;
  const needed = neededIn(program);
  // Nothing is required of sizes that only data decides which nothing else reads.
  const wrong = refused.find((one) => isRefusedEverywhere(one) && one.open.every((id) => needed.has(id))); // prettier-ignore
  if (seed % 7 !== 0 || wrong === undefined || program.sizes.length > 1) return generated;
  return { ...generated, program: { ...program, steps: [...program.steps, wrong.step] } };
}

/**
 * Positions that take long to compute are refused eagerly only, and sizes that data decides where something
 * is made of them.
 */
function isRefusedEverywhere({ step: { op }, error }: Refused): boolean {
  const declaration = registry.get(op);
  if (declaration?.measure !== undefined || isBySizes(op)) return false;
  return declaration?.check === undefined || error.code === 'KAON_SHAPE';
}

/** Null when all is well; else everything one needs to know, with the smallest program that shows it. */
export function checkProgram(
  program: FuzzProgram,
  oracle: OracleName,
  planted?: Planted,
): string | null {
  const found = differenceIn(oracle, program, planted);
  if (found === null) return null;
  const kind = kindOf(found);
  const again = (candidate: FuzzProgram): string | null => {
    const other = differenceIn(oracle, candidate, planted);
    return other !== null && kindOf(other) === kind ? other : null;
  };
  const { shown, told, note } = smallest(program, found, again);
  return [
    `${oracle} differs for seed ${program.seed}: ${told}`,
    printProgram(shown),
    `The whole program had ${program.steps.length} calls; KAON_SEED=${program.seed} KAON_PROGRAMS=1 runs it again.`,
    ...note,
  ].join('\n');
}

interface Finding {
  readonly shown: FuzzProgram;
  readonly told: string;
  readonly note: readonly string[];
}

/** The smallest program that differs in the same way, or the whole one where shrinking fails or leads elsewhere. */
function smallest(
  program: FuzzProgram,
  found: string,
  again: (candidate: FuzzProgram) => string | null,
): Finding {
  const whole = (reason: string): Finding => ({ shown: program, told: found, note: [`It was not made smaller: ${reason}.`] }); // prettier-ignore
  // What something from before takes part in cannot be found among the program's own calls.
  if (again(program) === null) return whole('a second run does not differ in this way');
  try {
    const shown = shrink(program, (candidate) => again(candidate) !== null);
    const told = again(shown);
    return told === null ? whole('its last run did not differ') : { shown, told, note: [] };
  } catch (error) {
    return whole(`shrinking failed with ${String(error)}`);
  }
}

/** A difference without its numbers: what shrinking must keep, so that it does not wander to another fault. */
function kindOf(found: string): string {
  if (found.startsWith('crash')) return found.split('\n', 1)[0].replaceAll(/-?\d+/g, '');
  const refusal = /gives .*|has the shape|written state|left open/.exec(found)?.[0];
  const isFinite = !/ (is|not) (NaN|-?Infinity)\b/.test(found);
  return refusal ?? (isFinite ? 'another number' : 'not finite');
}
