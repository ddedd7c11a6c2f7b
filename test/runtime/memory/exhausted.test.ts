import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inContext } from '../../../src/base/errors.js';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import type { DeviceBuffer } from '../../../src/runtime/memory/backend.js';
import { OverBudgetError, overBudget } from '../../../src/runtime/memory/exhausted.js';
import { FakeBackend } from '../../support/fake-device.js';

const device = 'with 4096 bytes';

/** An error without frames outside of the package, as devices of the package throw in later work. */
let made: OverBudgetError | null = null;
void Promise.resolve()
  .then(overBudget.bind(null, 6400, 0, 4096))
  .then((error) => (made = error));

class Frameless extends FakeBackend {
  override allocate(dtype: kn.DType, length: number): DeviceBuffer {
    if (length === 1600) throw made!;
    return super.allocate(dtype, length);
  }
}

registerDevice(new Frameless(device, { budget: 4096 }));

test('what does not fit is told with the context of outer calls', () => {
  const error = inContext(overBudget(10, 5, 12), 'iteration 3', { op: 'foreach' });
  assert.ok(error instanceof OverBudgetError);
  assert.equal(error.wanted, 10);
  assert.match(error.message, /^foreach: iteration 3: allocate: the memory of the device is exhausted/); // prettier-ignore
  assert.equal(error.expected, 'at most 12 bytes in use');
  assert.equal(error.actual, '10 bytes beside 5');
  assert.throws(
    () => kn.foreach(() => [kn.zeros([2000]).to(device), []], kn.ones([2]).to(device), []),
    { op: 'foreach', message: /iteration 0: allocate/, expected: 'at most 4096 bytes in use' },
  );
});

test('what turns out not to fit behind other work is told with the line of the call', async () => {
  const [x, y] = [kn.ones([400]).to(device), kn.ones([400]).to(device)];
  const row = kn.ones([40]).to(device);
  // Operands stay where they are, so that there is no room for the sum, as it turns out later.
  const sum = x.add(y);
  const table = row.expandDims(1).add(row); // this line
  await assert.rejects(() => sum.data(), kn.DeviceError);
  await assert.rejects(
    () => table.data(),
    (error) => {
      assert.ok(error instanceof kn.DeviceError && /exhausted/.test(error.message), String(error));
      assert.match(error.source ?? 'none', /exhausted\.test\.[jt]s:45:/);
      return true;
    },
  );
  assert.equal(Number((await x.sum().data())[0]), 400);
});
