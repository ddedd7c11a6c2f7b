import { DeviceError } from '../../../base/errors.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import { type KernelChoice, type KernelTuning, usualChoice } from '../../../ops/tuning.js';
import type { Backend } from '../../device/backend.js';
import { DeviceQueue } from '../../device/queue.js';
import type { DeviceTuning } from '../../execution/device-tuning.js';
import { profiling } from '../../profile/recorder.js';
import type { TuningStore } from './store.js';
import { resultsAgree, operandBytes, type CandidateRun, TrialCall } from './trial.js';

/** A device whose kernels can be measured. */
export interface MeasuredBackend extends Backend {
  /** Names of the adapter and its driver. */
  readonly adapter: string;
  /** Number of kernels that it has been given: it is at rest while that stays as it is. */
  readonly dispatches: number;
  /** True if it takes all kernels that `launch` launches; none of them runs. */
  accepts(launch: () => void): Promise<boolean>;
  /** Milliseconds of the kernels that `launch` launches, on average over so many rounds. */
  measure(launch: () => void, rounds: number): Promise<number>;
}

/** Time, as far as a tuner needs it. */
export interface TunerClock {
  /** Milliseconds since any moment. */
  now(): number;
  /** Waits, and keeps no process alive. */
  wait(milliseconds: number): Promise<void>;
}

/** Limits of what measurements cost, in milliseconds but for the bytes. */
export interface TuningLimits {
  /** For which nothing but measurements has been launched before the next one. */
  readonly rest: number;
  /** For the candidates of one kernel and size class. */
  readonly kernel: number;
  /** For all of them together. */
  readonly all: number;
  /** Of operands, and of results: memory that a GPU lacks is a failure of all that it does. */
  readonly bytes: number;
}

const usualLimits: TuningLimits = { rest: 20, kernel: 1000, all: 30_000, bytes: 2 ** 28 };

/** Milliseconds of the rounds of a measurement, and the most rounds. */
const roundsTime = 4;
const mostRounds = 32;

/** Measurements of each candidate that may be the fastest. */
const measurements = 3;

/** Candidates that take longer than the fastest by more are not measured again. */
const hopeless = 1.5;

/** Part of the usual candidate's time that another one has to stay below. */
const gain = 0.95;

/** Candidates of a kernel, of which the fastest is to be found. */
interface Question {
  readonly key: string;
  readonly choice: KernelChoice<unknown>;
}

/** A candidate with the least time that it took. */
interface Measured {
  readonly name: string;
  readonly trial: CandidateRun;
  time: number;
}

/** Options of a tuner. */
export interface TunerOptions {
  /** Choices from before, of which those of other adapters are not looked at. */
  readonly known?: DeviceTuning;
  /** Keeps what is chosen. Default: nothing does. */
  readonly store?: TuningStore | null;
  readonly clock?: TunerClock;
  readonly limits?: Partial<TuningLimits>;
  /** Told of what should not happen. */
  warn(problem: string): void;
}

/**
 * Chooses among the candidates of kernels: what was measured to be the fastest on this adapter, or the usual one. What
 * is asked for and not known is measured while the device is at rest, for the plans that are made from then on.
 */
export class Tuner implements KernelTuning {
  readonly #backend: MeasuredBackend;
  /** The adapter that the choices are for: a lost device may come back as another one. */
  readonly #adapter: string;
  /** Not that of the program's arrays: measurements move none of them to the host. */
  readonly #queue: DeviceQueue;
  readonly #options: TunerOptions;
  readonly #limits: TuningLimits;
  readonly #clock: TunerClock;
  readonly #choices: Map<string, string>;
  readonly #asked: Set<string> = new Set();
  readonly #open: Question[] = [];
  /** Settled when nothing is left to measure; null while nothing is measured. */
  #work: Promise<void> | null = null;
  /** Callers that wait for the end, for whom the device need not be at rest. */
  #waiting = 0;
  #hurry: () => void = () => {};
  #spent = 0;

  constructor(backend: MeasuredBackend, options: TunerOptions) {
    this.#backend = backend;
    this.#adapter = backend.adapter;
    this.#queue = new DeviceQueue(backend);
    this.#options = options;
    this.#limits = { ...usualLimits, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#choices = new Map(Object.entries(options.known?.[this.#adapter] ?? {}));
  }

  choose<C>(choice: KernelChoice<C>): C {
    if (this.#backend.adapter !== this.#adapter) return usualChoice(choice);
    const key = keyOf(choice);
    const known = this.#known(choice);
    if (known === undefined && !this.#asked.has(key)) {
      this.#asked.add(key);
      this.#open.push({ key, choice });
      this.#work ??= this.#measureAll();
    }
    return known ?? usualChoice(choice);
  }

  /** All choices so far. */
  get tuning(): DeviceTuning {
    return { [this.#adapter]: Object.fromEntries(this.#choices) };
  }

  /**
   * Measures what is left to be measured without waiting for the device to be at rest.
   * @throws DeviceError while a profile is recorded, which nothing is measured beside: it may be waiting for this.
   */
  async finish(): Promise<DeviceTuning> {
    if (this.#work !== null && profiling.recorder !== null) {
      throw new DeviceError('kernels are not measured while a profile is recorded', {
        op: 'deviceTuning',
        advice: 'ask for the tuning before the profile, or after it',
      });
    }
    this.#waiting++;
    this.#hurry();
    await this.#work;
    this.#waiting--;
    return this.tuning;
  }

  #known<C>(choice: KernelChoice<C>): C | undefined {
    const name = this.#choices.get(keyOf(choice));
    return name === undefined ? undefined : choice.candidates.get(name);
  }

  async #measureAll(): Promise<void> {
    // Not while the plan is made that asks.
    await Promise.resolve();
    try {
      for (;;) {
        const question = this.#open.shift();
        if (question === undefined) return;
        if (this.#spent < this.#limits.all) await this.#measure(question);
      }
    } finally {
      this.#work = null;
    }
  }

  /** Finds the fastest candidate. Nothing is known of it where the device gives up on the way. */
  async #measure({ key, choice }: Question): Promise<void> {
    let call: TrialCall | null = null;
    try {
      await this.#rest();
      const tuned = choice.call();
      if (tuned === null || operandBytes(tuned) > this.#limits.bytes) return;
      call = new TrialCall(tuned, this.#queue);
      if (call.resultBytes > this.#limits.bytes) return;
      const name = await this.#fastest(choice, call);
      if (name === null || this.#backend.adapter !== this.#adapter) return;
      this.#choices.set(key, name);
      this.#options.store?.add(this.#adapter, { [key]: name });
    } catch (error) {
      // There is no room, or the device is gone: plans keep to what is usual.
      if (error instanceof DeviceError) return;
      this.#options.warn(`the kernels of ${key} could not be measured: ${String(error)}`);
    } finally {
      call?.release();
    }
  }

  async #fastest(choice: KernelChoice<unknown>, call: TrialCall): Promise<string | null> {
    const since = this.#spent;
    const hasTime = (): boolean => this.#spent - since < this.#limits.kernel;
    const dtypes = call.program.outputs.map(({ value: { type } }) => type.dtype);
    const measured: Measured[] = [];
    let expected: Awaited<ReturnType<CandidateRun['results']>> | null = null;
    for (const name of choice.candidates.keys()) {
      if (!hasTime()) break;
      const trial = call.trial(this.#targetFor(choice, name));
      const accepted = await this.#timed(() => this.#backend.accepts(trial.launch));
      if (!accepted) continue;
      const found = await this.#timed(() => trial.results());
      if (expected !== null && !resultsAgree(dtypes, expected, found, choice.margin)) {
        this.#options.warn(`${name} of ${keyOf(choice)} is wrong on this device, and is not used`);
        continue;
      }
      expected ??= found;
      const time = await this.#timed(() => this.#backend.measure(trial.launch, 1));
      measured.push({ name, trial, time });
    }
    const [usual] = measured;
    // Others are compared with the usual one only.
    if (usual?.name !== [...choice.candidates.keys()][0]) return null;
    const least = (): number => Math.min(...measured.map(({ time }) => time));
    for (let k = 0; k < measurements; k++) {
      for (const each of measured) {
        if (!hasTime() || (each !== usual && each.time > hopeless * least())) continue;
        const rounds = Math.min(Math.ceil(roundsTime / Math.max(each.time, 0.01)), mostRounds);
        const time = await this.#timed(() => this.#backend.measure(each.trial.launch, rounds));
        each.time = Math.min(each.time, time);
      }
    }
    const fastest = measured.find(({ time }) => time === least())!;
    return fastest.time < gain * usual.time ? fastest.name : usual.name;
  }

  /** The target of the backend with one candidate for a kernel, and what is known of others. */
  #targetFor(choice: KernelChoice<unknown>, name: string): DeviceTarget {
    const choose: KernelTuning['choose'] = (asked) => {
      const given = asked.kernel === choice.kernel ? asked.candidates.get(name) : this.#known(asked); // prettier-ignore
      return given ?? usualChoice(asked);
    };
    return { ...this.#backend.target, tuning: { choose } };
  }

  /** Does work with the device at rest, and counts its time. */
  async #timed<T>(work: () => Promise<T>): Promise<T> {
    // A profile may have begun before this goes on.
    do await this.#rest();
    while (profiling.recorder !== null);
    const begin = this.#clock.now();
    try {
      return await work();
    } finally {
      this.#spent += this.#clock.now() - begin;
    }
  }

  /** Waits until the device has been at rest for a while, or somebody waits for the end. */
  async #rest(): Promise<void> {
    for (;;) {
      const { dispatches } = this.#backend;
      const isBusy = (): boolean => profiling.recorder !== null;
      if (this.#waiting > 0 && !isBusy()) return;
      const hurried = new Promise<void>((resolve) => (this.#hurry = resolve));
      await Promise.race([this.#clock.wait(this.#limits.rest), hurried]);
      if (!isBusy() && dispatches === this.#backend.dispatches) return;
    }
  }
}

function keyOf({ kernel, sizeClass }: KernelChoice<unknown>): string {
  return `${kernel} ${sizeClass}`;
}

/** The clock of this process. */
const systemClock: TunerClock = {
  now: () => performance.now(),
  wait: (milliseconds) =>
    new Promise((resolve) => {
      const timer: unknown = setTimeout(resolve, milliseconds);
      // A number in browsers.
      if (typeof timer === 'object') (timer as NodeJS.Timeout).unref();
    }),
};
