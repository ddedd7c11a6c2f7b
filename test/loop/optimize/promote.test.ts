import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { promotePrivate } from '../../../src/loop/optimize/promote.js';
import { assertBecomes } from '../before-after.js';

function assertStays(text: string): void {
  const kernel = parseKernel(text);
  assert.equal(promotePrivate(kernel), kernel);
}

describe('promotePrivate', () => {
  it('makes locals of elements that are known, which keep what they had across loops', () => {
    assertBecomes(
      promotePrivate,
      `
      kernel k(o: f32[], own: private f32[], n: i32) {
        for i in 0..n {
          own[0] = o[i]
          own[2] = own[0] + 1.0
          o[i] = own[2] * own[0]
        }
      }`,
      `
      kernel k(o: f32[], own: private f32[], n: i32) {
        let own_1 = 0.0
        let own_2 = 0.0
        for i in 0..n {
          own_1 = o[i]
          own_2 = own_1 + 1.0
          o[i] = own_2 * own_1
        }
      }`,
    );
  });

  it('makes vectors of whole vectors', () => {
    assertBecomes(
      promotePrivate,
      `
      kernel k(o: f32[], own: private f32[]) {
        own[ramp(4, 1, 4)] = o[ramp(0, 1, 4)]
        own[ramp(0, 1, 4)] = own[ramp(4, 1, 4)]
        o[ramp(0, 1, 4)] = own[ramp(0, 1, 4)]
      }`,
      `
      kernel k(o: f32[], own: private f32[]) {
        let own_1 = x4(0.0)
        let own_2 = x4(0.0)
        own_1 = o[ramp(0, 1, 4)]
        own_2 = own_1
        o[ramp(0, 1, 4)] = own_2
      }`,
    );
  });

  for (const [why, body] of [
    ['an element is not known', 'for i in 0..n {\nown[i] = o[i]\no[i] = own[0]\n}'],
    ['vectors and elements meet', 'own[ramp(0, 1, 4)] = o[ramp(0, 1, 4)]\no[0] = own[1]'],
    ['a vector lies across two', 'own[ramp(2, 1, 4)] = o[ramp(0, 1, 4)]\no[ramp(0, 1, 4)] = own[ramp(2, 1, 4)]'],
    ['elements have distances', 'own[ramp(0, 2, 4)] = o[ramp(0, 1, 4)]\no[ramp(0, 1, 4)] = own[ramp(0, 2, 4)]'],
    ['there are too many', Array.from({ length: 33 }, (_, k) => `own[${k}] = o[${k}]`).join('\n')],
  ] as const) {
    it(`leaves memory where ${why}`, () => {
      assertStays(`kernel k(o: f32[], own: private f32[], n: i32) {\n${body}\n}`);
    });
  } // prettier-ignore

  it('leaves elements that memory wraps', () => {
    assertStays('kernel k(o: i32[], own: private u8[]) {\nown[0] = o[0]\no[0] = own[0]\n}');
  });
});
