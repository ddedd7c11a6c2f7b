import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx, toOnnx } from '../../../../src/onnx.js';

test('outputs keep their names, but for those that inputs have already', () => {
  const f = kn.hybridize(({ x, y }: Record<string, kn.NDArray>) => ({ y: x.neg(), z: x.mul(2), x, w: y, v: y, u: x.mul(2) })); // prettier-ignore
  const feed = { x: kn.array([1, 2]), y: kn.array([3, 4]) };
  f(feed);
  const graph = f.graphFor(feed);
  const model = fromOnnx(toOnnx(graph));
  const [x, y] = model.inputNames;
  const found = model.run({ [x]: feed.x, [y]: feed.y });
  const values = model.outputNames.map((name) => found[name].tolist());
  assert.deepEqual(values, graph.outputNames.map((name) => f(feed)[name as 'y'].tolist())); // prettier-ignore
  assert.equal(new Set(model.outputNames).size, 6);
  const isFree = (name: string): boolean => !model.inputNames.includes(name);
  graph.outputNames.forEach((name, k) => {
    if (isFree(name)) assert.equal(model.outputNames[k], name);
  });
});
