import { warn } from '../execution/warning.js';
import type { Program } from '../../ir/program.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { Device } from '../memory/device.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import { detours, runElsewhere } from '../execution/backends.js';
import { Executor, type PlannedCode } from '../execution/executor.js';
import { nativeTier } from '../native/current.js';
import { Stopwatch } from '../native/stopwatch.js';
import type { NativeCode } from '../native/tier.js';
import { timeBoth, type TrialOptions, tryBeside } from '../native/trial/trial.js';
import { ExhaustedError } from '../memory/exhausted.js';
import type { Storage } from '../memory/storage.js';
import { programLabel } from '../profile/label.js';
import { profiling, type Recorder } from '../profile/recorder.js';
import { MarkedCode, markedNative, markKernel } from './marked.js';
import { type ProgramLowering, NativeAttempt } from './native-attempt.js';
import type { Tier } from '../execution/tiers.js';

/** Runs between two looks at nothing. */
const settled = 2 ** 30;

const none: readonly number[] = [];

/** Interval between polls of a compilation, in milliseconds. */
const pollMilliseconds = 5;

/** In less time than this the way into native code takes as long as it can save, in milliseconds. */
const shortest = 0.0005;

/** State of a program that is on its way to native code. */
interface TierUp {
  readonly tier: Exclude<Tier, 'wasm'>;
  readonly watch: Stopwatch;
  /** Null until it has run for long enough. */
  request: NativeAttempt | null;
  /** When to ask what has become of the request. */
  nextPoll: number;
}

/**
 * A program that starts on WebAssembly and, once it has run for long enough, goes on as native code: when
 * that has been made, tried beside the old on the operands of a call, and found to agree.
 */
export class Tiered implements Inspectable {
  readonly program: Program;
  readonly #device: Device;
  #executor: Executor;
  /** Null once it is decided which code stays. */
  #ascent: TierUp | null;
  /** Looks are rare, so that the smallest programs are not slowed down by them. */
  #runsUntilLook: number;
  /** Runs between the last look and the next. */
  #skipped = 0;
  #since: number | null = null;
  #reason: string | null = null;
  readonly #tier: Tier;
  readonly #lower: ProgramLowering;
  readonly #onWasm: (mark: Kernel | null) => PlannedCode;
  /** Code with marks, while a profile is recorded; null where there is none. */
  #marked: MarkedCode | null = null;

  /**
   * @param executor On WebAssembly.
   * @param lower Plans the same program for another target.
   * @param onWasm Makes the code of the executor once more.
   */
  constructor(
    executor: Executor,
    device: Device,
    tier: Tier,
    lower: ProgramLowering,
    onWasm: (mark: Kernel | null) => PlannedCode,
  ) {
    this.#onWasm = onWasm;
    this.program = executor.program;
    this.#executor = executor;
    this.#device = device;
    this.#tier = tier;
    this.#lower = lower;
    if (tier === 'wasm') this.#reason = 'asked for';
    this.#runsUntilLook = tier === 'wasm' ? settled : 1;
    this.#ascent = tier === 'wasm' ? null : this.#start(tier);
  }

  run(
    inputs: readonly Operand[],
    into?: readonly (Storage | null)[],
    sizes: readonly number[] = none,
  ): readonly Operand[] {
    if (detours.exist) {
      const results = runElsewhere(this.program, inputs, into, sizes);
      if (results !== null) return results;
      const { recorder } = profiling;
      if (recorder !== null) return this.#recorded(recorder, inputs, into, sizes);
    }
    return this.#run(inputs, into, sizes);
  }

  #run(
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    try {
      if (--this.#runsUntilLook > 0) return this.#executor.run(inputs, into, sizes);
      if (this.#ascent !== null) return this.#look(this.#ascent, inputs, into, sizes);
      this.#runsUntilLook = settled;
      return this.#executor.run(inputs, into, sizes);
    } catch (error) {
      if (!(error instanceof ExhaustedError) || this.#isNative || this.#tier === 'wasm')
        throw error;
      return this.#beyondWasm(error, inputs, into, sizes);
    }
  }

  release(): void {
    this.#executor.release();
    this.#ascent = null;
    this.#runsUntilLook = settled;
  }

  parts(): ReturnType<Inspectable['parts']> {
    return this.#executor.parts();
  }

  tiers(): readonly TierReport[] {
    const tier = this.#isNative ? 'native' : 'wasm';
    const reason = this.#ascent === null ? this.#reason : progress(this.#ascent);
    return [{ part: '', tier, since: this.#since, reason, note: noteOn(this.#device) }];
  }

  toString(): string {
    return this.#executor.toString();
  }

  /** A run that is timed, or the one in which native code takes over. */
  #look(
    ascent: TierUp,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    const start = performance.now();
    const code = this.#ask(ascent, start);
    // Where WebAssembly has no memory for this run, it refuses it here, and there is nothing to try code beside.
    if (code !== null && this.#executor.hasRoom(inputs, into, sizes))
      return this.#try(ascent, code, inputs, into, sizes);
    const begin = performance.now();
    const results = this.#executor.run(inputs, into, sizes);
    if (this.#ascent === null) return results;
    const { watch } = ascent;
    this.#skipped = watch.add(performance.now() - begin, this.#skipped);
    this.#runsUntilLook = this.#skipped + 1;
    if (isWorthIt(watch)) ascent.request ??= new NativeAttempt(this.#lower);
    return results;
  }

  get #isNative(): boolean {
    return this.#since !== null;
  }

  #start(tier: Exclude<Tier, 'wasm'>): TierUp {
    return { tier, watch: new Stopwatch(), request: null, nextPoll: 0 };
  }

  /**
   * A run for which WebAssembly has no memory: native code, which reaches more, takes over untried, since there is
   * nothing to try it beside.
   */
  #beyondWasm(
    error: ExhaustedError,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    const ascent = this.#ascent ?? this.#start('native');
    ascent.request ??= new NativeAttempt(this.#lower);
    const code = ascent.request.wait();
    if (code === null || typeof code === 'string') throw error;
    const { plan, entry } = ascent.request.planned(code, this.#device);
    const native = new Executor(this.program, plan, this.#device, entry);
    let results: readonly Operand[];
    try {
      results = native.run(inputs, into, sizes);
    } catch (failure) {
      native.release();
      throw failure;
    }
    this.#replace(native, ascent.watch.runs + 1);
    return results;
  }

  #replace(native: Executor, since: number): void {
    this.#executor.release();
    this.#executor = native;
    this.#since = since;
    this.#settle(null);
  }

  /**
   * A run that tells the times of its kernels. Which code runs is decided by other runs; where there are no marks for
   * it, the program counts as one kernel.
   */
  #recorded(
    recorder: Recorder,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    const isOpen = this.#ascent !== null && this.#tier === 'native';
    const marked = isOpen ? null : this.#markedFor(recorder);
    if (marked !== null) {
      try {
        return marked.run(recorder, inputs, into, sizes);
      } catch (error) {
        if (!(error instanceof ExhaustedError)) throw error;
      }
    }
    const begin = recorder.now;
    const results = this.#run(inputs, into, sizes);
    recorder.kernel(programLabel(this.program), 'cpu', null, begin);
    return results;
  }

  /** The current code with marks; null where it cannot be made. */
  #markedFor(recorder: Recorder): MarkedCode | null {
    if (this.#marked?.isNative === this.#isNative) return this.#marked;
    const { program } = this;
    const device = this.#device;
    return recorder.prepare(() => {
      const remake = (): PlannedCode => this.#onWasm(markKernel);
      const code = this.#isNative ? markedNative(this.#lower, device) : remake();
      if (code === null) return null;
      const made = new MarkedCode(program, code, device, this.#isNative, this.#isNative ? null : remake); // prettier-ignore
      recorder.atEnd(() => {
        made.release();
        this.#marked = null;
      });
      return (this.#marked = made);
    });
  }

  /** The native code, if it is there now. */
  #ask(ascent: TierUp, now: number): NativeCode | null {
    const isAwaited = ascent.tier === 'native';
    if (isAwaited) ascent.request ??= new NativeAttempt(this.#lower);
    if (ascent.request === null || now < ascent.nextPoll) return null;
    ascent.nextPoll = now + pollMilliseconds;
    const code = isAwaited ? ascent.request.wait() : ascent.request.poll();
    if (typeof code !== 'string') return code;
    this.#settle(code);
    return null;
  }

  /** Runs the native code beside the other, and lets it take over where it agrees. */
  #try(
    ascent: TierUp,
    code: NativeCode,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    const { watch, tier, request } = ascent;
    const device = this.#device;
    let native: Executor;
    try {
      const { plan, entry } = request!.planned(code, device);
      native = new Executor(this.program, plan, device, entry);
    } catch (error) {
      this.#settle(`it has no place beside the code on wasm: ${(error as Error).message}`);
      return this.#executor.run(inputs, into, sizes);
    }
    const { results, objection } = tryBeside({
      old: this.#executor,
      next: native,
      device,
      inputs,
      into,
      sizes,
      // Who asks for native code gets one kind of results, from the first on.
      counts: tier === 'native' ? 'next' : 'old',
      ways: native.ways,
    });
    const mayBeSlower = tier === 'native' || nativeTier().atAnySpeed || objection !== null;
    const slower = mayBeSlower ? null : slowness(this.#executor, native, { inputs, sizes }, watch);
    if (objection === null && slower === null) {
      this.#replace(native, watch.runs + 1);
      return results;
    }
    native.release();
    this.#settle(objection ?? slower);
    if (objection !== null) warnOnce(objection);
    return results;
  }

  /** Keeps the current code for good. */
  #settle(reason: string | null): void {
    this.#reason = reason;
    this.#ascent = null;
    this.#runsUntilLook = settled;
  }
}

/** True when native code may repay the cost of its compilation. */
function isWorthIt({ total, latest }: Stopwatch): boolean {
  const { hotMilliseconds, atAnySpeed } = nativeTier();
  return total >= hotMilliseconds && (latest >= shortest || atAnySpeed);
}

/** Problems of the cache of native code and of threads; null for none. */
function noteOn({ threadNote }: Device): string | null {
  const notes = [nativeTier().note, threadNote].filter((note) => note !== null);
  return notes.length === 0 ? null : notes.join('; ');
}

function progress({ watch, request }: TierUp): string {
  if (request !== null) return 'native code is being made';
  const { hotMilliseconds } = nativeTier();
  const time = `it has run for ${watch.total.toFixed(0)} ms`;
  if (watch.total < hotMilliseconds) return `${time} of ${hotMilliseconds}`;
  return `${time}, each time too shortly to gain anything`;
}

/** Why native code would be no gain; null where it is one. */
function slowness(
  wasm: Executor,
  native: Executor,
  operands: Pick<TrialOptions, 'inputs' | 'sizes'>,
  { latest }: Stopwatch,
): string | null {
  const pace = timeBoth(wasm, native, operands, latest);
  if (pace === null || pace.next <= pace.old) return null;
  const [fast, slow] = [pace.old, pace.next].map((time) => `${(time * 1000).toFixed(2)} us`);
  return `native code is not faster: ${slow} instead of ${fast}`;
}

let hasWarned = false;

/** Code that is wrong must not go unnoticed. */
function warnOnce(objection: string): void {
  if (hasWarned) return;
  hasWarned = true;
  warn(
    `native code was made that does not compute what it should, and is not used: ${objection}`,
    'KAON_NATIVE_DIFFERS',
  );
}
