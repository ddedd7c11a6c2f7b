import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { earliestReport, type Watched } from '../../../../src/passes/host/watch/report.js';

/** A call inside of loops, the innermost first. They are compared as objects, and nothing else is looked at. */
const within = (...loops: readonly number[]): Watched => ({ loops }) as unknown as Watched;

/** The report of an element: how many came before it and 1, its value, its bound, and the iterations. */
const told = (...iterations: readonly number[]): Int32Array =>
  Int32Array.of(1, 7, 5, ...iterations);
const nothing = (loops: number): Int32Array => new Int32Array(3 + loops);

describe('the earliest report', () => {
  it('is none where nothing is told', () => {
    assert.equal(earliestReport([], []), -1);
    assert.equal(earliestReport([within(), within(1)], [nothing(0), nothing(1)]), -1);
  });

  it('is the first in program order, of those that tell anything', () => {
    const watched = [within(), within(), within()];
    assert.equal(earliestReport(watched, [told(), told(), told()]), 0);
    assert.equal(earliestReport(watched, [nothing(0), told(), told()]), 1);
    assert.equal(earliestReport(watched, [nothing(0), nothing(0), told()]), 2);
  });

  it('is that of the earlier iteration, of two calls in one loop', () => {
    const watched = [within(1), within(1)];
    assert.equal(earliestReport(watched, [told(4), told(3)]), 1);
    assert.equal(earliestReport(watched, [told(3), told(3)]), 0);
    assert.equal(earliestReport(watched, [told(3), told(4)]), 0);
    // Loops of their own run one after the other.
    assert.equal(earliestReport([within(1), within(2)], [told(4), told(3)]), 0);
    assert.equal(earliestReport([within(), within(2)], [told(), told(0)]), 0);
  });

  it('compares the outermost loop first', () => {
    const watched = [within(2, 1), within(3, 1)];
    assert.equal(earliestReport(watched, [told(0, 5), told(9, 4)]), 1);
    // In one iteration of the outer loop, the inner loops run one after the other.
    assert.equal(earliestReport(watched, [told(9, 4), told(0, 4)]), 0);
    const nested = [within(2, 1), within(2, 1), within(1)];
    assert.equal(earliestReport(nested, [told(1, 4), told(0, 4), told(4)]), 1);
    assert.equal(earliestReport(nested, [told(1, 4), told(0, 4), told(3)]), 2);
  });
});
