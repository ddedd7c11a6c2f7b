import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { evaluateDim, floorDivDim, maxDim, minDim, modDim, mulDim, parseDim, symbol } from '../../../src/base/dim/index.js'; // prettier-ignore
import { addDim, type Dim, subDim } from '../../../src/base/dim/index.js';
import { symbolicUpperBound } from '../../../src/passes/groups/room.js';

const bounds = new Map([
  ['n', { min: 0, max: Infinity }],
  ['own', { min: 0, max: 6 }],
  ['free', { min: 0, max: Infinity }],
]);
const own = new Set(['own', 'free']);
const room = (text: string): string | null => {
  const dim = symbolicUpperBound(parseDim(text, bounds), own);
  return dim === null ? null : String(dim);
};

describe('roomFor', () => {
  it('is the size itself where nothing of it is decided later', () => {
    assert.equal(room('2*n + 1'), '2*n + 1');
  });

  it('uses the bounds of symbols, and the other side of a minimum', () => {
    assert.equal(room('3*own'), '18');
    assert.equal(room('min(free, n)'), 'n');
    assert.equal(room('4*min(free, n) + n'), '5*n');
    assert.equal(room('n - min(free, n)'), 'n');
  });

  it('is null where there is no bound', () => {
    assert.equal(room('free'), null);
    assert.equal(room('max(free, n)'), null);
    assert.equal(room('n*free'), null);
  });

  it('holds every value', () => {
    const [n, small, free] = ['n', 'own', 'free'].map((name) => symbol(name, bounds.get(name)));
    const size: fc.Arbitrary<Dim> = fc.letrec<{ dim: Dim }>((tie) => ({
      dim: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<Dim>(n, small, free, 1, 2, 3),
        fc.tuple(fc.constantFrom(addDim, mulDim, minDim, maxDim), tie('dim'), tie('dim')).map(([f, a, b]) => f(a, b)), // prettier-ignore
        fc.tuple(fc.constantFrom(floorDivDim, modDim), tie('dim'), fc.integer({ min: 1, max: 4 })).map(([f, a, k]) => f(a, k)), // prettier-ignore
        tie('dim').map((a) => maxDim(subDim(a, 2), 0)),
      ),
    })).dim;
    fc.assert(
      fc.property(size, fc.nat(9), fc.nat(6), fc.nat(9), (dim, n, own_, free_) => {
        const most = symbolicUpperBound(dim, own);
        const sizes = new Map([['n', n], ['own', own_], ['free', free_]]); // prettier-ignore
        if (most !== null) assert.ok(evaluateDim(most, sizes) >= evaluateDim(dim, sizes));
      }),
      { seed: 4, numRuns: 2000 },
    );
  });
});
