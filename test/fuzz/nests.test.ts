import { fuzzedDevice, fuzzOn } from './fuzzed-device.js';
import { testKind } from './texts/kinds.js';
import { nestsOn } from './texts/slopes.js';

/*
 * Random nests of loops and branches, on this device and on one that interprets the loop IR, which is slow.
 */

testKind('derivatives of nests are those of plain numbers', nestsOn(), 20, 3000);

const device = fuzzedDevice();
fuzzOn(device);
testKind(`derivatives of nests on ${device.name} are those of plain numbers`, nestsOn(device.name), 6, 300); // prettier-ignore
