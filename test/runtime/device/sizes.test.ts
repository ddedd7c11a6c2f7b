import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';

const backend = new FakeBackend('sizes', { answersAtOnce: true });
registerDevice(backend);
const x = kn.array([1, -2, 3, -4, 5, 6]);

test('explore', async () => {
  const f = kn.hybridize((a: kn.NDArray) => kn.sum(kn.booleanMask(a, a.greater(0)).mul(2)));
  const d = x.to('sizes');
  const before = backend.reads;
  const y = f(d);
  console.log('reads', backend.reads - before, await y.data());
  console.log(String(f.explain().toString?.()));
  const g = kn.hybridize((a: kn.NDArray) => kn.booleanMask(a, a.greater(0)).mul(2));
  const b2 = backend.reads;
  const z = g(d);
  console.log('reads', backend.reads - b2, z.shape, await z.data());
});
