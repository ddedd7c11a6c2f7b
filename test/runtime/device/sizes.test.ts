import { dtypes } from '../../../src/base/dtype.js';
import { gpuTarget } from '../../../src/kernels/gpu/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';
import { testSizes } from '../../support/sizes.js';

const devices = {
  'a device that decides': new FakeBackend('decides', { target: gpuTarget }),
  'a device that decides and answers at once': new FakeBackend('at once', {
    answersAtOnce: true,
    dtypes: dtypes.filter((dtype) => dtype !== 'float64'),
    target: gpuTarget,
  }),
  'a device that is asked': new FakeBackend('asked', { hasConditions: false, target: gpuTarget }),
};

for (const [name, backend] of Object.entries(devices)) {
  testSizes(name, {
    name: backend.name,
    decides: backend.hasConditions,
    hasInt64: backend.limits.dtypes.has('int64'),
    use: () => registerDevice(backend),
    reads: () => backend.reads,
  });
}
