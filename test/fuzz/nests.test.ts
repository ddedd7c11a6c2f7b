import { settings } from '../support/settings.js';
import { fuzzedDevice, fuzzOn } from './fuzzed-device.js';
import { fuzzNests } from './nests.js';

/*
 * Random nests of loops and branches: 30 of them, and 3,000 at night; on a device that interprets the loop IR, which is
 * slow, 8 and 300.
 */

fuzzNests(settings.programs ?? (settings.isLong ? 3000 : 20));

const device = fuzzedDevice();
fuzzOn(device);
fuzzNests(settings.programs ?? (settings.isLong ? 300 : 6), { device: device.name });
