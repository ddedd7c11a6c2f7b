import { input } from '../harness/data.mjs';

export const rows = [
  {
    section: 'Eager',
    title: 'eager add of two 4x4 arrays',
    kind: 'eagerAdd',
    unit: 'us',
    targets: [
      { who: 'kaon wasm', most: 1 },
      { who: 'kaon native', most: 1 },
    ],
    build() {
      const [x, y] = [input([4, 4], 1), input([4, 4], 2)];
      return { inputs: { x, y }, reference: x.data.map((value, i) => value + y.data[i]) };
    },
  },
];
