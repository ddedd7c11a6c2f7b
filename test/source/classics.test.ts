import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { converted } from './convert.js';

/* Algorithms in plain control flow: eager and captured, against the same algorithm on numbers or a known answer. */

Object.assign(globalThis, { kn });

interface Classic {
  readonly code: string;
  readonly cases: readonly {
    readonly inputs: readonly (readonly number[] | readonly (readonly number[])[] | number)[];
    readonly expected: readonly number[];
  }[];
  readonly margin?: number;
}

/** Edit distance of two lists by its recursive definition. */
function editDistance([a, ...as]: readonly number[], [b, ...bs]: readonly number[]): number {
  if (a === undefined || b === undefined) return [a, ...as, b, ...bs].filter((each) => each !== undefined).length; // prettier-ignore
  const change = editDistance(as, bs) + Number(a !== b);
  return Math.min(change, editDistance(as, [b, ...bs]) + 1, editDistance([a, ...as], bs) + 1);
}

/** Dynamic time warping by its recursive definition. */
function warping(a: readonly number[], b: readonly number[]): number {
  if (a.length === 0 && b.length === 0) return 0;
  if (a.length === 0 || b.length === 0) return Infinity;
  const [as, bs] = [a.slice(1), b.slice(1)];
  return Math.abs(a[0] - b[0]) + Math.min(warping(as, bs), warping(as, b), warping(a, bs));
}

/** The likeliest path among all paths: start, transitions and emissions are logarithms. */
function likeliest(start: number[], steps: number[][], emissions: number[][]): readonly number[] {
  const states = start.map((_, i) => i);
  let paths = states.map((s) => ({ path: [s], score: start[s] + emissions[0][s] }));
  for (const row of emissions.slice(1)) {
    paths = paths.flatMap(
      ({ path, score }) =>
      states.map((s) => ({ path: [...path, s], score: score + steps[path[path.length - 1]][s] + row[s] })), // prettier-ignore
    );
  }
  return paths.reduce((best, each) => (each.score > best.score ? each : best)).path;
}

const start = [-0.5, -1.1];
const steps = [[-0.3, -1.4], [-0.9, -0.5]]; // prettier-ignore
const emissions = [[-0.4, -1.3], [-1.9, -0.2], [-1.5, -0.4], [-0.1, -2.7]]; // prettier-ignore

const classics: Readonly<Record<string, Classic>> = {
  'adaptive Runge-Kutta': {
    // y' = -2y from 1: e^-2t. Steps of Heun's method halve where Euler's step is too far from it.
    code: `function main(end) { 'use graph';
      let t = end.mul(0), y = t.add(1), h = end.mul(0.5);
      while (t.less(end)) {
        if (t.add(h).greater(end)) h = end.sub(t);
        const k = y.mul(-2);
        const euler = y.add(k.mul(h));
        const next = y.add(k.add(euler.mul(-2)).mul(h).mul(0.5));
        const error = next.sub(euler).abs();
        if (error.greater(1e-4)) { h = h.mul(0.5); continue; }
        t = t.add(h);
        y = next;
        if (error.less(1e-5)) h = h.mul(2);
      }
      return y; }`,
    cases: [0.5, 1, 2].map((end) => ({ inputs: [end], expected: [Math.exp(-2 * end)] })),
    margin: 1e-3,
  },
  'conjugate gradient': {
    code: `function main(A, b) { 'use graph';
      let x = kn.zerosLike(b), r = b, p = b, rr = r.mul(r).sum();
      for (let i = 0; i < 10; i++) {
        if (rr.less(1e-20)) break;
        const Ap = kn.matmul(A, p);
        const alpha = rr.div(p.mul(Ap).sum());
        x = x.add(p.mul(alpha));
        r = r.sub(Ap.mul(alpha));
        const next = r.mul(r).sum();
        p = r.add(p.mul(next.div(rr)));
        rr = next;
      }
      return x; }`,
    // [[4, 1], [1, 3]] has the inverse [[3, -1], [-1, 4]] / 11.
    cases: [
      { inputs: [[[4, 1], [1, 3]], [1, 2]], expected: [1 / 11, 7 / 11] }, // prettier-ignore
      { inputs: [[[4, 1], [1, 3]], [0, 0]], expected: [0, 0] }, // prettier-ignore
    ],
    margin: 1e-9,
  },
  Viterbi: {
    code: `function main(start, steps, emissions) { 'use graph';
      let score = start.add(emissions.slice(0));
      const from = [];
      for (const row of emissions.slice([1, null])) {
        const all = score.expandDims(1).add(steps);
        from.push(all.argmax(0));
        score = all.max(0).add(row);
      }
      const back = kn.flip(kn.stack(from), 0);
      let state = score.argmax(0);
      const path = [state];
      for (const each of back) { state = each.take(state); path.push(state); }
      return kn.flip(kn.stack(path), 0).astype('float64'); }`,
    cases: [{ inputs: [start, steps, emissions], expected: likeliest(start, steps, emissions) }],
  },
  'edit distance': {
    code: `function main(a, b) { 'use graph';
      let row = kn.arange(b.shape[0] + 1, { dtype: 'float64' });
      for (const x of a) {
        const next = [row.slice(0).add(1)];
        let last = next[0], j = 0;
        for (const y of b) {
          const change = row.take(kn.array(j, { dtype: 'int32' })).add(x.equal(y) ? 0 : 1);
          j++;
          last = kn.minimum(change, kn.minimum(last, row.take(kn.array(j, { dtype: 'int32' }))).add(1));
          next.push(last);
        }
        row = kn.stack(next);
      }
      return row.slice(-1); }`,
    cases: [
      [[1, 2, 3, 4], [2, 4, 4]],
      [[5, 1], [1, 5, 1, 2, 3]],
    ].map((inputs) => ({ inputs, expected: [editDistance(inputs[0], inputs[1])] })), // prettier-ignore
  },
  'dynamic time warping': {
    code: `function main(a, b) { 'use graph';
      let row = kn.concat([kn.zeros([1], { dtype: 'float64' }), kn.full([b.shape[0]], Infinity, { dtype: 'float64' })]);
      for (const x of a) {
        let last = x.mul(0).add(Infinity);
        const next = [last];
        const pairs = kn.stack([b, row.slice([0, -1]), row.slice([1, null])], 1);
        for (const [y, corner, above] of pairs) {
          last = x.sub(y).abs().add(kn.minimum(corner, kn.minimum(last, above)));
          next.push(last);
        }
        row = kn.stack(next);
      }
      return row.slice(-1); }`,
    cases: [
      [[1, 3, 4, 9], [1, 3, 7, 8, 9]],
      [[2, 2], [1, 5, 1]],
    ].map((inputs) => ({ inputs, expected: [warping(inputs[0], inputs[1])] })), // prettier-ignore
  },
  'rejection sampling': {
    // Pairs of a proposal and a level: the first proposal whose level is below its density, and the tries.
    code: `function main(pairs) { 'use graph';
      let tries = 0;
      for (const [x, u] of pairs) {
        tries++;
        if (u.less(x.mul(x).neg().exp())) return kn.stack([x, x.mul(0).add(tries)]);
      }
      throw new RangeError('nothing was accepted'); }`,
    cases: [
      { inputs: [[[2, 0.5], [-1, 0.9], [0.5, 0.7], [0, 0]]], expected: [0.5, 3] }, // prettier-ignore
      { inputs: [[[0.1, 0.2], [1, 1]]], expected: [0.1, 1] }, // prettier-ignore
    ],
  },
  'stack machine': {
    // Codes: 0 pushes the operand, 1 adds, 2 multiplies, 3 duplicates, 4 halts.
    code: `function main(program) { 'use graph';
      let stack = kn.zeros([4], { dtype: 'float64' });
      const top = (n) => stack.slice(n);
      const pushed = (x) => kn.concat([x.reshape([1]), stack.slice([0, 3])]);
      const reduced = (x) => kn.concat([x.reshape([1]), stack.slice([2, null]), kn.zeros([1], { dtype: 'float64' })]);
      for (const [code, operand] of program) {
        switch (code) {
          case 0: stack = pushed(operand); break;
          case 1: stack = reduced(top(0).add(top(1))); break;
          case 2: stack = reduced(top(0).mul(top(1))); break;
          case 3: stack = pushed(top(0)); break;
          case 4: return top(0);
          default: throw new RangeError('no such code');
        }
      }
      return top(0); }`,
    cases: [
      // (3 + 4) squared, and 5 before the halt.
      { inputs: [[[0, 3], [0, 4], [1, 0], [3, 0], [2, 0]]], expected: [49] }, // prettier-ignore
      { inputs: [[[0, 5], [4, 0], [0, 9]]], expected: [5] }, // prettier-ignore
    ],
  },
};

for (const [name, { code, cases, margin = 1e-12 }] of Object.entries(classics)) {
  test(`${name}: eager and captured`, () => {
    const f = converted(code) as unknown as (...inputs: kn.NDArray[]) => kn.NDArray;
    const captured = kn.hybridize(f);
    for (const { inputs, expected } of cases) {
      const given = (): kn.NDArray[] => inputs.map((each) => kn.array(each, { dtype: 'float64' }));
      for (const run of [f, captured]) {
        const found = run(...given())
          .reshape([-1])
          .tolist() as number[];
        assertClose(found, expected, margin, name);
      }
    }
  });
}
