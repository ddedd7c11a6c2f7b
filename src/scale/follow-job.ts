import { checkOptions, valueRule } from '../base/attributes/options.js';
import { JsonReader } from '../base/attributes/reader.js';
import { DeviceError, FormatError, named } from '../base/errors.js';
import { signalRule } from '../nn/data/loader.js';
import { JobFolder } from './folder.js';
import { jobFiles } from './job.js';

const op = 'followJob';

/** Options of `followJob`. */
export interface FollowOptions {
  /** Ends the iteration with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Seconds without a sign of life of the player after which it counts as gone. Default 60. */
  readonly timeout?: number;
}

/** Metrics of a step of a job, or of an evaluation after it. */
export interface JobMetrics {
  /** Number of the step, as the player counts. */
  readonly step: number;
  readonly kind: 'step' | 'evaluate';
  /** Seconds since the start. */
  readonly time: number;
  /** By name; NaN for those that are not finite. */
  readonly metrics: Readonly<Record<string, number>>;
}

const seconds = valueRule(
  'a number of seconds greater than 0',
  (value): value is number => typeof value === 'number' && value > 0,
);

/** Milliseconds between two looks at the folder. */
const pause = 100;

/**
 * Metrics of a job from its first step on, as it runs or after it has; those that a resumed run repeats come once.
 * Ends when the job has finished or was stopped. A job that has not started is waited for.
 *
 * @throws DeviceError with the player's message when the job has failed, and where its process is gone; FormatError for a folder without a job and for
 * damaged files.
 */
export async function* followJob(
  folder: string | URL,
  options: FollowOptions = {},
): AsyncGenerator<JobMetrics, void, undefined> {
  checkOptions<FollowOptions>(op, options, { signal: signalRule, timeout: seconds });
  const { signal, timeout = 60 } = options;
  const job = await JobFolder.at(op, folder);
  await job.readJob();
  const last = { step: -Infinity, evaluate: -Infinity };
  const lines = new GrowingLines(job);
  const signs = { beat: undefined as number | undefined, seen: performance.now() };
  for (;;) {
    signal?.throwIfAborted();
    // Before the metrics, so that none comes between the last look and the end.
    const status = await readStatus(job);
    for (const line of await lines.next()) {
      const entry = readEntry(line);
      if (entry.step <= last[entry.kind]) continue;
      last[entry.kind] = entry.step;
      yield entry;
      signal?.throwIfAborted();
    }
    if (status?.state === 'finished' || status?.state === 'stopped') return;
    if (status?.state === 'failed') {
      throw new DeviceError('the job has failed', {
        op,
        actual: status.error ?? 'no message',
        advice: 'correct the cause and run the job again: it resumes from its last checkpoint',
      });
    }
    if (status?.beat !== signs.beat) Object.assign(signs, { beat: status?.beat, seen: performance.now() }); // prettier-ignore
    // By this machine's clock, as clocks of machines differ.
    const silence = (performance.now() - signs.seen) / 1000;
    if (signs.beat !== undefined && silence > timeout) {
      throw new DeviceError('the player is gone', {
        op,
        expected: `a sign of life every ${timeout} seconds`,
        actual: `none since step ${status?.step}`,
        advice: 'run the job again: it resumes from its last checkpoint',
      });
    }
    await sleep(pause, signal);
  }
}

/** Complete lines of the file of metrics. */
class GrowingLines {
  readonly #job: JobFolder;
  #position = 0;
  #rest: Uint8Array = new Uint8Array();

  constructor(job: JobFolder) {
    this.#job = job;
  }

  /** Lines since the last call; all of them when the file was written anew. */
  async next(): Promise<readonly string[]> {
    const bytes = await this.#job.readFrom(jobFiles.metrics, this.#position);
    if (bytes === null) {
      this.#position = 0;
      this.#rest = new Uint8Array();
      return this.next();
    }
    this.#position += bytes.length;
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const end = all.lastIndexOf(0x0a) + 1;
    this.#rest = all.slice(end);
    return new TextDecoder().decode(all.subarray(0, end)).split('\n').filter((line) => line !== ''); // prettier-ignore
  }
}

function readEntry(line: string): JobMetrics {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new FormatError('a line of the metrics is not JSON', { op, expected: 'an object', actual: line, cause }); // prettier-ignore
  }
  return read(value, `a line of ${jobFiles.metrics}`, (root) => {
    const kind = root.field('kind');
    const name = kind.string();
    if (name !== 'step' && name !== 'evaluate') kind.fail('step or evaluate');
    return {
      step: root.field('step').natural(),
      kind: name === 'evaluate' ? name : 'step',
      time: numberIn(root.field('time')),
      metrics: numbersIn(root.field('metrics')),
    };
  });
}

function numberIn(field: JsonReader): number {
  const value = field.raw();
  return typeof value === 'number' ? value : field.fail('a number');
}

/** Metrics by name. JSON has no NaN and no infinities: the player writes null for them. */
function numbersIn(field: JsonReader): Readonly<Record<string, number>> {
  const entries = Object.keys(field.record()).map((name): [string, number] => {
    const metric = field.field(name);
    return [name, metric.isNull() ? NaN : numberIn(metric)];
  });
  return Object.fromEntries(entries);
}

interface JobStatus {
  readonly state: 'running' | 'finished' | 'failed' | 'stopped';
  readonly step: number;
  /** Number of signs of life, while the job runs. */
  readonly beat?: number;
  readonly error?: string;
}

const states: readonly string[] = ['running', 'finished', 'failed', 'stopped'];

async function readStatus(job: JobFolder): Promise<JobStatus | null> {
  if (!job.exists(jobFiles.status)) return null;
  const value = await job.readJson(jobFiles.status);
  return read(value, jobFiles.status, (root) => {
    const state = root.field('state');
    if (!states.includes(state.string())) state.fail('running, finished, failed or stopped');
    root.field('step').natural();
    root.optional('error')?.string();
    root.optional('beat')?.natural();
    return value as JobStatus;
  });
}

function read<T>(value: unknown, place: string, check: (root: JsonReader) => T): T {
  try {
    return check(new JsonReader(value, place));
  } catch (error) {
    throw named(error, op);
  }
}

/** Waits, until the signal at most. */
async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  let wake = (): void => undefined;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener('abort', wake, { once: true });
  });
  signal?.removeEventListener('abort', wake);
}
