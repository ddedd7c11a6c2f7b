import { ArgumentError, GraphError } from '../../base/errors.js';
import { describe } from '../../base/attributes/attribute.js';
import { recordRuns } from '../../runtime/execution/backends.js';
import { type KernelTotal, profiling, Recorder } from '../../runtime/profile/recorder.js';
import { textTable } from './table.js';
import type { ProfiledKernel, ProfiledOperator } from './totals.js';
import { chromeTrace } from './trace.js';

/** Record of what ran while a function did. */
export interface Profile {
  /** Time of the function and of all work that it has started, without that of making the profile. */
  readonly milliseconds: number;
  /** The longest first. */
  readonly kernels: readonly ProfiledKernel[];
  /** The longest first. */
  readonly operators: readonly ProfiledOperator[];
  /** A table of kernels and one of operators. */
  toString(): string;
  /** Text for `chrome://tracing` and Perfetto: trace events in JSON. */
  toChromeTrace(): string;
}

/**
 * Records the kernels that run, and the operators that are called, while a function does. Devices are waited for at
 * the end. Results are those of a run without it. Programs that are new are compiled once more, with marks between
 * their kernels; that time is left out. To measure code that has settled, run it a few times before.
 *
 * @throws GraphError inside of another profile. Errors of the function reject the promise.
 */
export async function profile(run: () => unknown): Promise<Profile> {
  if (typeof run !== 'function') {
    throw new ArgumentError('profile takes a function', {
      op: 'profile',
      expected: 'a function without parameters',
      actual: describe(run),
      advice: 'await profile(() => step(x))',
    });
  }
  if (profiling.recorder !== null) {
    throw new GraphError('a profile is being recorded already', {
      op: 'profile',
      advice: 'wait for the first one before the next',
    });
  }
  const recorder = new Recorder();
  recordRuns(recorder);
  try {
    await run();
    return profileOf(recorder, await recorder.end());
  } finally {
    recordRuns(null);
    recorder.close();
  }
}

function profileOf(recorder: Recorder, milliseconds: number): Profile {
  const kernels = recorder.kernels.map(profiledKernel).sort(byTime);
  const operators = [...recorder.operators]
    .map(([name, total]): ProfiledOperator => ({ name, ...total }))
    .sort(byTime);
  const { events, dropped } = recorder;
  return {
    milliseconds,
    kernels,
    operators,
    toString: () => textTable(milliseconds, kernels, operators),
    toChromeTrace: () => chromeTrace(events, dropped),
  };
}

function profiledKernel({ label, ...total }: KernelTotal): ProfiledKernel {
  const { name, source, reads } = label;
  return { name, source, reads, ...total };
}

function byTime(
  a: { readonly milliseconds: number },
  b: { readonly milliseconds: number },
): number {
  return b.milliseconds - a.milliseconds;
}
