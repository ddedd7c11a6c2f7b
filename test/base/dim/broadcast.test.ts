import assert from 'node:assert/strict';
import { test } from 'node:test';
import { broadcastDim, type Dim, evaluateDim, symbol } from '../../../src/base/dim/index.js';

const names = ['a', 'b', 'c'];

/** NumPy's rule; null for sizes that do not broadcast. */
function broadcast(sizes: readonly number[]): number | null {
  const others = sizes.filter((size) => size !== 1);
  if (others.length === 0) return 1;
  return others.every((size) => size === others[0]) ? others[0] : null;
}

for (const min of [0, 1, 2]) {
  test(`the size of an axis along which sizes of at least ${min} broadcast`, () => {
    const [a, b, c] = names.map((name) => symbol(name, { min }));
    const all = broadcastDim(broadcastDim(a, b), c);
    const values = [0, 1, 2, 3, 5].filter((value) => value >= min);
    let count = 0;
    for (const x of values)
      for (const y of values)
        for (const z of values) {
          const sizes = new Map([x, y, z].map((value, i) => [names[i], value]));
          const two = broadcast([x, y]);
          if (two !== null) assert.equal(evaluateDim(broadcastDim(a, b), sizes), two);
          const three = broadcast([x, y, z]);
          if (three === null) continue;
          assert.equal(evaluateDim(all, sizes), three);
          count++;
        }
    assert.ok(count > 2);
  });

  test(`sizes of at least ${min} that have met do not change by meeting again`, () => {
    const [a, b, c] = names.map((name) => symbol(name, { min }));
    const all = broadcastDim(broadcastDim(a, b), c);
    for (const other of [a, b, c, broadcastDim(c, a), all, 1])
      for (const met of [broadcastDim(all, other), broadcastDim(other, all)])
        assert.equal(String(met), String(min < 2 ? all : met));
    assert.equal(String(broadcastDim(a, broadcastDim(b, c))), String(all));
  });
}

test('a number decides, and so does a size that cannot be 1', () => {
  const [n, many] = [symbol('n'), symbol('many', { min: 2 })];
  for (const number of [0, 3]) {
    assert.equal(broadcastDim(n, number), number);
    assert.equal(broadcastDim(number, n), number);
  }
  assert.equal(broadcastDim(n, many), many);
  assert.equal(broadcastDim(1, n), n);
  assert.equal(broadcastDim(n, n), n);
});

test('the text of a size does not grow in a chain of calls', () => {
  const sizes = names.map((name, i) => symbol(name, { max: 4 + i }));
  let size: Dim = 1;
  for (let i = 0; i < 40; i++) size = broadcastDim(size, sizes[i % 3]);
  assert.ok(String(size).length < 100, String(size));
});
