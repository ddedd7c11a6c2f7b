import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as targets from '../../../src/loop/language/target.js';

const all = Object.values(targets);

test('targets have names of their own, which are keys of what is kept', () => {
  assert.ok(all.length >= 5);
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
});

test('vectors hold whole lanes of every dtype, and larger caches stand behind smaller ones', () => {
  for (const { name, vectorBytes, vectorRegisters, firstCache, secondCache, inPlace } of all) {
    assert.ok(Number.isInteger(Math.log2(vectorBytes)) && vectorBytes % 8 === 0, name);
    assert.ok(vectorRegisters >= 8, name);
    assert.ok(vectorBytes * vectorRegisters < firstCache && firstCache < secondCache, name);
    assert.ok(inPlace <= secondCache, name);
  }
});
