// Captured code against the same code run operator by operator, for the networks of the examples.
import { input } from '../harness/data.mjs';

const section = 'Hybridized against eager';
const common = { section, unit: 'ms', kaonOnly: true };

const exampleRows = (example) => [
  ...[64, 1].map((count) => ({
    ...common,
    title: `hybridized against eager: ${example} forward, batch ${count}`,
    kind: 'exampleForward',
    example,
    count,
  })),
  {
    ...common,
    title: `hybridized against eager: ${example} train step`,
    kind: 'exampleStep',
    example,
    checked: 3,
  },
];

export const rows = [
  ...exampleRows('digits'),
  ...exampleRows('names'),
  {
    ...common,
    title: 'hybridized against eager: add of two 4x4 arrays',
    kind: 'smallCall',
    unit: 'us',
    build() {
      const [x, y] = [input([4, 4], 1), input([4, 4], 2)];
      return { inputs: { x, y }, reference: x.data.map((value, i) => value + y.data[i]) };
    },
  },
];
