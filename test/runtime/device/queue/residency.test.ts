import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { registerDevice } from '../../../../src/runtime/device/register.js';
import { FakeBackend } from '../../../support/fake-device.js';

/*
 * Arrays that do not fit into a device's memory all together: those that were used longest ago are on the host
 * meanwhile. What programs compute is told by plain numbers.
 */

const length = 1000;
const bytes = 4 * length;

let devices = 0;

/** A device with room for so many arrays. */
function deviceFor(arrays: number, answersAtOnce: boolean): FakeBackend {
  const device = new FakeBackend(`small ${++devices}`, { budget: arrays * bytes, answersAtOnce });
  registerDevice(device);
  return device;
}

const numbers = (from: number): kn.NDArray => kn.arange(from, from + length);

/** The sum of a few elements of an array of `numbers(from)`, from which others differ. */
async function first(array: kn.NDArray): Promise<readonly number[]> {
  const elements = await array.data();
  return [Number(elements[0]), Number(elements[length - 1])];
}

for (const answersAtOnce of [false, true]) {
  describe(`a device that is full and answers ${answersAtOnce ? 'at once' : 'later'}`, () => {
    it('holds more arrays than it has room for, all with their elements', async () => {
      const device = deviceFor(5, answersAtOnce);
      const { name } = device;
      const held = Array.from({ length: 20 }, (_, k) => numbers(k).to(name));
      const made = held.map((x, k) => x.add(k));
      for (const [k, array] of made.entries()) {
        assert.deepEqual(await first(array), [2 * k, 2 * k + length - 1]);
        assert.equal(array.device, name);
      }
      for (const [k, array] of held.entries()) {
        assert.deepEqual(await first(array), [k, k + length - 1]);
      }
      assert.ok(device.mostBytes <= 5 * bytes, `${device.mostBytes}`);
      const { bytesInUse, bytesSpilled } = kn.deviceInfo(name);
      // Few single elements are kept beside the arrays.
      assert.ok(bytesSpilled >= 35 * bytes && bytesSpilled <= 40 * bytes, `${bytesSpilled}`);
      assert.ok(bytesInUse <= 5 * bytes);
    });

    it('keeps what is used again and again', async () => {
      const device = deviceFor(4, answersAtOnce);
      const often = numbers(7).to(device.name);
      const rest = Array.from({ length: 12 }, (_, k) => numbers(k).to(device.name));
      for (const x of rest) await first(x.add(often));
      device.reads = 0;
      await often.data();
      // Not from the host: it has not left.
      assert.equal(device.reads, 1);
      assert.deepEqual(await first(often), [7, 7 + length - 1]);
    });

    it('goes on with a loop that makes more in one go than there is room for', async () => {
      const device = deviceFor(6, answersAtOnce);
      let x = kn.zeros([length]).to(device.name);
      for (let k = 0; k < 300; k++) x = x.mul(0.5).add(1);
      const elements = await x.data();
      assert.ok(elements.every((element) => Math.abs(Number(element) - 2) < 1e-6));
      assert.ok(device.mostBytes <= 6 * bytes, `${device.mostBytes}`);
    });

    it('updates state that has left it', async () => {
      const device = deviceFor(6, answersAtOnce);
      const [state, other] = [numbers(0).to(device.name), numbers(0).to(device.name)];
      const step = kn.hybridize((x: kn.NDArray) => x.mul(2).add(state));
      const before = Array.from({ length: 8 }, (_, k) => numbers(k).to(device.name));
      const after = before.map((x) => step(x));
      state.assign(other.add(1));
      const made = step(before[0]);
      for (const [k, array] of after.entries()) {
        assert.deepEqual(await first(array), [2 * k, 2 * k + 3 * (length - 1)]);
      }
      assert.deepEqual(await first(made), [1, 3 * (length - 1) + 1]);
      assert.ok(device.mostBytes <= 6 * bytes);
    });

    it('refuses what does not fit even alone, and goes on', async () => {
      const device = deviceFor(4, answersAtOnce);
      const { name } = device;
      const isRefused = (error: unknown): boolean =>
        error instanceof kn.DeviceError && /exhausted/.test(error.message) && /memoryBudget/.test(error.advice ?? ''); // prettier-ignore
      assert.throws(() => kn.zeros([5 * length]).to(name), isRefused);
      const held = Array.from({ length: 6 }, (_, k) => numbers(k).to(name));
      // Four operands and the result.
      const step = kn.hybridize((a: kn.NDArray, b: kn.NDArray, c: kn.NDArray, d: kn.NDArray) => a.add(b).add(c).add(d)); // prettier-ignore
      await assert.rejects(async () => step(held[0], held[1], held[2], held[3]).data(), isRefused);
      assert.deepEqual(await first(held[0].add(held[5])), [5, 5 + 2 * (length - 1)]);
      for (const [k, array] of held.entries()) {
        assert.deepEqual(await first(array), [k, k + length - 1]);
      }
    });
  });
}
