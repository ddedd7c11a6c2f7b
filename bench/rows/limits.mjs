/** Far beyond any cache, and within the nearest. */
const sizes = { memory: 128 * 1024 * 1024, cache: 1024 * 1024 };

export const rows = Object.entries(sizes).map(([where, bytes]) => ({
  section: 'Limits',
  title: `limits of the machine, copying in ${where}`,
  unit: 'ms',
  operations: 1,
  bytes,
  technologies: ['wasm', 'native'],
}));
