import type { WebGpuPackage, openDevice, propertiesOf } from './adapter.js';
import type { BufferRange, GpuFailure, PipelineDescription } from './commands.js';
import type { GpuEncoder } from './encoder.js';
import type { Attachment, GpuMessage } from './messages.js';
import type { DispatchTiming } from './timing.js';

/** The message port of a worker, in Node or in a browser. */
interface Port {
  on?(kind: 'message', hear: (message: GpuMessage) => void): void;
  addEventListener?(kind: 'message', hear: (event: { readonly data: GpuMessage }) => void): void;
  postMessage(message: unknown): void;
}

/** The global object of a worker. `require` exists in code that Node evaluates from text. */
interface WorkerGlobal extends Port {
  readonly process?: {
    getBuiltinModule?(name: string): unknown;
    on(event: 'exit', listener: (code: number) => void): void;
  };
  readonly require?: (name: string) => unknown;
  readonly navigator?: { readonly gpu?: GPU };
  setTimeout(callback: () => void): unknown;
  /** Held: Node aborts when it is collected. */
  gpu?: GPU;
}

/** Code of this library and of the engine that a worker is given. */
export interface WorkerTools {
  readonly Encoder: typeof GpuEncoder;
  readonly Timing: typeof DispatchTiming;
  readonly openDevice: typeof openDevice;
  readonly propertiesOf: typeof propertiesOf;
  load(address: string): Promise<unknown>;
}

/**
 * Program of a worker that has a GPU: it carries out commands in order, and answers in shared memory. It becomes text,
 * so it uses nothing of this file but types.
 */
export function serveGpu({ Encoder, Timing, openDevice, propertiesOf, load }: WorkerTools): void {
  const host = globalThis as unknown as WorkerGlobal; // of a worker, not of a page
  const builtin = host.process?.getBuiltinModule ?? host.require;
  const threads = builtin?.('node:worker_threads') as { readonly parentPort: Port } | undefined;
  const port = threads?.parentPort ?? host;
  /** Submits that may be on their way while more commands come. */
  const mostSubmits = 8;
  let tail: Promise<void> = Promise.resolve();
  let start: Extract<GpuMessage, { kind: 'start' }>;
  let words: Int32Array = new Int32Array(0);
  let encoder: GpuEncoder | null = null;
  let drained = 0;

  const notify = (word: number, value: number): void => {
    Atomics.store(words, word, value);
    Atomics.notify(words, word);
  };

  const tell = (kind: 'failed' | 'lost' | 'ended', text: string): void => {
    const { texts, mostCharacters } = start.words;
    const given = text.length === 0 ? 'for unknown reasons' : text.slice(0, mostCharacters);
    for (let k = 0; k < given.length; k++) words[texts[kind] + k] = given.charCodeAt(k);
    Atomics.store(words, start.words[kind], given.length);
  };

  /** Whoever waits looks whether the worker has ended. */
  const end = (reason: string): void => {
    tell('ended', reason);
    Atomics.notify(words, start.words.answered);
    Atomics.notify(words, start.words.finished);
  };

  const open = async (): Promise<void> => {
    const { from } = start;
    if (from === null) host.gpu = host.navigator?.gpu;
    else host.gpu = ((await load(from.address)) as WebGpuPackage).create(from.options);
    const device = host.gpu === undefined ? null : await openDevice(host.gpu);
    if (device === null) return port.postMessage({ properties: null });
    const errorOf = (failure: GpuFailure): Error => Object.assign(new Error(failure.problem), failure); // prettier-ignore
    encoder = new Encoder(device, propertiesOf(device), errorOf);
    encoder.onLost(({ actual }) => tell('lost', actual ?? ''));
    port.postMessage({ properties: encoder.properties });
  };

  const answer = async (
    question: Promise<Uint8Array | void>,
    memory: SharedArrayBuffer | null,
  ): Promise<void> => {
    try {
      const bytes = await question;
      if (bytes !== undefined) new Uint8Array(memory!).set(bytes);
      Atomics.store(words, start.words.failed, 0);
    } catch (error) {
      const { message, actual = '' } = error as Error & Partial<GpuFailure>;
      // Texts are cut where they are too long.
      tell('failed', `${message}\n${actual}`);
    }
    Atomics.store(words, start.words.submits, encoder!.counts.submits);
    notify(start.words.answered, Atomics.load(words, start.words.answered) + 1);
  };

  const bytesOf = ({ buffer }: Float64Array): Uint8Array => new Uint8Array(buffer);

  const carryOut = async (
    own: GpuEncoder,
    commands: Uint32Array,
    attachments: readonly Attachment[],
  ): Promise<void> => {
    const { commandCodes: op } = start;
    let used = 0;
    for (let k = 0; k < commands.length;) {
      if (Atomics.load(words, start.words.ending) !== 0) break;
      const kind = commands[k++];
      if (kind === op.dispatch || kind === op.dispatchIndirect) {
        const [pipeline, groups, buffers, uniforms] = commands.subarray(k, k + 4);
        k += 4;
        const isIndirect = kind === op.dispatchIndirect;
        const indirect = isIndirect ? { id: commands[k++], base: commands[k++] * 4 } : undefined;
        const begin = k + buffers;
        own.dispatch({
          pipeline,
          groups,
          buffers: Array.from(commands.subarray(k, begin)),
          uniforms: commands.subarray(begin, begin + uniforms),
          ...(indirect !== undefined && { indirect }),
        });
        k = begin + uniforms;
      } else if (kind === op.create) own.createBuffer(commands[k++], commands[k++] * 4);
      else if (kind === op.destroy) own.destroyBuffer(commands[k++]);
      else if (kind === op.pipeline) {
        own.createPipeline(commands[k++], attachments[used++] as PipelineDescription);
      } else if (kind === op.write) {
        const [buffer, position, length] = commands.subarray(k, k + 3);
        const begin = commands.byteOffset + (k + 3) * 4;
        own.write(buffer, position * 4, new Uint8Array(commands.buffer, begin, length * 4));
        k += 3 + length;
      } else if (kind === op.writeMany) {
        own.write(commands[k++], commands[k++] * 4, attachments[used++] as Uint8Array);
      } else if (kind === op.copy) {
        const [id, base, to, toBase, length] = commands.subarray(k, k + 5);
        own.copy({ id, base: base * 4 }, { id: to, base: toBase * 4 }, length * 4);
        k += 5;
      } else if (kind === op.read) {
        const parts = attachments[used++] as readonly BufferRange[];
        await answer(own.read(parts), attachments[used++] as SharedArrayBuffer);
      } else if (kind === op.synchronize) await answer(own.synchronize(), null);
      else if (kind === op.startTiming) {
        own.startTiming((device, mostDispatches) => new Timing(device, mostDispatches));
      } else if (kind === op.stopTiming) {
        const times = own.stopTiming().then((all) => bytesOf(Float64Array.from(all.flat())));
        await answer(times, attachments[used++] as SharedArrayBuffer);
      } else if (kind === op.accepts) {
        const description = attachments[used++] as PipelineDescription;
        const isAccepted = own.accepts(description).then((is) => Uint8Array.of(Number(is)));
        await answer(isAccepted, attachments[used++] as SharedArrayBuffer);
      } else own.lose();
    }
    const { submits } = own.counts;
    Atomics.store(words, start.words.submits, submits);
    if (submits - drained >= mostSubmits) {
      await own.drained();
      drained = submits;
    }
    notify(start.words.finished, Atomics.load(words, start.words.finished) + 1);
  };

  const sleep = (): void => {
    const { asleep } = start.words;
    notify(asleep, 1);
    Atomics.wait(words, asleep, 1);
  };

  const hear = (message: GpuMessage): void => {
    if (message.kind === 'start') {
      start = message;
      words = new Int32Array(message.memory);
      host.process?.on('exit', (code) => end(`it ended with code ${code}`));
      open().catch((error: unknown) => port.postMessage({ error: String(error) }));
      return;
    }
    if (message.kind === 'end') {
      // In a turn of its own, which Dawn has not begun: it can be stopped there.
      void tail.then(() => host.setTimeout(sleep));
      return;
    }
    const { commands, attachments } = message;
    // A command that cannot be carried out is a bug: nothing after it can be right.
    tail = tail
      .then(() => carryOut(encoder!, commands, attachments))
      .catch((error: unknown) => end(String(error)));
  };
  if (threads === undefined) host.addEventListener!('message', ({ data }) => hear(data));
  else port.on!('message', hear);
}
