import { DeviceError } from '../../base/errors.js';
import { nodeModules } from '../../base/node.js';
import { functionText, spawn, type Spawned } from '../threads/spawn.js';
import { openDevice, opened, packageStart, propertiesOf } from './adapter.js';
import type {
  BufferPosition,
  BufferRange,
  CommandCounts,
  Dispatch,
  GpuCommands,
  GpuFailure,
  GpuProperties,
  PipelineDescription,
} from './commands.js';
import { GpuEncoder } from './encoder.js';
import { errorOfFailure } from './failure.js';
import { type Attachment, type GpuMessage, commandCodes, sharedWords } from './messages.js';
import { type DispatchTimes, DispatchTiming } from './timing.js';
import { type WatchMessage, watchWorker } from './watcher.js';
import { serveGpu } from './worker.js';

/** Dispatches in one message, and words in one. */
const mostDispatches = 32;
const mostWords = 2 ** 14;

/** The most words that are written among the commands: more go beside them. */
const mostInline = 2 ** 10;

/** Messages that may wait to be carried out. */
const mostWaiting = 16;

/** Bytes of the memory for answers that is kept. */
const mostAnswer = 2 ** 24;

/** Milliseconds between two looks at whether the worker is still there. */
const patience = 1000;

/** Milliseconds that the end of a process waits for a worker at most. */
const patienceAtEnd = 10_000;

/** The process of Node, as far as it tells of its end. */
interface EndingProcess {
  on(event: 'exit', listener: () => void): void;
  off(event: 'exit', listener: () => void): void;
}

/** The process; undefined outside of Node, where bundlers may have something else by that name. */
function endingProcess(): EndingProcess | undefined {
  return nodeModules() === null ? undefined : (globalThis as { readonly process?: EndingProcess }).process; // prettier-ignore
}

/** Answer of a worker that has been started. */
interface Opening {
  readonly properties?: GpuProperties | null;
  readonly error?: string;
}

/** Program of the worker. */
function workerText(): string {
  const tools = [
    `Encoder: ${GpuEncoder.toString()}`,
    `Timing: ${DispatchTiming.toString()}`,
    `openDevice: ${openDevice.toString()}`,
    `propertiesOf: ${propertiesOf.toString()}`,
    'load: (address) => import(address)',
  ];
  return functionText(serveGpu, `{ ${tools.join(', ')} }`);
}

/**
 * A GPU in a worker, with an encoder of its own: commands go there in messages, answers come back in shared memory.
 * Whoever asks sleeps until then, so that answers are there at once.
 */
export class GpuWorker implements GpuCommands {
  readonly properties: GpuProperties;
  readonly answersAtOnce = true;
  readonly #worker: Spawned;
  readonly #watcher: Spawned;
  readonly #shared: Int32Array;
  /** Commands that have not been sent. */
  readonly #words: Uint32Array<ArrayBuffer> = new Uint32Array(mostWords);
  #end = 0;
  #attachments: Attachment[] = [];
  #dispatches = 0;
  #sent = 0;
  #questions = 0;
  #answer: SharedArrayBuffer = new SharedArrayBuffer(2 ** 12);
  #lost: ((reason: GpuFailure) => void) | null = null;
  /** Number of dispatches when their timing began. */
  #timedSince = 0;
  /** Why there is nobody any more to give commands to. */
  #gone: GpuFailure | null = null;
  readonly #counts: { dispatches: number; reads: number; bytesWritten: number; bytesRead: number } = { dispatches: 0, reads: 0, bytesWritten: 0, bytesRead: 0 }; // prettier-ignore

  /**
   * Starts a worker with a GPU.
   * @throws DeviceError when there is none, or where this thread may not wait for another one.
   */
  static async open(): Promise<GpuWorker> {
    refuseWithoutWaiting();
    const from = packageStart();
    const memory = new SharedArrayBuffer(sharedWords.words * 4);
    const { port1, port2 } = new MessageChannel();
    let fail: (error: Error) => void = () => {};
    const worker = spawn(workerText(), (reason) => fail(new Error(`the worker ${reason}`)));
    const watcher = spawn(functionText(watchWorker), () => {
      // Without it a wait could last for ever.
      Atomics.store(new Int32Array(memory), sharedWords.dead, 1);
    });
    watcher.post({ life: port1, memory, words: sharedWords } satisfies WatchMessage, [port1]);
    const start: GpuMessage = { kind: 'start', memory, words: sharedWords, commandCodes, from, life: port2 }; // prettier-ignore
    const answer = new Promise<GpuProperties | null>((resolve, reject) => {
      fail = reject;
      worker.listen((message) => {
        const { properties = null, error } = message as Opening; // the worker sends nothing else
        if (error === undefined) resolve(properties);
        else reject(new Error(error));
      });
    });
    worker.keepAlive(true);
    worker.post(start, [port2]);
    try {
      return new GpuWorker(worker, watcher, await opened(answer), new Int32Array(memory));
    } catch (error) {
      await Promise.all([worker.end(), watcher.end()]);
      throw error;
    } finally {
      worker.keepAlive(false);
    }
  }

  private constructor(
    worker: Spawned,
    watcher: Spawned,
    properties: GpuProperties,
    shared: Int32Array,
  ) {
    this.#worker = worker;
    this.#watcher = watcher;
    this.properties = properties;
    this.#shared = shared;
    endingProcess()?.on('exit', this.#atEnd);
  }

  /**
   * Waits until the worker has ended what it is at and sleeps: Dawn aborts the process where it is stopped in the middle of a
   * call, or while it answers one.
   */
  readonly #atEnd = (): void => {
    const [shared, { ending, asleep }] = [this.#shared, sharedWords];
    Atomics.store(shared, ending, 1);
    this.#worker.post({ kind: 'end' } satisfies GpuMessage);
    const until = performance.now() + patienceAtEnd;
    while (Atomics.load(shared, asleep) === 0) {
      if (this.#gone !== null || this.#reasonOfLoss !== null || performance.now() > until) return;
      Atomics.wait(shared, asleep, 0, 50);
    }
  };

  get counts(): CommandCounts {
    return { ...this.#counts, submits: Atomics.load(this.#shared, sharedWords.submits) };
  }

  onLost(callback: (reason: GpuFailure) => void): void {
    this.#lost = callback;
  }

  createBuffer(buffer: number, bytes: number): void {
    this.#put(commandCodes.create, buffer, bytes / 4);
  }

  destroyBuffer(buffer: number): void {
    this.#put(commandCodes.destroy, buffer);
  }

  createPipeline(pipeline: number, description: PipelineDescription): void {
    this.#put(commandCodes.pipeline, pipeline);
    this.#attachments.push(description);
  }

  async accepts(description: PipelineDescription): Promise<boolean> {
    this.#put(commandCodes.accepts);
    this.#attachments.push(description);
    return this.#asked(4)[0] !== 0;
  }

  dispatch({ pipeline, buffers, uniforms, groups, indirect }: Dispatch): void {
    this.#reserve(7 + buffers.length + uniforms.length);
    const code = indirect === undefined ? commandCodes.dispatch : commandCodes.dispatchIndirect;
    this.#put(code, pipeline, groups, buffers.length, uniforms.length);
    if (indirect !== undefined) this.#put(indirect.id, indirect.base / 4);
    this.#putAll(buffers);
    this.#putAll(uniforms);
    this.#counts.dispatches++;
    if (++this.#dispatches >= mostDispatches) this.#send();
  }

  startTiming(): void {
    this.#put(commandCodes.startTiming);
    this.#timedSince = this.#counts.dispatches;
  }

  async stopTiming(): Promise<DispatchTimes> {
    const count = this.#counts.dispatches - this.#timedSince;
    this.#put(commandCodes.stopTiming);
    const times = new Float64Array(this.#asked(16 * count).buffer);
    return Array.from({ length: count }, (_, k) => [times[2 * k], times[2 * k + 1]] as const);
  }

  write(buffer: number, offset: number, bytes: Uint8Array): void {
    const words = bytes.length / 4;
    if (words === 0) return;
    this.#counts.bytesWritten += bytes.length;
    if (words <= mostInline) {
      this.#reserve(4 + words);
      this.#put(commandCodes.write, buffer, offset / 4, words);
      new Uint8Array(this.#words.buffer, this.#end * 4).set(bytes);
      this.#end += words;
    } else {
      this.#put(commandCodes.writeMany, buffer, offset / 4);
      this.#attachments.push(bytes.slice());
      // Much memory would be held by what waits.
      this.#send();
    }
  }

  copy(from: BufferPosition, to: BufferPosition, bytes: number): void {
    if (bytes > 0)
      this.#put(commandCodes.copy, from.id, from.base / 4, to.id, to.base / 4, bytes / 4);
  }

  read(parts: readonly BufferRange[]): Uint8Array {
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    this.#counts.reads++;
    this.#counts.bytesRead += bytes;
    this.#put(commandCodes.read);
    this.#attachments.push(parts);
    return this.#asked(bytes);
  }

  /** Waits on this thread, as `read` does. */
  async synchronize(): Promise<void> {
    this.#put(commandCodes.synchronize);
    this.#wait();
  }

  /** Has the GPU be lost, as by a driver that crashes. */
  lose(): void {
    this.#put(commandCodes.lose);
    this.#send();
  }

  /** Has the worker die, as by exhausting its heap. */
  kill(): void {
    void this.#worker.kill();
  }

  close(): void {
    this.#lost = null;
    this.#endThreads();
  }

  /** Ends the threads. */
  #endThreads(): void {
    endingProcess()?.off('exit', this.#atEnd);
    void this.#watcher.end();
    void this.#worker.end();
  }

  #reserve(words: number): void {
    if (this.#end + words > mostWords) this.#send();
  }

  #put(...words: readonly number[]): void {
    this.#reserve(words.length);
    this.#putAll(words);
  }

  #putAll(words: ArrayLike<number>): void {
    this.#words.set(words, this.#end);
    this.#end += words.length;
  }

  #answerOf(bytes: number): SharedArrayBuffer {
    if (bytes <= this.#answer.byteLength) return this.#answer;
    const size = 2 ** Math.ceil(Math.log2(bytes));
    if (size > mostAnswer) return new SharedArrayBuffer(bytes);
    return (this.#answer = new SharedArrayBuffer(size));
  }

  #send(): void {
    if (this.#end === 0) return;
    const commands = this.#words.slice(0, this.#end);
    const attachments = this.#attachments;
    this.#end = 0;
    this.#dispatches = 0;
    this.#attachments = [];
    // What is still told to a GPU that is gone has no effect, as in this thread.
    if (this.#gone !== null) return;
    this.#sent++;
    const moved = [commands, ...attachments].flatMap((each) =>
      ArrayBuffer.isView(each) && each.buffer instanceof ArrayBuffer ? [each.buffer] : [],
    );
    const message: GpuMessage = { kind: 'commands', commands, attachments };
    this.#worker.post(message, moved);
    this.#await(sharedWords.finished, this.#sent - mostWaiting);
  }

  /** Bytes of the answer to the last command. */
  #asked(bytes: number): Uint8Array<ArrayBuffer> {
    const memory = this.#answerOf(bytes);
    this.#attachments.push(memory);
    this.#wait();
    return new Uint8Array(memory, 0, bytes).slice();
  }

  /** Waits for the answer to the last command. */
  #wait(): void {
    this.#questions++;
    this.#send();
    this.#await(sharedWords.answered, this.#questions);
    const isAnswered = Atomics.load(this.#shared, sharedWords.answered) >= this.#questions;
    const failure = isAnswered ? this.#text('failed') : null;
    if (failure !== null) {
      const [problem, ...actual] = failure.split('\n');
      throw errorOfFailure({ problem, actual: actual.join('\n') });
    }
    if (this.#gone !== null) throw errorOfFailure(this.#gone);
  }

  /** Sleeps until a counter has come so far, or the GPU or its worker is gone. */
  #await(word: number, count: number): void {
    for (;;) {
      const now = Atomics.load(this.#shared, word);
      this.#noticeLoss();
      if (now >= count || this.#gone !== null) return;
      Atomics.wait(this.#shared, word, now, patience);
    }
  }

  /** Why the GPU or its worker is gone; null where both are there. */
  get #reasonOfLoss(): string | null {
    const isDead = Atomics.load(this.#shared, sharedWords.dead) !== 0;
    return this.#text('lost') ?? this.#text('ended') ?? (isDead ? 'its worker has died' : null);
  }

  /** Tells, once, that the GPU or its worker is gone: another worker opens the next GPU. */
  #noticeLoss(): void {
    if (this.#gone !== null) return;
    const actual = this.#reasonOfLoss;
    if (actual === null) return;
    this.#gone = { problem: 'the device was lost', actual };
    this.#endThreads();
    this.#lost?.(this.#gone);
  }

  #text(kind: 'failed' | 'lost' | 'ended'): string | null {
    const length = Atomics.load(this.#shared, sharedWords[kind]);
    if (length === 0) return null;
    const begin = sharedWords.texts[kind];
    return String.fromCharCode(...this.#shared.subarray(begin, begin + length));
  }
}

/** @throws DeviceError on threads that may not sleep, such as that of a page, and where there is no shared memory. */
function refuseWithoutWaiting(): void {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
  } catch (cause) {
    throw new DeviceError('this thread cannot wait for a worker', {
      op: 'initDevice',
      expected: 'Node, or a worker of a page that is cross-origin isolated',
      actual: String(cause),
      advice: 'leave out worker, and read elements by await x.data()',
      cause,
    });
  }
}
