import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const { nn } = kn;

/** Two examples of four numbers, whose variance is small against the greater epsilons. */
const rows = [
  [0.1, -0.2, 0.3, 0.4],
  [1, 1.5, -0.5, 0.25],
];

const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
const squares = (list: readonly number[]): number => mean(list.map((x) => x * x));

/** `(x - center) / sqrt(spread + epsilon)`, for all of a list. */
function normalized(list: readonly number[], epsilon: number, isCentered = true): number[] {
  const center = isCentered ? mean(list) : 0;
  const shifted = list.map((x) => x - center);
  return shifted.map((x) => x / Math.sqrt(squares(shifted) + epsilon));
}

const columns = (f: (column: readonly number[]) => number[]): number[][] => {
  const turned = rows[0].map((_, j) => f(rows.map((row) => row[j])));
  return rows.map((_, i) => turned.map((column) => column[i]));
};

type Layer = kn.nn.LayerNorm | kn.nn.RMSNorm | kn.nn.GroupNorm | kn.nn.BatchNorm;

interface Case {
  readonly layer: (epsilon: number) => Layer;
  readonly expected: (epsilon: number) => number[][];
}

const halves = (row: readonly number[]): number[][] => [row.slice(0, 2), row.slice(2)];

const cases: Readonly<Record<string, Case>> = {
  LayerNorm: {
    layer: (epsilon) => new nn.LayerNorm({ epsilon }),
    expected: (epsilon) => rows.map((row) => normalized(row, epsilon)),
  },
  RMSNorm: {
    layer: (epsilon) => new nn.RMSNorm({ epsilon }),
    expected: (epsilon) => rows.map((row) => normalized(row, epsilon, false)),
  },
  GroupNorm: {
    layer: (epsilon) => new nn.GroupNorm(2, { epsilon }),
    expected: (epsilon) => rows.map((row) => halves(row).flatMap((group) => normalized(group, epsilon))), // prettier-ignore
  },
  BatchNorm: {
    layer: (epsilon) => new nn.BatchNorm({ epsilon }),
    expected: (epsilon) => columns((column) => normalized(column, epsilon)),
  },
};

for (const [name, { layer, expected }] of Object.entries(cases)) {
  test(`${name} divides by the root of the spread and its own epsilon`, () => {
    for (const epsilon of [1e-6, 0.04, 2]) {
      const block = layer(epsilon);
      block.initialize();
      // While training, statistics are those of the batch.
      const found = kn.autograd.record(() => block.call(kn.array(rows))).tolist() as number[][];
      const wanted = expected(epsilon);
      found.forEach((row, i) =>
        row.forEach((x, j) => {
          const isClose = Math.abs(x - wanted[i][j]) <= 2e-5 * Math.max(1, Math.abs(wanted[i][j]));
          assert.ok(isClose, `epsilon ${epsilon}, [${i}, ${j}]: ${x}, not ${wanted[i][j]}`);
        }),
      );
    }
  });
}
