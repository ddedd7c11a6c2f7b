import type { HostArray } from '../../../base/dtype.js';
import type { Device } from '../../memory/device.js';
import type { Executable, Operand } from '../../execution/executable.js';
import { Storage } from '../../memory/storage.js';
import { agreesWithReference, difference } from './compare.js';
import { onPerturbed } from './perturb.js';
import { referenceOf } from './reference.js';
import { slackOf } from './slack.js';

/** A run in which new code was tried beside the old. */
export interface Trial {
  /** Results of the code that counts. */
  readonly results: readonly Operand[];
  /** Objection to the new code; null for none. */
  readonly objection: string | null;
}

type Into = readonly (Storage | null)[] | undefined;

/** A trial of new code beside old. */
export interface TrialOptions {
  readonly old: Executable;
  readonly next: Executable;
  readonly device: Device;
  readonly inputs: readonly Operand[];
  readonly into: readonly (Storage | null)[] | undefined;
  /** Default none. */
  readonly sizes?: readonly number[];
  /** The code whose results count if they agree: those of the old code equal earlier runs'. */
  readonly counts: 'old' | 'next';
  /** Number of runs on the same operands after which the new code has taken every path. */
  readonly ways: number;
}

/**
 * Runs new code and then the code it is to replace on the same operands, and compares. Both write to the
 * final destinations; in between everything is restored, so that state is updated once.
 */
export function tryBeside(options: TrialOptions): Trial {
  const { old, next, device, inputs, into, sizes, counts, ways } = options;
  const before = contentsOf(into);
  const tries: (readonly Operand[])[] = [];
  let failure: string | null = null;
  try {
    while (tries.length < ways) {
      // Results that the new code fails to write must not be left over from the old code.
      const actual = device.scrambled(() => next.run(inputs, into, sizes));
      tries.push(copied(actual, into));
      restore(before);
    }
  } catch (error) {
    failure = `it fails: ${(error as Error).message}`;
    restore(before);
  }
  const results = old.run(inputs, into, sizes);
  if (failure !== null) return { results, objection: failure };
  for (const actual of tries) {
    const objection = objectionTo(actual, results, before, options);
    if (objection !== null) return { results, objection };
  }
  if (counts === 'old') return { results, objection: null };
  const kept = tries[0].map(({ storage, shape }, k) => {
    const target = into?.[k] ?? null;
    target?.fill(storage.host);
    return { storage: target ?? storage, shape };
  });
  return { results: kept, objection: null };
}

/**
 * Reason why results are not those of the same computation; null when they are: up to a few roundings, to the
 * change of the old code's results on perturbed operands, or when float64 confirms them.
 */
function objectionTo(
  actual: readonly Operand[],
  results: readonly Operand[],
  before: ReadonlyMap<Storage, HostArray>,
  { old, inputs, into, sizes }: TrialOptions,
): string | null {
  const { program } = old;
  const slack = slackOf(program);
  const objectionWith = (nearby: readonly Operand[] | null): string | null => {
    for (let k = 0; k < results.length; k++) {
      const [expected, near] = [results[k], nearby?.[k] ?? null];
      const found = difference({ expected, actual: actual[k], nearby: near, slack });
      if (found !== null) return `its result ${program.outputs[k].name} is wrong: ${found}`;
    }
    return null;
  };
  /** Runs something on the original operands. */
  const onOldOperands = <R>(run: () => R): R => {
    const after = contentsOf(into);
    try {
      restore(before);
      return run();
    } finally {
      restore(after);
    }
  };
  const plain = objectionWith(null);
  if (plain === null) return null;
  // These runs are additional: if one is refused, it is no evidence.
  const failures: string[] = [];
  const excuses = (where: string, judge: () => boolean): boolean => {
    try {
      return judge();
    } catch (error) {
      failures.push(`; ${where} the program fails: ${(error as Error).message}`);
      return false;
    }
  };
  const isNear = (): boolean =>
    objectionWith(
      onOldOperands(() =>
        onPerturbed(inputs, slack, (near) => copied(old.run(near, into, sizes), into)),
      ),
    ) === null;
  const isRight = (): boolean => {
    const { results: exact, perturbed } = onOldOperands(() => referenceOf(program, inputs, sizes));
    return results.every((expected, k) =>
      agreesWithReference({
        expected,
        actual: actual[k],
        reference: exact[k],
        perturbed: perturbed.map((each) => each[k]),
        slack,
      }),
    );
  };
  if (excuses('on operands a little off', isNear) || excuses('in float64', isRight)) return null;
  return plain + failures.join('');
}

function contentsOf(into: Into): ReadonlyMap<Storage, HostArray> {
  const contents = new Map<Storage, HostArray>();
  for (const storage of into ?? []) if (storage !== null) contents.set(storage, storage.copy());
  return contents;
}

function restore(contents: ReadonlyMap<Storage, HostArray>): void {
  for (const [storage, elements] of contents) storage.fill(elements);
}

/** Exclusive copies of results. */
function copied(results: readonly Operand[], into: Into): readonly Operand[] {
  if (into === undefined) return results;
  return results.map(({ storage, shape }) => ({
    storage: new Storage(storage.dtype, storage.copy()),
    shape,
  }));
}

/** Milliseconds above which programs are not run only to be timed. */
const longest = 1;
/** Length and number of the measurements of each code. */
const measured = 0.05;
const rounds = 12;

/** Times of two codes, in milliseconds. */
export interface Timing {
  readonly old: number;
  readonly next: number;
}

/**
 * Runs both codes alternately to time them; `milliseconds` is the approximate time of the old one. Null for
 * programs that are too long for that. For short ones the call may cost more than the code.
 */
export function timeBoth(
  old: Executable,
  next: Executable,
  { inputs, sizes }: Pick<TrialOptions, 'inputs' | 'sizes'>,
  milliseconds: number,
): Timing | null {
  if (milliseconds > longest) return null;
  const times = Math.max(1, Math.round(measured / milliseconds));
  const once = (executable: Executable): number => {
    const start = performance.now();
    for (let i = 0; i < times; i++) executable.run(inputs, undefined, sizes);
    return (performance.now() - start) / times;
  };
  let pace: Timing = { old: Infinity, next: Infinity };
  for (let round = 0; round < rounds; round++) {
    pace = { old: Math.min(pace.old, once(old)), next: Math.min(pace.next, once(next)) };
  }
  return pace;
}
