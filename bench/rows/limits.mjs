/** A row of what the machine or the GPU reaches in copying so many bytes, and in computing. */
const row = (title, bytes, rest) => ({
  section: 'Limits',
  title,
  unit: 'ms',
  operations: 1,
  bytes,
  ...rest,
});

const megabyte = 1024 * 1024;
const processor = { technologies: ['wasm', 'native'] };
const gpu = { technologies: ['webgpu'], needsGpu: true };

// Far beyond any cache, and within the nearest, or that of the GPU.
export const rows = [
  row('limits of the machine, copying in memory', 128 * megabyte, processor),
  row('limits of the machine, copying in cache', megabyte, processor),
  row('limits of the GPU, copying in memory', 256 * megabyte, gpu),
  row('limits of the GPU, copying in cache', 16 * megabyte, gpu),
];
