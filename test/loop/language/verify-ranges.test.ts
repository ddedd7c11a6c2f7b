import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepts, refuses } from './bodies.js';

describe('problemOfRanges', () => {
  it('accepts stretches that store to places of their own', () => {
    accepts('parallel from..to in 0..n { for i in from..to { o[i] = x[i] } }');
    accepts('parallel from..to in 0..n { o[from] = 1.0 }');
    // What is prepared by every member, and what a place is worked out from.
    accepts(`
      for i in 0..n { own[i] = x[i] }
      for j in 0..n {
        parallel from..to in 0..n step 8 {
          let at = from * n + j
          while (at < to * n) {
            o[at] = own[j]
            at = at + n
          }
        }
      }
      parallel from..to in 0..n { for i in from..to { let a = i32(x[i]) o[a] = 2.0 } }
    `);
    // One stretch has what is left over.
    accepts('parallel from..to in 0..n { if (from <= 8 & 8 < to) { o[8] = 1.0 } }');
    // There is no second stretch.
    accepts('parallel from..to in 0..2 * 4 step 8 { o[0] = 1.0 }');
    // Nothing is stored: the array has no elements.
    accepts('parallel from..to in 0..n { for i in from..to { for j in 0..0 { o[j] = 1.0 } } }');
    // A kernel of one thread.
    accepts('o[0] = 1.0 call other(address)');
  });

  it('refuses shared memory that is stored to outside of ranges', () => {
    refuses('parallel from..to in 0..n { o[from] = 1.0 } o[0] = 1.0', /stores to o outside/);
    refuses('for i in 0..n { parallel from..to in 0..n { o[from] = 1.0 } o[i] = 1.0 }', /outside/);
  });

  it('refuses places that do not depend on the stretch', () => {
    refuses('parallel from..to in 0..n { o[0] = f32(from) }', /store to one place of o/);
    refuses('parallel from..to in 0..n { if (n < 8) { o[8] = 1.0 } }', /one place of o/);
    refuses('for j in 0..n { parallel from..to in 0..n { o[j] = x[from] } }', /one place/);
    refuses(
      'parallel from..to in 0..n { for i in 0..n { let a = i * 2 o[a] = 1.0 } }',
      /one place/,
    );
  });

  it('refuses what stretches carry from one to the next', () => {
    refuses(
      'let sum = 0.0 parallel from..to in 0..n { sum = sum + x[from] o[from] = sum }',
      /sum is assigned in a parallel range/,
    );
    accepts('parallel from..to in 0..n { let sum = 0.0 sum = sum + x[from] o[from] = sum }');
  });

  it('refuses ranges in ranges, barriers and calls', () => {
    const inner = 'parallel from..to in 0..n { o[from] = 1.0 }';
    refuses(`parallel from..to in 0..n { for i in from..to { ${inner} } }`, /is in another/);
    refuses('parallel from..to in 0..n { barrier(meeting, from, n) }', /a barrier in a parallel/);
    refuses('parallel from..to in 0..n { call other(address + from) }', /a call in a parallel/);
    accepts(`${inner} barrier(meeting, 0, 1) ${inner}`);
  });

  it('knows the ends of a stretch inside of its range only, where nobody assigns them', () => {
    refuses('parallel from..to in 0..n { from = 1 o[from] = 1.0 }', /from is assigned/);
    assert.throws(() => accepts('parallel from..to in 0..n { o[from] = 1.0 } o[from] = 1.0'));
  });
});
