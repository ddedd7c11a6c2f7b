import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  capturedPolicy,
  eagerPolicy,
  shouldGeneralize,
  type SizePolicy,
  type SizesSeen,
} from '../../../src/front/sizes/policy.js';

const policy: SizePolicy = { specializations: 2, hotCalls: 10, variants: 8 };

/** Kinds of code that sizes get one after the other; `refused` is when the code first refuses symbols. */
function choices(by: SizePolicy, sizes: number, refused: number = Infinity): string {
  const seen: SizesSeen = { specialized: 0, needsNumbers: false };
  return Array.from({ length: sizes }, () => {
    if (!shouldGeneralize(by, seen)) {
      seen.specialized++;
      return 'own';
    }
    seen.needsNumbers = seen.specialized >= refused;
    return seen.needsNumbers ? 'refused' : 'all';
  }).join();
}

test('the first sizes get code of their own, later ones code for all sizes', () => {
  assert.equal(choices(policy, 5), 'own,own,all,all,all');
  assert.equal(choices({ ...policy, specializations: 0 }, 2), 'all,all');
});

test('code that has refused symbols is not asked again', () => {
  assert.equal(choices(policy, 5, 2), 'own,own,refused,own,own');
});

test('eager code generalizes at the fourth size, captured code at the third', () => {
  assert.equal(choices(eagerPolicy, 4), 'own,own,own,all');
  assert.equal(choices(capturedPolicy, 3), 'own,own,all');
});

test('more variants are kept than sizes need before they are generalized', () => {
  for (const { specializations, variants } of [eagerPolicy, capturedPolicy]) {
    assert.ok(variants > specializations + 1);
  }
});
