import { coldRun } from '../cold/run.mjs';

const stages = [
  'build',
  'topological sort',
  'postorder',
  'verify',
  'cse',
  'dce',
  'gradient',
  'print',
  'parse',
  'JSON',
];

export const rows = [250_000, 1_000_000].map((count) => ({
  section: 'Graph',
  title: `graph of ${count} nodes`,
  unit: 'ms',
  rounds: 1,
  entries({ options }) {
    let timings; // of all stages at once, in one process
    return stages.map((stage) => ({
      name: `kaon ${stage}`,
      technology: 'wasm',
      warm: false,
      round: async () => (await (timings ??= coldRun('graph.mjs', [count], options)))[stage],
    }));
  },
}));
