import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import { Program } from '../../../../src/ir/program.js';
import { add, expandDims, mul, reshape } from '../../../../src/ops/index.js';
import { islandOf } from '../../../../src/passes/host/islands/island.js';

test('an island is passed a size that an extent tells only where another one is not 0', () => {
  const [n, m] = [symbol('n'), symbol('m')];
  const whole = new Program();
  const input = (name: string, size: Dim) => whole.variable(name, { dtype: 'float32', shape: [size] }); // prettier-ignore
  const [x, y] = [input('x', n), input('y', m)];
  const all = reshape(mul(expandDims(x, 1), y), [-1]);
  const [more, twice] = [add(all, all), add(y, y)];
  assert.equal(String(all.type.shape[0]), 'm*n');
  const { program } = islandOf(whole, [more.node, twice.node], [all, y], [more, twice]);
  assert.deepEqual(program.sizes.map(String), ['n']);
});
