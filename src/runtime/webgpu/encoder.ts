import type { DispatchTimes, DispatchTiming } from './timing.js';
import type { BufferPosition, BufferRange, CommandCounts, Dispatch, GpuCommands, GpuFailure, GpuProperties, PipelineDescription, TimingOf } from './commands.js'; // prettier-ignore

interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly uniformBytes: number;
}

interface Buffer {
  readonly buffer: GPUBuffer;
  /** The batch that used it last. */
  batch: number;
}

type MutableCounts = { -readonly [Name in keyof CommandCounts]: number };

/**
 * Encodes commands for a GPU of this thread. Dispatches are collected in one compute pass and submitted together.
 * Their uniforms lie in one buffer, which is written once for each submit: the queue writes it behind the submits that
 * came before.
 *
 * Workers get the class as text, so it uses nothing of this file but types.
 */
export class GpuEncoder implements GpuCommands {
  /** Dispatches in one submit: the more, the cheaper; the fewer, the sooner the GPU starts. */
  readonly #mostDispatches = 32;
  /** Bytes of the buffer that small writes between dispatches come from, and the most bytes of one of them. */
  readonly #uploadBytes = 2 ** 16;
  readonly #mostUploaded = 2 ** 12;
  /** Bytes of the buffer that has the uniforms of all dispatches of a submit. */
  readonly #uniformBytes = 2 ** 16;
  /** Flags of WebGPU: not all runtimes have the objects with their names. */
  readonly #usages = { mapRead: 1, copySource: 4, copyTarget: 8, uniform: 64, storage: 128, indirect: 256 }; // prettier-ignore
  readonly #mapRead = 1;
  readonly #computeStage = 4;
  /** Bind groups that are kept. */
  readonly #mostGroups = 2048;

  readonly properties: GpuProperties;
  readonly answersAtOnce = false;
  readonly counts: MutableCounts = { dispatches: 0, submits: 0, reads: 0, bytesWritten: 0, bytesRead: 0 }; // prettier-ignore
  readonly #device: GPUDevice;
  readonly #buffers: Map<number, Buffer> = new Map();
  readonly #pipelines: Map<number, Pipeline> = new Map();
  readonly #layouts: Map<string, GPUBindGroupLayout> = new Map();
  readonly #groups: Map<string, GPUBindGroup> = new Map();
  readonly #uniformBuffer: GPUBuffer;
  readonly #uniforms: Uint32Array<ArrayBuffer> = new Uint32Array(this.#uniformBytes / 4);
  readonly #uniformAlignment: number;
  #uniformEnd = 0;
  readonly #uploadBuffer: GPUBuffer;
  readonly #uploads: Uint8Array<ArrayBuffer> = new Uint8Array(this.#uploadBytes);
  #uploadEnd = 0;
  /** For copies from a buffer to itself. */
  #between: GPUBuffer | null = null;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #dispatches = 0;
  #batch = 0;
  /**
   * Set by the first thing that goes wrong: nothing computed since can be trusted, so that the device is lost once somebody
   * has been told.
   */
  #failure: GpuFailure | null = null;
  /** The first command that was refused: perhaps for what a failure tells, of which scopes are told later. */
  #refusal: GpuFailure | null = null;
  readonly #errorOf: (failure: GpuFailure) => Error;
  #isClosed = false;
  /** Null while dispatches are not timed. */
  #timing: DispatchTiming | null = null;
  /** Answers of error scopes that are still to come. */
  readonly #pending: Set<Promise<void>> = new Set();

  /** @param errorOf Makes the error that a wait is told. */
  // prettier-ignore
  constructor(device: GPUDevice, properties: GpuProperties, errorOf: (failure: GpuFailure) => Error) {
    this.#device = device;
    this.#errorOf = errorOf;
    this.properties = properties;
    this.#uniformAlignment = device.limits.minUniformBufferOffsetAlignment;
    const { uniform, copySource, copyTarget } = this.#usages;
    this.#uniformBuffer = this.#own('uniforms', this.#uniformBytes, uniform | copyTarget);
    this.#uploadBuffer = this.#own('uploads', this.#uploadBytes, copySource | copyTarget);
    device.addEventListener('uncapturederror', ({ error }) => {
      this.#refusal ??= { problem: 'a command was refused', actual: error.message };
    });
  }

  onLost(callback: (reason: GpuFailure) => void): void {
    void this.#device.lost.then(({ message }) => {
      if (this.#isClosed) return;
      const cause = this.#cause;
      const actual = cause === null ? message : `${cause.problem}: ${cause.actual}`;
      this.#failure = { problem: 'the device was lost', actual };
      callback(this.#failure);
    });
  }

  createBuffer(buffer: number, bytes: number): void {
    this.#device.pushErrorScope('out-of-memory');
    const { storage, copySource, copyTarget, indirect } = this.#usages;
    const usage = storage | copySource | copyTarget | indirect;
    this.#buffers.set(buffer, { buffer: this.#own(`buffer ${buffer}`, bytes, usage), batch: -1 });
    this.#watch('the memory of the device is exhausted', `a buffer of ${bytes} bytes`);
  }

  destroyBuffer(buffer: number): void {
    const { buffer: own, batch } = this.#buffers.get(buffer)!;
    this.#buffers.delete(buffer);
    if (batch === this.#batch) this.#submit();
    own.destroy();
  }

  createPipeline(pipeline: number, description: PipelineDescription): void {
    this.#device.pushErrorScope('validation');
    const layout = this.#layout(description.bindings.map(({ access }) => access));
    const made = this.#device.createComputePipeline(this.#described(description, layout));
    if (this.#pipelines.has(pipeline)) this.#groups.clear(); // they may have other uniforms
    const uniformBytes = description.uniformWords * 4;
    this.#pipelines.set(pipeline, { pipeline: made, layout, uniformBytes });
    this.#watch('a kernel was refused', description.label);
  }

  async accepts(description: PipelineDescription): Promise<boolean> {
    const device = this.#device;
    device.pushErrorScope('validation');
    const layout = this.#layout(description.bindings.map(({ access }) => access));
    const made = device.createComputePipelineAsync(this.#described(description, layout));
    const refusal = device.popErrorScope();
    return Promise.all([made, refusal]).then(
      ([, error]) => error === null,
      () => false,
    );
  }

  #described({ label, text: code }: PipelineDescription, own: GPUBindGroupLayout): GPUComputePipelineDescriptor {
    const layout = this.#device.createPipelineLayout({ bindGroupLayouts: [own] });
    const module = this.#device.createShaderModule({ label, code });
    return { label, layout, compute: { module, entryPoint: 'main' } };
  } // prettier-ignore

  dispatch({ pipeline, buffers, uniforms, groups, indirect }: Dispatch): void {
    const own = this.#pipelines.get(pipeline)!;
    if (this.#uniformEnd * 4 + own.uniformBytes > this.#uniformBytes) this.#submit();
    const offset = this.#uniformEnd;
    this.#uniforms.set(uniforms, offset);
    const aligned = Math.ceil(own.uniformBytes / this.#uniformAlignment) * this.#uniformAlignment;
    this.#uniformEnd += aligned / 4;
    const group = this.#group(pipeline, own, buffers);
    const timing = this.#timing;
    if (timing !== null) {
      this.#endPass();
      const timed = timing.pass(this.#dispatches, own.pipeline.label);
      this.#pass = this.#commands.beginComputePass(timed);
    }
    const pass = (this.#pass ??= this.#commands.beginComputePass());
    pass.setPipeline(own.pipeline);
    pass.setBindGroup(0, group, [offset * 4]);
    if (indirect === undefined) pass.dispatchWorkgroups(groups);
    else pass.dispatchWorkgroupsIndirect(this.#used(indirect.id), indirect.base);
    for (const buffer of buffers) this.#used(buffer);
    this.counts.dispatches++;
    if (++this.#dispatches >= this.#mostDispatches || timing?.isBySubmit) this.#submit();
  }

  startTiming(make: TimingOf): void {
    this.#submit();
    this.#timing = make(this.#device, this.#mostDispatches);
  }

  async stopTiming(): Promise<DispatchTimes> {
    this.#submit();
    const times = this.#timing!.end();
    this.#timing = null;
    await this.#answered(times);
    this.#refuse();
    return times;
  }

  write(buffer: number, offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const own = this.#buffers.get(buffer)!;
    this.counts.bytesWritten += bytes.length;
    if (own.batch === this.#batch) {
      // The queue writes at once, that is before what has not been submitted.
      const fits = this.#uploadEnd + bytes.length <= this.#uploadBytes;
      if (fits && bytes.length <= this.#mostUploaded) return this.#upload(buffer, offset, bytes);
      this.#submit();
    }
    const { buffer: memory } = bytes;
    const source = memory instanceof ArrayBuffer ? new Uint8Array(memory, bytes.byteOffset, bytes.length) : new Uint8Array(bytes); // prettier-ignore
    this.#device.queue.writeBuffer(own.buffer, offset, source);
  }

  /** Writes to a buffer in the middle of a batch. */
  #upload(buffer: number, offset: number, bytes: Uint8Array): void {
    this.#endPass();
    this.#uploads.set(bytes, this.#uploadEnd);
    const target = this.#used(buffer);
    this.#commands.copyBufferToBuffer(
      this.#uploadBuffer,
      this.#uploadEnd,
      target,
      offset,
      bytes.length,
    );
    this.#uploadEnd += bytes.length;
  }

  copy(from: BufferPosition, to: BufferPosition, bytes: number): void {
    if (bytes === 0) return;
    this.#endPass();
    const [source, target] = [this.#used(from.id), this.#used(to.id)];
    const commands = this.#commands;
    if (source !== target) return commands.copyBufferToBuffer(source, from.base, target, to.base, bytes); // prettier-ignore
    // WebGPU copies between different buffers only.
    const usage = this.#usages.copySource | this.#usages.copyTarget;
    const between = (this.#between ??= this.#own('between', this.#mostUploaded, usage));
    for (let at = 0; at < bytes; at += this.#mostUploaded) {
      const length = Math.min(bytes - at, this.#mostUploaded);
      commands.copyBufferToBuffer(source, from.base + at, between, 0, length);
      commands.copyBufferToBuffer(between, 0, target, to.base + at, length);
    }
  }

  async read(parts: readonly BufferRange[]): Promise<Uint8Array> {
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    this.counts.reads++;
    this.counts.bytesRead += bytes;
    if (bytes === 0) {
      await this.synchronize();
      return new Uint8Array(0);
    }
    const staging = this.#own('staging', bytes, this.#usages.mapRead | this.#usages.copyTarget);
    this.#endPass();
    let end = 0;
    for (const { id, base, bytes: length } of parts) {
      this.#commands.copyBufferToBuffer(this.#used(id), base, staging, end, length);
      end += length;
    }
    this.#submit();
    try {
      const pending = [...this.#pending];
      await this.#answered(staging.mapAsync(this.#mapRead));
      await Promise.all(pending);
      this.#refuse();
      return new Uint8Array(staging.getMappedRange()).slice();
    } finally {
      staging.destroy();
    }
  }

  async synchronize(): Promise<void> {
    this.#submit();
    const pending = [...this.#pending];
    await this.#answered(this.#device.queue.onSubmittedWorkDone());
    await Promise.all(pending);
    this.#refuse();
  }

  /** Settled when the GPU has done what it was given so far, or is gone: the next wait says what went wrong. */
  drained(): Promise<void> {
    return this.#device.queue.onSubmittedWorkDone().then(
      () => {},
      () => {},
    );
  }

  /** Has the GPU be lost, as by a driver that crashes. */
  lose(): void {
    this.#device.destroy();
  }

  close(): void {
    this.#isClosed = true;
    this.#device.destroy();
  }

  get #commands(): GPUCommandEncoder {
    return (this.#encoder ??= this.#device.createCommandEncoder());
  }

  #own(label: string, size: number, usage: number): GPUBuffer {
    return this.#device.createBuffer({ label, size, usage });
  }

  #used(buffer: number): GPUBuffer {
    const own = this.#buffers.get(buffer)!;
    own.batch = this.#batch;
    return own.buffer;
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
  }

  #submit(): void {
    if (this.#encoder === null) return;
    this.#endPass();
    const { queue } = this.#device;
    if (this.#uniformEnd > 0) {
      queue.writeBuffer(this.#uniformBuffer, 0, this.#uniforms, 0, this.#uniformEnd);
    }
    if (this.#uploadEnd > 0) {
      queue.writeBuffer(this.#uploadBuffer, 0, this.#uploads, 0, this.#uploadEnd);
      this.#uploadEnd = 0;
    }
    const fetched = this.#dispatches > 0 ? this.#timing?.fetch(this.#encoder, this.#dispatches) : undefined; // prettier-ignore
    queue.submit([this.#encoder.finish()]);
    fetched?.();
    this.#encoder = null;
    this.#uniformEnd = 0;
    this.#dispatches = 0;
    this.#batch++;
    this.counts.submits++;
  }

  #layout(accesses: readonly ('read' | 'read_write')[]): GPUBindGroupLayout {
    const key = accesses.join();
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const visibility = this.#computeStage;
      layout = this.#device.createBindGroupLayout({
        entries: [
          { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true } },
          ...accesses.map((access, k): GPUBindGroupLayoutEntry => {
            const type = access === 'read' ? 'read-only-storage' : 'storage';
            return { binding: k + 1, visibility, buffer: { type } };
          }),
        ],
      });
      this.#layouts.set(key, layout);
    }
    return layout;
  }

  #group(pipeline: number, own: Pipeline, buffers: readonly number[]): GPUBindGroup {
    const key = `${pipeline}:${buffers.join()}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size >= this.#mostGroups) this.#groups.clear();
      group = this.#device.createBindGroup({
        layout: own.layout,
        entries: [
          { binding: 0, resource: { buffer: this.#uniformBuffer, size: own.uniformBytes } },
          ...buffers.map((buffer, k) => ({
            binding: k + 1,
            resource: { buffer: this.#buffers.get(buffer)!.buffer },
          })),
        ],
      });
      this.#groups.set(key, group);
    }
    return group;
  }

  /** Ends the innermost error scope. */
  #watch(problem: string, what: string): void {
    const fail = (reason: string): void => {
      this.#failure ??= { problem, actual: `${what}: ${reason}` };
    };
    const answer = this.#device.popErrorScope().then(
      (error) => void (error !== null && fail(error.message)),
      (error: unknown) => fail(String(error)), // where the device is gone
    );
    this.#pending.add(answer);
    void answer.then(() => this.#pending.delete(answer));
  }

  /** Waits for the GPU, which refuses to answer when it is gone. */
  async #answered(promise: Promise<unknown>): Promise<void> {
    try {
      await promise;
    } catch (error) {
      this.#refuse();
      throw this.#errorOf({ problem: 'the device did not answer', actual: String(error) });
    }
  }

  #refuse(): void {
    const cause = this.#cause;
    if (cause === null) return;
    this.lose();
    throw this.#errorOf(cause);
  }

  get #cause(): GpuFailure | null {
    return this.#failure ?? this.#refusal;
  }
}
