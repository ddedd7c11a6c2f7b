import { dtypes } from '../../src/base/dtype.js';
import { config } from '../../src/index.js';
import { registerDevice } from '../../src/runtime/device/register.js';
import { FakeBackend } from './fake-device.js';

/*
 * Loaded before tests, puts every new array of theirs on a device, which answers at once and has all dtypes, so that
 * code which reads elements right away runs as it is.
 */

registerDevice(new FakeBackend('fake', { answersAtOnce: true, dtypes, bufferBytes: 2 ** 28, budget: 2 ** 31 })); // prettier-ignore
config.device = 'fake';
