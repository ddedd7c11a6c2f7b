import { FakeBackend } from '../support/fake-device.js';
import { settings } from '../support/settings.js';
import { fuzzOn } from './fuzzed-device.js';
import { fuzzLater } from './later.js';

/*
 * Random programs on a device that interprets the loop IR and promises elements. It is slow, so a day has a few of
 * them, and a night 300.
 */

fuzzOn(new FakeBackend('later', { bufferBytes: 2 ** 26, budget: 2 ** 29 }));
fuzzLater(settings.programs ?? (settings.isLong ? 300 : 16));
