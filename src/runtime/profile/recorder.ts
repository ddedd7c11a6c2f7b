import type { DimBindings } from '../../base/dim/index.js';
import { endMark } from '../../passes/lower/main/main.js';
import { bytesMoved, type KernelLabel } from './label.js';

/** Totals of the kernels of one name. */
export interface KernelTotal {
  readonly label: KernelLabel;
  readonly device: string;
  calls: number;
  milliseconds: number;
  /** Null where sizes that the data decides are unknown. */
  bytes: number | null;
}

/** Totals of what the host did under one name. */
export interface HostTotal {
  calls: number;
  milliseconds: number;
}

/** Kinds of work of the host: operators that were called, programs that ran, and compilations. */
export type HostWork = 'operator' | 'program' | 'compile';

/** Something that took time. Times are in milliseconds since the profile began. */
export interface RecordedEvent {
  readonly kind: 'kernel' | HostWork;
  readonly name: string;
  /** Device of a kernel, or `host`. */
  readonly track: string;
  readonly begin: number;
  readonly milliseconds: number;
  readonly label: KernelLabel | null;
}

/** Times of kernels on a device that has a clock of its own. */
export interface DeviceTimer {
  /** Number of kernels that have been launched since it was started. */
  readonly launched: number;
  /** Times of all these kernels, in the order of their launches, once the device has run them. */
  stop(): Promise<readonly DeviceTime[]>;
}

/** Time of one kernel, in milliseconds of any clock. */
export interface DeviceTime {
  /** Name for kernels that are no part of a program. */
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

/** A device whose kernels can be timed. */
export interface TimedDevice {
  readonly name: string;
  /** Times kernels that are launched from now on. */
  startTimer?(): DeviceTimer;
}

/** The most events that are kept one by one; totals have all of them. */
const mostEvents = 2 ** 17;

interface Launched {
  readonly timer: DeviceTimer;
  readonly name: string;
  /** When the first kernel was launched, in milliseconds since the profile began. */
  readonly begin: number;
  readonly labels: Map<number, { readonly label: KernelLabel; readonly bytes: number | null }>;
}

/** Records kernels and work of the host while a profile is made. */
export class Recorder {
  /** Beginning of the profile, put off by what only the profile needed. */
  #start: number = performance.now();
  readonly events: RecordedEvent[] = [];
  /** Events that were not kept. */
  dropped = 0;
  readonly #kernels: Map<string, KernelTotal> = new Map();
  readonly #operators: Map<string, HostTotal> = new Map();
  readonly #timed: Map<TimedDevice, Launched> = new Map();
  #hasEnded = false;
  readonly #cleanups: (() => void)[] = [];

  get kernels(): readonly KernelTotal[] {
    return [...this.#kernels.values()];
  }

  get operators(): ReadonlyMap<string, HostTotal> {
    return this.#operators;
  }

  /** Milliseconds since the profile began, without those of `prepare`. */
  get now(): number {
    return performance.now() - this.#start;
  }

  /** Calls back when the profile has ended. */
  atEnd(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  /** A kernel that began at a time of `now`, and has ended. */
  kernel(
    label: KernelLabel,
    device: string,
    bytes: number | null,
    begin: number,
    end: number = this.now,
  ): void {
    this.#add(label, device, bytes, end - begin);
    this.#keep('kernel', label.name, device, begin, end - begin, label);
  }

  /** The kernels of a program that has run, from the marks that it has made. */
  marks(labels: ReadonlyMap<number, KernelLabel>, device: string, names: DimBindings): void {
    for (let k = 0; k < marked.steps.length; k++) {
      const step = marked.steps[k];
      if (step === endMark) continue;
      const label = labels.get(step)!;
      const [begin, end] = [marked.times[k] - this.#start, marked.times[k + 1] - this.#start];
      this.kernel(label, device, bytesMoved(label, names), begin, end);
    }
    clearMarks();
  }

  /** Work of the host that began at a time of `now`, and has ended. */
  host(kind: HostWork, name: string, begin: number): void {
    const milliseconds = this.now - begin;
    if (kind === 'operator') {
      const total = this.#operators.get(name);
      if (total === undefined) this.#operators.set(name, { calls: 1, milliseconds });
      else {
        total.calls++;
        total.milliseconds += milliseconds;
      }
    }
    this.#keep(kind, name, 'host', begin, milliseconds, null);
  }

  /** Runs what only the profile needs: it takes no time of what is measured. */
  prepare<T>(run: () => T): T {
    const begin = performance.now();
    try {
      return run();
    } finally {
      this.#start += performance.now() - begin;
    }
  }

  /** Launches a kernel of a device. */
  launch(device: TimedDevice, label: KernelLabel, names: DimBindings, launch: () => void): void {
    const bytes = bytesMoved(label, names);
    const begin = this.now;
    if (device.startTimer === undefined) {
      launch();
      return this.kernel(label, device.name, bytes, begin);
    }
    let timed = this.#timed.get(device);
    if (timed === undefined) {
      timed = { timer: device.startTimer(), name: device.name, begin, labels: new Map() }; // prettier-ignore
      this.#timed.set(device, timed);
    }
    timed.labels.set(timed.timer.launched, { label, bytes });
    launch();
  }

  /**
   * Ends the profile, once devices have run what they were given.
   * @returns Milliseconds that what was measured took.
   */
  async end(): Promise<number> {
    this.#hasEnded = true;
    const timed = [...this.#timed.values()];
    const times = await Promise.all(timed.map(({ timer }) => timer.stop()));
    const milliseconds = this.now;
    times.forEach((each, k) => this.#onDevice(timed[k], each));
    return milliseconds;
  }

  /** Gives back what was made for the profile. Where it has not ended, nobody asks for times. */
  close(): void {
    const timed = this.#hasEnded ? [] : this.#timed.values();
    for (const { timer } of timed) timer.stop().catch(() => {}); // the profile has another error
    for (const cleanup of this.#cleanups) cleanup();
  }

  #onDevice({ name: device, begin: first, labels }: Launched, times: readonly DeviceTime[]): void {
    const offset = times.reduce((least, { begin }) => Math.min(least, begin), Infinity) - first;
    times.forEach(({ name, begin, end }, k) => {
      const known = labels.get(k);
      const label = known?.label ?? { name, source: null, reads: [], traffic: null };
      this.#add(label, device, known?.bytes ?? null, end - begin);
      this.#keep('kernel', label.name, device, begin - offset, end - begin, label);
    });
  }

  #add(label: KernelLabel, device: string, bytes: number | null, milliseconds: number): void {
    const key = `${device}\n${label.name}\n${label.source}\n${label.reads.join()}`;
    const total = this.#kernels.get(key);
    if (total === undefined)
      this.#kernels.set(key, { label, device, calls: 1, milliseconds, bytes }); // prettier-ignore
    else {
      total.calls++;
      total.milliseconds += milliseconds;
      total.bytes = total.bytes === null || bytes === null ? null : total.bytes + bytes;
    }
  }

  #keep(
    kind: RecordedEvent['kind'],
    name: string,
    track: string,
    begin: number,
    milliseconds: number,
    label: KernelLabel | null,
  ): void {
    if (this.events.length >= mostEvents) this.dropped++;
    else this.events.push({ kind, name, track, begin, milliseconds, label });
  }
}

/** The profile that is being recorded; null where there is none. */
export const profiling: { recorder: Recorder | null } = { recorder: null };

/** Marks of the program that is running: when each kernel has begun. */
const marked: { readonly steps: number[]; readonly times: number[] } = { steps: [], times: [] };

/** Notes that the kernel of a step begins. Compiled programs call it (`mainKernel`). */
export function mark(step: number): void {
  marked.steps.push(step);
  marked.times.push(performance.now());
}

/** Forgets the marks of a program that has failed half-way. */
export function clearMarks(): void {
  marked.steps.length = 0;
  marked.times.length = 0;
}
