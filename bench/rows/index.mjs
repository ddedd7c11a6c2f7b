/** The rows of the benchmark, in the order in which they are measured: short work first. */
const modules = [
  'limits',
  'eager',
  'contraction',
  'mlp',
  'training',
  'lstm',
  'convolution',
  'memory',
  'half',
  'reductions',
  'loops',
  'threads',
  'hybridized',
  'plain',
  'start',
  'graph',
];

const loaded = await Promise.all(modules.map((name) => import(`./${name}.mjs`)));

export const rows = loaded.flatMap((module) => module.rows);
