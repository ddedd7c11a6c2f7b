import { graphTimings } from '../graph.mjs';

const root = new URL('../../dist/src/', import.meta.url).href;

export const rows = [250_000, 1_000_000].map((count) => ({
  title: `graph of ${count} nodes`,
  build: async () => {
    const timings = await graphTimings(root, count);
    const figures = Object.entries(timings).map(([stage, ms]) => [stage, { median: ms, best: ms }]);
    return { name: `graph of ${count} nodes`, unit: 'ms', figures: Object.fromEntries(figures) };
  },
}));
