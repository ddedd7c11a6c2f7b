// Two threads against one, on what is worth dividing.
import { input } from '../harness/data.mjs';
import { rows as contractions } from './contraction.mjs';
import { rows as convolutions } from './convolution.mjs';

const threads = [1, 2];
const targets = ['wasm', 'native'].map((tier) => ({
  who: `kaon ${tier}, 2 threads`,
  than: `kaon ${tier}, 1 thread`,
  times: 1.7,
}));
const length = 16_000_000;

const threaded = (row) => ({
  ...row,
  section: 'Threads',
  title: `threads: ${row.title}`,
  threads,
  targets,
});

export const rows = [
  contractions.find(({ title }) => title === 'sgemm 1024'),
  convolutions.find(({ title }) => title.includes('64 to 64') && title.includes('batch 8')),
  {
    title: 'mul, add, tanh, mul, sub over 16 M floats',
    kind: 'chain',
    unit: 'ms',
    bytes: 3 * 4 * length,
    build() {
      const [x, y] = [input([length], 1), input([length], 2)];
      const reference = x.data.map((u, i) => Math.tanh(u * y.data[i] + y.data[i]) * u - y.data[i]);
      return { inputs: { x, y }, reference };
    },
  },
].map(threaded);
