import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, test } from 'node:test';
import { casesIn, readCase, unpackSuite } from './backend.js';
import { isRead, numbers, withChangedBytes, withChangedParts } from './mutations.js';

/*
 * Models of ONNX's suite with changed bytes, and with changed contents, are read or refused. How many is said
 * by KAON_MUTANTS.
 */
const count = Number(process.env['KAON_MUTANTS'] ?? 600);
const suite = unpackSuite();
after(() => {
  rmSync(dirname(suite), { recursive: true, force: true });
});

test('changed models of the suite are read, or refused as what they are', () => {
  const models = casesIn(suite)
    .map((each) => readCase(each).bytes)
    .filter(({ length }) => length < 2 ** 16);
  assert.ok(models.length > 1000);
  const below = numbers(20261123);
  const found: string[] = [];
  let read = 0;
  for (let trial = 0; trial < count; trial++) {
    const whole = models[below(models.length)];
    const bytes = below(3) === 0 ? withChangedBytes(whole, below) : withChangedParts(whole, below);
    try {
      if (isRead(bytes)) read++;
    } catch (error) {
      found.push(`trial ${trial}: ${String((error as Error).stack)}`);
    }
  }
  assert.deepEqual(found, []);
  assert.ok(read > count / 10, `${read} of ${count} changed models were read all the same`);
});
