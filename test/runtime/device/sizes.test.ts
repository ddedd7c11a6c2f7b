import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';
import { testSizes } from '../../support/sizes.js';

const devices = {
  'a device that decides': new FakeBackend('decides'),
  'a device that decides and answers at once': new FakeBackend('at once', { answersAtOnce: true }),
  'a device that is asked': new FakeBackend('asked', { hasConditions: false }),
};

for (const [name, backend] of Object.entries(devices)) {
  testSizes(name, {
    name: backend.name,
    decides: backend.hasConditions,
    use: () => registerDevice(backend),
    reads: () => backend.reads,
  });
}
