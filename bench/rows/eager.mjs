import { randomData } from '../harness.mjs';
import * as kn from '../kaon.mjs';
import { tf } from '../peers.mjs';

const repeats = 1000;

export const rows = [
  {
    title: 'eager add of two 4x4 arrays',
    async build() {
      const [a, b] = [randomData(16, 1), randomData(16, 2)];
      const [x, y] = [a, b].map((data) => kn.array(data, { shape: [4, 4] }));
      const contestants = {
        kaon: {
          run: () => {
            for (let i = 0; i < repeats; i++) x.add(y);
          },
          result: () => x.add(y).dataSync(),
        },
        'TF.js': null,
      };
      if (tf !== null) {
        const [p, q] = [a, b].map((data) => tf.tensor2d(data, [4, 4]));
        contestants['TF.js'] = {
          run: () => {
            for (let i = 0; i < repeats; i++) tf.add(p, q).dispose();
          },
          result: () => tf.add(p, q).dataSync(),
        };
      }
      return {
        name: 'eager add of two 4x4 arrays',
        unit: 'us',
        scale: (ms) => (ms * 1000) / repeats,
        reference: a.map((value, i) => value + b[i]),
        contestants,
      };
    },
  },
];
