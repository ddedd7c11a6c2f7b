import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, evaluateDim, symbol } from '../../../src/base/dim/index.js';
import { areBinsEqual, binWidth } from '../../../src/ops/contraction/adaptive-bins.js';
import { exchangeBins } from '../../../src/ops/index.js';
import { numbersOf } from '../../support/arrays.js';
import { evaluate } from '../../support/evaluate.js';
import { operand } from '../../support/programs.js';

const sizesOf = (extent: number, bins: number): number[] =>
  Array.from(
    { length: bins },
    (_, q) => Math.ceil(((q + 1) * extent) / bins) - Math.floor((q * extent) / bins),
  );

const some = Array.from({ length: 16 }, (_, k) => k + 1);

test('the width is the size of the largest bin, for sizes that are known and that are not', () => {
  const [n, m] = [symbol('n'), symbol('m')];
  for (const extent of some) {
    for (const bins of some) {
      const most = Math.max(...sizesOf(extent, bins));
      const bound = new Map([['n', extent], ['m', bins]]); // prettier-ignore
      const widths: readonly Dim[] = [
        binWidth(extent, bins),
        binWidth(n, bins),
        binWidth(extent, m),
        binWidth(n, m),
      ];
      for (const width of widths)
        assert.equal(evaluateDim(width, bound), most, `${extent}, ${bins}`);
    }
  }
});

test('bins are equal where their sizes are', () => {
  for (const extent of some) {
    for (const bins of some) {
      const isUniform = new Set(sizesOf(extent, bins)).size === 1;
      if (areBinsEqual(extent, bins)) assert.ok(isUniform, `${extent}, ${bins}`);
      else assert.ok(extent % bins !== 0 && bins % extent !== 0, `${extent}, ${bins}`);
    }
  }
});

test('exchanging the bins of elements for the elements of bins is undone by exchanging back', () => {
  // Five elements in three bins: 0 1 | 1 2 3 | 3 4. Each element is in up to two bins.
  const listed = operand('float64', [2, 5], [1, 2, 4, 5, 7, NaN, 3, NaN, 6, NaN]);
  const [byBins, back] = evaluate([listed], (x) => {
    const there = exchangeBins(x, [3]);
    return [there, exchangeBins(there, [5], { outside: 'lowest' })];
  });
  assert.deepEqual(byBins.shape, [3, 3]);
  assert.deepEqual(numbersOf(byBins), [1, 3, 6, 2, 4, 7, 0, 5, 0]);
  const none = -Infinity;
  assert.deepEqual(numbersOf(back), [1, 2, 4, 5, 7, none, 3, none, 6, none]);
});

test('operands that do not list bins are refused', () => {
  const x = operand(
    'float64',
    [3, 5],
    Array.from({ length: 15 }, () => 1),
  );
  assert.throws(() => evaluate([x], (value) => exchangeBins(value, [3])), {
    name: 'ShapeError',
    op: 'exchangeBins',
    expected: '[2, 5]',
  });
  assert.throws(() => evaluate([x], (value) => exchangeBins(value, [0])), {
    name: 'ShapeError',
    expected: /at least 1 bin/,
  });
  assert.throws(() => evaluate([x], (value) => exchangeBins(value, [3, 3])), {
    name: 'ShapeError',
  });
});
