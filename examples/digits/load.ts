import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { projectFile } from '../support/paths.js';
import { type DigitSets, parseDigits } from './data.js';

/** The handwritten digits of `examples/data`. */
export function loadDigits(): DigitSets {
  const packed = readFileSync(projectFile('examples/data/digits.csv.gz'));
  return parseDigits(gunzipSync(packed).toString('utf8'));
}
