// What a GPU reaches by WebGPU: copying, and multiply-add on registers. A process that speaks as contestants do.
import { installWebGpu } from '../harness/device.mjs';
import { serve } from '../harness/serve.mjs';

/** So long, in milliseconds, work is repeated at least, so that launching it costs nothing worth mentioning. */
const shortest = 10;

/** Copies vectors of four floats: each thread every so many that there are threads. */
const copyShader = (group) => `
  @group(0) @binding(0) var<storage, read> source: array<vec4f>;
  @group(0) @binding(1) var<storage, read_write> copied: array<vec4f>;
  @compute @workgroup_size(${group})
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < arrayLength(&source); i += groups.x * ${group}) { copied[i] = source[i]; }
  }`;

const [peakGroups, peakGroup, bodies] = [2112, 256, 4];

/** The work `sum = sum * x + y` on so many sums at once, which converge to 1: neither zero nor denormal. */
const peakShader = (type, sums) => {
  const all = (text) => Array.from({ length: sums }, (_, i) => text.replaceAll('#', i)).join('\n');
  return `
  @group(0) @binding(0) var<storage, read> start: array<${type}>;
  @group(0) @binding(1) var<storage, read_write> totals: array<${type}>;
  @group(0) @binding(2) var<uniform> iterations: vec4u;
  @compute @workgroup_size(${peakGroup})
  fn main(@builtin(global_invocation_id) id: vec3u) {
    let x = start[0];
    let y = start[1];
    ${all('var sum# = start[2 + #];')}
    for (var i = 0u; i < iterations.x; i++) {
      ${all('sum# = fma(sum#, x, y);').concat('\n').repeat(bodies)}
    }
    totals[id.x] = ${Array.from({ length: sums }, (_, i) => `sum${i}`).join(' + ')};
  }`;
};

async function openGpu() {
  await installWebGpu();
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw new Error('there is no adapter for WebGPU');
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const stamped = adapter.features.has('timestamp-query');
  const device = await adapter.requestDevice({
    requiredFeatures: stamped ? ['timestamp-query'] : [],
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  });
  return { device, stamped };
}

/** Milliseconds of a pass that `fill(pass)` fills, by the clock of the GPU or, where it has none, by ours. */
function stopwatch({ device, stamped }) {
  if (!stamped) {
    return async (fill) => {
      const start = performance.now();
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      fill(pass);
      pass.end();
      device.queue.submit([encoder.finish()]);
      await device.queue.onSubmittedWorkDone();
      return performance.now() - start;
    };
  }
  const querySet = device.createQuerySet({ type: 'timestamp', count: 2 });
  const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const resolved = device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
  const read = device.createBuffer({ size: 16, usage: COPY_DST | MAP_READ });
  const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  return async (fill) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass({ timestampWrites });
    fill(pass);
    pass.end();
    encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, read, 0, 16);
    device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ);
    const [from, to] = new BigInt64Array(read.getMappedRange());
    read.unmap();
    return Number(to - from) / 1e6;
  };
}

/**
 * Samples of milliseconds for one unit of work: `time(amount)` is repeated with more until it takes long enough to
 * tell.
 */
function sampler(time, most) {
  let amount = 1;
  return async () => {
    for (;;) {
      const taken = await time(amount);
      if (taken > 0 && (taken >= shortest || amount >= most)) return taken / amount;
      if (amount >= most) throw new Error("the GPU's clock stands still");
      const factor = taken > 0 ? (1.5 * shortest) / taken : 8;
      amount = Math.min(most, Math.ceil(amount * Math.min(Math.max(factor, 2), 8)));
    }
  };
}

serve(async () => {
  const gpu = await openGpu();
  const { device } = gpu;
  const time = stopwatch(gpu);

  const storage = (floats, value) => {
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const buffer = device.createBuffer({ size: 4 * floats, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(buffer, 0, new Float32Array(floats).fill(value));
    return buffer;
  };

  async function prepared(code, buffers) {
    const module = device.createShaderModule({ code });
    const compute = { module, entryPoint: 'main' };
    const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    return (pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
    };
  }

  async function copy(bytes, group, each) {
    const vectors = Math.ceil(bytes / 2 / 16);
    const set = await prepared(copyShader(group), [storage(4 * vectors, 1.5), storage(4 * vectors, 1)]); // prettier-ignore
    const groups = Math.min(65_535, Math.ceil(vectors / group / each));
    const times = (repeats) =>
      time((pass) => {
        set(pass);
        for (let i = 0; i < repeats; i++) pass.dispatchWorkgroups(groups);
      });
    return { sample: sampler(times, 4096) };
  }

  async function peak(operations, type, lanes, sums) {
    const { UNIFORM, COPY_DST } = GPUBufferUsage;
    const iterations = device.createBuffer({ size: 16, usage: UNIFORM | COPY_DST });
    const threads = peakGroups * peakGroup;
    const buffers = [storage(lanes * (2 + sums), 0.5), storage(lanes * threads, 1), iterations];
    const set = await prepared(peakShader(type, sums), buffers);
    const ofIteration = threads * 2 * bodies * lanes * sums;
    const sample = sampler((count) => {
      device.queue.writeBuffer(iterations, 0, Uint32Array.of(count, 0, 0, 0));
      return time((pass) => {
        set(pass);
        pass.dispatchWorkgroups(peakGroups);
      });
    }, 1 << 20);
    return { sample: async () => ((await sample()) * operations) / ofIteration };
  }

  return {
    versions: { timestamps: gpu.stamped },
    kinds: {
      compute: {
        vectors: (_, { operations }) => peak(operations, 'vec4f', 4, 8),
        scalars: (_, { operations }) => peak(operations, 'f32', 1, 16),
      },
      copy: {
        'groups of 64': (_, { bytes }) => copy(bytes, 64, 1),
        'groups of 256': (_, { bytes }) => copy(bytes, 256, 1),
        'groups of 256, 4 each': (_, { bytes }) => copy(bytes, 256, 4),
      },
    },
  };
});
