import { BoundedCache } from '../../base/bounded-cache.js';
import { type DType, dtypes, type HostArray } from '../../base/dtype.js';
import { DeviceError, InternalError, KaonError } from '../../base/errors.js';
import type { Shader } from '../../codegen/wgsl/shader.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import type { Launch, LaunchCondition } from '../device/backend.js';
import type { DeviceTuning } from '../execution/device-tuning.js';
import type { BackendLimits, BufferPart, BufferRead, DeviceBuffer } from '../memory/backend.js';
import type { DeviceTimer } from '../profile/recorder.js';
import { BufferPool, GpuBuffer, leastOwnBytes } from './buffers.js';
import type { CommandCounts, Dispatch, GpuCommands, GpuFailure, PipelineDescription } from './commands.js'; // prettier-ignore
import { errorOfAbsence, errorOfFailure } from './failure.js';
import { DispatchTiming, roundTime } from './timing.js';
import { type MeasuredBackend, Tuner, type TunerOptions } from './tuning/tuner.js';
import { JoinedAnswer, padded } from './reads.js';
import { bindingPattern, encodeLaunch, type ShaderPrinter } from './launches.js';
import { launchInPacks, mayNeedPacks, mostBound, type PackMemory, packsFor } from './packing.js';

/** Dtypes of arrays that a GPU holds by default. Shaders compute with float64 in integers, too slowly to be of use. */
const usual: readonly DType[] = dtypes.filter((dtype) => dtype !== 'float64');

/** Configuration of a GPU as a device. */
export interface WebGpuOptions {
  readonly target: DeviceTarget;
  readonly print: ShaderPrinter;
  /** The most bytes of its memory that arrays may take. Default: no limit but the GPU's own. */
  readonly memoryBudget?: number;
  /** Dtypes of arrays that it holds. Default: all but float64. */
  readonly dtypes?: readonly DType[];
  /** With true, new memory is full of what no program computes: elements that nothing has stored show. Default false. */
  readonly fillsMemory?: boolean;
  /** The most compiled shaders that the GPU keeps. Default 4096. */
  readonly mostPipelines?: number;
  /** Finds a GPU again after one was lost. */
  reopen(): Promise<GpuCommands>;
}

/** Default limit of the pipelines that a GPU keeps: more than a program has kernels. */
const usualPipelines = 4096;

/** Makes indices that are outside of every array, large integers, and small floats. */
const garbageByte = 0xbe;

/** Observer of the launches of one measurement. */
interface LaunchObserver {
  /** Gets pipelines; nothing is dispatched then. */
  readonly prepared?: (pipeline: PipelineDescription) => void;
  readonly dispatched?: (dispatch: Dispatch) => void;
  /** Gets what would be freed. */
  readonly freed?: (buffer: GpuBuffer) => void;
}

/** A GPU that is reached by WebGPU. */
export class WebGpuBackend implements MeasuredBackend {
  readonly name = 'webgpu';
  readonly hasConditions = true;
  readonly limits: BackendLimits;
  readonly #options: WebGpuOptions;
  readonly #pool: BufferPool;
  #commands: GpuCommands;
  /** Numbers of the pipelines that the GPU has, by the text of their shaders. */
  readonly #pipelines: BoundedCache<string, number>;
  /** Numbers of evicted pipelines: the next ones take their places. */
  #freePipelines: number[] = [];
  /** Why the device cannot be used, while it is set up again and when that fails. */
  #absence: DeviceError | null = null;
  /** Attempt to set up the device again; null where none is under way. It never rejects. */
  #recovery: Promise<void> | null = null;
  /** Names of kernels while they are timed. */
  #timed: string[] | null = null;
  /** Gets what is launched: in its place, or beside it. */
  #observer: LaunchObserver | null = null;
  #tuner: Tuner | null = null;
  readonly #packing: PackMemory = {
    take: (bytes) => this.#pool.allocate('uint8', bytes),
    free: (buffer) => this.free(buffer),
    copy: (from, to, bytes) => this.#commands.copy(from, to, bytes),
  };

  constructor(commands: GpuCommands, options: WebGpuOptions) {
    this.#commands = commands;
    this.#options = options;
    const { bufferBytes } = commands.properties;
    const { memoryBudget: budget, dtypes: held = usual } = options;
    this.limits = {
      dtypes: new Set(held),
      bufferBytes,
      alignment: 256,
      ...(budget !== undefined && { budget }),
    };
    this.#pool = new BufferPool(commands, budget ?? Infinity);
    this.#pipelines = new BoundedCache({
      capacity: options.mostPipelines ?? usualPipelines,
      evicted: (_, pipeline) => this.#freePipelines.push(pipeline),
    });
    commands.onLost((reason) => this.#lose(reason));
  }

  /** Target of lowering, with what has been measured. */
  get target(): DeviceTarget {
    const { target } = this.#options;
    return this.#tuner === null ? target : { ...target, tuning: this.#tuner };
  }

  get adapter(): string {
    return this.#commands.properties.adapter;
  }

  get dispatches(): number {
    return this.#commands.counts.dispatches;
  }

  /** Has kernels be chosen among candidates, for plans that are made from now on. */
  tune(options: TunerOptions): void {
    this.#tuner = new Tuner(this, options);
  }

  async tuning(): Promise<DeviceTuning | null> {
    return this.#tuner === null ? null : this.#tuner.finish();
  }

  get answersAtOnce(): boolean {
    return this.#commands.answersAtOnce;
  }

  get bytesInUse(): number {
    return this.#pool.bytesInUse;
  }

  /** Bytes of the device's memory that are taken, those that are kept for later included. */
  get bytesTaken(): number {
    return this.#pool.bytesTaken;
  }

  get counts(): CommandCounts {
    return this.#commands.counts;
  }

  get losses(): number {
    return this.#pool.life;
  }

  allocate(dtype: DType, length: number): DeviceBuffer {
    this.#refuseAbsent();
    if (!this.limits.dtypes.has(dtype)) throw new InternalError(`the device has no ${dtype}`);
    const buffer = this.#pool.allocate(dtype, length);
    if (this.#options.fillsMemory === true) {
      const garbage = new Uint8Array(padded(buffer.bytes)).fill(garbageByte);
      this.#commands.write(buffer.id, buffer.base, garbage);
    }
    return buffer;
  }

  free(buffer: DeviceBuffer): void {
    const own = owned(buffer);
    if (this.#observer?.freed !== undefined) this.#observer.freed(own);
    else this.#pool.free(own);
  }

  write(buffer: DeviceBuffer, elements: HostArray): void {
    this.#refuseAbsent();
    const own = owned(buffer);
    this.#pool.revive(own);
    const bytes = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
    if (bytes.length % 4 === 0) return this.#commands.write(own.id, own.base, bytes);
    const whole = new Uint8Array(padded(bytes.length));
    whole.set(bytes);
    this.#commands.write(own.id, own.base, whole);
  }

  read(buffer: DeviceBuffer, part?: BufferPart): HostArray | Promise<HostArray> {
    const answer = this.readAll([{ buffer, part }]);
    return answer instanceof Promise ? answer.then(([elements]) => elements) : answer[0];
  }

  readAll(reads: readonly BufferRead[]): readonly HostArray[] | Promise<readonly HostArray[]> {
    const answer = new JoinedAnswer(reads.map(({ buffer, part }) => [this.#present(buffer), part]));
    if (answer.bytes > this.limits.bufferBytes && reads.length > 1) return this.#readHalves(reads);
    const bytes = this.#commands.read(answer.ranges);
    return bytes instanceof Promise
      ? bytes.then((later) => answer.elementsIn(later))
      : answer.elementsIn(bytes);
  }

  /** Reads more than one buffer holds in several answers. */
  #readHalves(reads: readonly BufferRead[]): readonly HostArray[] | Promise<readonly HostArray[]> {
    const half = Math.ceil(reads.length / 2);
    const [first, second] = [reads.slice(0, half), reads.slice(half)].map((some) => this.readAll(some)); // prettier-ignore
    if (first instanceof Promise || second instanceof Promise) {
      return Promise.all([first, second]).then((answers) => answers.flat());
    }
    return [...first, ...second];
  }

  copy(from: DeviceBuffer, to: DeviceBuffer): void {
    const source = this.#present(from);
    const target = owned(to);
    this.#pool.revive(target);
    this.#commands.copy(source, target, padded(source.bytes));
  }

  async ready(): Promise<void> {
    // An attempt that is under way may have begun too early.
    await this.#recovery;
    if (this.#absence !== null) await this.#recover();
    if (this.#absence !== null) throw errorOfAbsence(this.#absence);
  }

  async synchronize(): Promise<void> {
    await this.ready();
    await this.#commands.synchronize();
  }

  startTimer(): DeviceTimer {
    const commands = this.#commands;
    const names: string[] = [];
    this.#timed = names;
    commands.startTiming((device, most) => new DispatchTiming(device, most));
    return {
      get launched() {
        return names.length;
      },
      stop: async () => {
        this.#timed = null;
        const times = await commands.stopTiming();
        return times.map(([begin, end], k) => ({ name: names[k], begin, end }));
      },
    };
  }

  async accepts(launch: () => void): Promise<boolean> {
    const descriptions: PipelineDescription[] = [];
    this.#observed({ prepared: (each) => void descriptions.push(each) }, launch);
    const fresh = descriptions.filter(({ text }) => this.#pipelines.get(text) === undefined);
    const answers = await Promise.all(fresh.map((each) => this.#commands.accepts(each)));
    return answers.every((isAccepted) => isAccepted);
  }

  async measure(launch: () => void, rounds: number): Promise<number> {
    const dispatches: Dispatch[] = [];
    /** Not freed before the last round, since it might be destroyed. */
    const memory: GpuBuffer[] = [];
    const commands = this.#commands;
    try {
      this.#observed(
        {
          dispatched: (each) => void dispatches.push(each),
          freed: (each) => void memory.push(each),
        },
        launch,
      );
      // Nobody else launches anything before the times have been asked for.
      commands.startTiming((device, most) => new DispatchTiming(device, most));
      for (let round = 0; round < rounds; round++) {
        for (const dispatch of dispatches) commands.dispatch(dispatch);
      }
    } finally {
      for (const each of memory) this.#pool.free(each);
    }
    return roundTime(await commands.stopTiming(), rounds);
  }

  #observed(observer: LaunchObserver, launch: () => void): void {
    this.#observer = observer;
    try {
      launch();
    } finally {
      this.#observer = null;
    }
  }

  prepare(kernel: Kernel): Launch {
    const prepared = new Map<string, Shader>();
    const launch: Launch = (args, condition) => {
      const { given, pattern } = bindingPattern(args);
      const key = `${pattern.memories.join()} ${pattern.isAligned}`;
      let known = prepared.get(key);
      if (known === undefined) {
        const { features } = this.#commands.properties;
        prepared.set(key, (known = this.#options.print(kernel, pattern, features)));
      }
      for (const buffer of given) this.#present(buffer);
      this.#launch(kernel.name, known, args, condition);
    };
    const most = mostBound(kernel, this.#commands.properties.features.maxStorageBuffers);
    if (!mayNeedPacks(kernel, most)) return launch;
    return (args, condition) => {
      for (const buffer of bindingPattern(args).given) this.#present(buffer);
      const packs = packsFor(kernel, args, most, this.limits.bufferBytes);
      launchInPacks(packs, args, this.#packing, (packed) => launch(packed, condition));
    };
  }

  /** Gives the GPU back; no array on it can be used any more. */
  close(): void {
    this.#commands.close();
  }

  #launch(
    label: string,
    shader: Shader,
    args: Parameters<Launch>[0],
    condition: LaunchCondition | undefined,
  ): void {
    const observer = this.#observer;
    if (observer?.prepared !== undefined) return observer.prepared(described(label, shader));
    const pipeline = this.#pipelineOf(label, shader);
    const { features } = this.#commands.properties;
    const { groups, conditionOffset, uniforms, bindings: bound } = encodeLaunch(shader, args, features, condition !== undefined); // prettier-ignore
    const lent: GpuBuffer[] = [];
    const buffers = bound.map((each) => {
      if (typeof each !== 'number') return each.id;
      const memory = this.#pool.allocate('uint8', Math.max(each, leastOwnBytes));
      lent.push(memory);
      return memory.id;
    });
    const dispatch = { pipeline, buffers, uniforms, groups };
    observer?.dispatched?.(dispatch);
    if (condition === undefined) this.#commands.dispatch(dispatch);
    else {
      const { id, base } = this.#present(condition.buffer);
      const indirect = { id, base: base + condition.offset + conditionOffset };
      this.#commands.dispatch({ ...dispatch, indirect });
    }
    this.#timed?.push(label);
    for (const memory of lent) this.free(memory);
  }

  #pipelineOf(label: string, shader: Shader): number {
    const { text } = shader;
    const known = this.#pipelines.get(text);
    if (known !== undefined) return known;
    const pipeline = this.#freePipelines.pop() ?? this.#pipelines.size;
    this.#pipelines.set(text, pipeline);
    this.#commands.createPipeline(pipeline, described(label, shader));
    return pipeline;
  }

  /** A buffer whose elements are there. */
  #present(buffer: DeviceBuffer): GpuBuffer {
    this.#refuseAbsent();
    const own = owned(buffer);
    if (own.life === this.#pool.life) return own;
    throw new DeviceError('the elements of an array were lost with the device', {
      op: 'webgpu',
      advice: 'make the array again from what the host has',
    });
  }

  /** Refuses what needs the device while it is absent, and sees to it that it is not absent for good. */
  #refuseAbsent(): void {
    if (this.#absence === null) return;
    void this.#recover();
    throw errorOfAbsence(this.#absence);
  }

  #lose(reason: GpuFailure): void {
    this.#absence = errorOfFailure(reason);
    void this.#recover();
  }

  /** Tries to set up the device again. A driver that restarts may have no adapter yet: whoever asks next tries again. */
  #recover(): Promise<void> {
    return (this.#recovery ??= this.#options.reopen().then(
      (commands) => {
        this.#recovery = null;
        this.#commands = commands;
        this.#pool.restart(commands);
        this.#pipelines.clear();
        this.#freePipelines = [];
        this.#absence = null;
        commands.onLost((again) => this.#lose(again));
      },
      (cause: unknown) => {
        this.#recovery = null;
        const why = cause instanceof KaonError ? cause.problem : String(cause);
        const actual = `it could not be set up again: ${why}`;
        this.#absence = new DeviceError('the device was lost', { op: 'webgpu', actual, cause });
      },
    ));
  }
}

function described(label: string, { text, bindings, uniformWords }: Shader): PipelineDescription {
  return { label, text, bindings, uniformWords };
}

function owned(buffer: DeviceBuffer): GpuBuffer {
  if (buffer instanceof GpuBuffer && buffer.id >= 0) return buffer;
  throw new InternalError('this is no buffer of the GPU, or it has been freed');
}
