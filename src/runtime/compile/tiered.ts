import { KernelCache } from '../../loop/optimize/cache.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import type { Program } from '../../ir/program.js';
import type { Target } from '../../loop/language/target.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { Device } from '../memory/device.js';
import type { EntryPoint } from '../execution/entry.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import { otherBackends, runElsewhere } from '../execution/backends.js';
import { Executor } from '../execution/executor.js';
import { loaderBase } from '../native/library.js';
import { nativeTier } from '../native/current.js';
import { Stopwatch } from '../native/stopwatch.js';
import type { NativeCode, NativeRequest } from '../native/tier.js';
import { timeBoth, type TrialOptions, tryBeside } from '../native/trial/trial.js';
import { ExhaustedError } from '../memory/exhausted.js';
import type { Storage } from '../memory/storage.js';
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
  readonly lower: (target: Target) => ProgramPlan;
  readonly watch: Stopwatch;
  /** Null until it has run for long enough. */
  request: NativeRequest | null;
  /** Plan from which native code is made; null until the processor is known. */
  plan: ProgramPlan | null;
  /** When to ask what has become of the request. */
  nextPoll: number;
}

/** Shared by all programs: what one has optimized, no other does again. */
const optimizedKernels = new KernelCache();

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
  readonly #lower: (target: Target) => ProgramPlan;

  /**
   * @param executor On WebAssembly.
   * @param lower Plans the same program for another target.
   */
  constructor(
    executor: Executor,
    device: Device,
    tier: Tier,
    lower: (target: Target) => ProgramPlan,
  ) {
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
    if (otherBackends.exist) {
      const results = runElsewhere(this.program, inputs, into, sizes);
      if (results !== null) return results;
    }
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
    if (isWorthIt(watch)) ascent.request ??= this.#request(ascent);
    return results;
  }

  get #isNative(): boolean {
    return this.#since !== null;
  }

  #start(tier: Exclude<Tier, 'wasm'>): TierUp {
    const [watch, lower] = [new Stopwatch(), this.#lower];
    return { tier, lower, watch, request: null, plan: null, nextPoll: 0 };
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
    ascent.request ??= this.#request(ascent);
    const code = ascent.request.wait();
    if (code === null || typeof code === 'string') throw error;
    const plan = ascent.plan!;
    const native = new Executor(this.program, plan, this.#device, entryOf(code, plan, this.#device)); // prettier-ignore
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

  #request(ascent: TierUp): NativeRequest {
    return nativeTier().request((target) => {
      ascent.plan = ascent.lower({ ...target, addresses: 'i64' });
      return optimizeModule(ascent.plan.module, target, optimizedKernels);
    });
  }

  /** The native code, if it is there now. */
  #ask(ascent: TierUp, now: number): NativeCode | null {
    const isAwaited = ascent.tier === 'native';
    if (isAwaited) ascent.request ??= this.#request(ascent);
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
    const { watch, tier, plan } = ascent;
    const device = this.#device;
    let native: Executor;
    try {
      native = new Executor(this.program, plan!, device, entryOf(code, plan!, device));
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

function entryOf(
  { run, file, name }: NativeCode,
  { threads }: ProgramPlan,
  device: Device,
): EntryPoint {
  // Of the buffer its first byte is enough: native code gets its address.
  let known: Uint8Array = new Uint8Array(0);
  const bytes = (): Uint8Array => {
    const { buffer } = device;
    return known.buffer === buffer ? known : (known = new Uint8Array(buffer, 0, 1));
  };
  if (threads === 1) return (table) => run(bytes(), table);
  const { pool } = device;
  const own = (table: number, thread: number, count: number): void =>
    run(bytes(), table, pool.meetingAddress, thread, count);
  return pool.entry(
    { kind: 'native', library: file, symbol: name, from: loaderBase },
    own,
    threads,
  );
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
  process.emitWarning(
    `native code was made that does not compute what it should, and is not used: ${objection}`,
    { type: 'KaonWarning', code: 'KAON_NATIVE_DIFFERS' },
  );
}
