import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { einsum } from '../../../src/ops/index.js';
import {
  indicesOf, numbersOf, positionOf, randomOperand, sizeOf,
} from '../../support/arrays.js'; // prettier-ignore
import { assertClose } from '../../support/close.js';
import { evaluate } from '../../support/evaluate.js';
import { elementsOf, operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

/** The definition: one loop over all letters; an extent of 1 repeats. */
function naive(
  terms: readonly string[],
  output: string,
  operands: readonly { readonly shape: readonly number[]; readonly data: readonly number[] }[],
): { shape: number[]; data: number[] } {
  const extents = new Map<string, number>();
  terms.forEach((term, i) =>
    [...term].forEach((letter, axis) =>
      extents.set(letter, Math.max(extents.get(letter) ?? 0, operands[i].shape[axis])),
    ),
  );
  terms.forEach((term, i) =>
    [...term].forEach((letter, axis) => {
      if (operands[i].shape[axis] === 0) extents.set(letter, 0);
    }),
  );
  const letters = [...extents.keys()];
  const shape = [...output].map((letter) => extents.get(letter)!);
  const data = Array.from({ length: sizeOf(shape) }, () => 0);
  for (const index of indicesOf([...extents.values()])) {
    const at = (letter: string): number => index[letters.indexOf(letter)];
    const product = operands
      .map(({ shape: own, data: elements }, i) => {
        const place = [...terms[i]].map((letter, axis) => (own[axis] === 1 ? 0 : at(letter)));
        return elements[positionOf(place, own)];
      })
      .reduce((a, b) => a * b);
    data[positionOf([...output].map(at), shape)] += product;
  }
  return { shape, data };
}

/** An equation, its terms and output spelt out, and the operands' shapes. */
const cases: readonly (readonly [string, string, readonly (readonly number[])[]])[] = [
  ['ij,jk->ik', 'ij,jk->ik', [[3, 4], [4, 5]]],
  ['ij,jk', 'ij,jk->ik', [[3, 4], [4, 5]]],
  ['ba', 'ba->ab', [[2, 3]]],
  ['ij->', 'ij->', [[3, 4]]],
  ['ij->j', 'ij->j', [[3, 4]]],
  ['ii->i', 'ii->i', [[4, 4]]],
  ['ii', 'ii->', [[4, 4]]],
  ['iij->ji', 'iij->ji', [[3, 3, 2]]],
  ['iiijj->ij', 'iiijj->ij', [[2, 2, 2, 3, 3]]],
  ['i,j->ij', 'i,j->ij', [[3], [4]]],
  ['i,i->i', 'i,i->i', [[5], [5]]],
  ['i,i->', 'i,i->', [[5], [5]]],
  ['ij,j->i', 'ij,j->i', [[3, 4], [4]]],
  ['i,ij->j', 'i,ij->j', [[3], [3, 4]]],
  ['bij,bjk->bik', 'bij,bjk->bik', [[2, 3, 4], [2, 4, 5]]],
  ['bij,bkj->kbi', 'bij,bkj->kbi', [[2, 3, 4], [2, 5, 4]]],
  ['bhqd,bhkd->bhqk', 'bhqd,bhkd->bhqk', [[2, 2, 3, 4], [2, 2, 5, 4]]],
  ['ijk,jkl->il', 'ijk,jkl->il', [[2, 3, 4], [3, 4, 5]]],
  ['ijk,ikj->', 'ijk,ikj->', [[2, 3, 4], [2, 4, 3]]],
  ['ii,ij->j', 'ii,ij->j', [[3, 3], [3, 2]]],
  ['ij,jk,kl->il', 'ij,jk,kl->il', [[2, 3], [3, 4], [4, 5]]],
  ['ij,jk,k->i', 'ij,jk,k->i', [[2, 3], [3, 4], [4]]],
  ['i,j,k,ijk->', 'i,j,k,ijk->', [[2], [3], [4], [2, 3, 4]]],
  ['aB,Bc->ca', 'aB,Bc->ca', [[2, 3], [3, 4]]],
  ['ij,jk->ik', 'ij,jk->ik', [[3, 1], [4, 5]]],
  ['ij,ij->ij', 'ij,ij->ij', [[3, 1], [1, 4]]],
  ['ij,kj->k', 'ij,kj->k', [[3, 4], [2, 1]]],
  ['ij,jk->ik', 'ij,jk->ik', [[3, 0], [0, 5]]],
  ['ij,jk->ik', 'ij,jk->ik', [[0, 2], [2, 5]]],
  ['...ij,...jk->...ik', 'abij,bjk->abik', [[2, 3, 2, 4], [3, 4, 5]]],
  ['...ij,...jk', 'abij,bjk->abik', [[2, 1, 2, 4], [3, 4, 5]]],
  ['i...->...i', 'iab->abi', [[2, 3, 4]]],
  ['i...->...i', 'i->i', [[3]]],
  ['...,...->...', 'ab,b->ab', [[2, 3], [3]]],
  ['...i,i->...', 'abi,i->ab', [[2, 3, 4], [4]]],
  [' i j , j k -> i k ', 'ij,jk->ik', [[3, 4], [4, 5]]],
  ['->', '->', [[]]],
]; // prettier-ignore

for (const [equation, spelt, shapes] of cases) {
  test(`${equation} over ${shapes.map((shape) => `[${shape}]`).join(', ')} is the sum it says`, () => {
    const random = generator(equation.length);
    const operands = shapes.map((shape) => randomOperand(random, shape));
    const [inputs, output] = spelt.split('->');
    const expected = naive(
      inputs.split(','),
      output,
      operands.map((array) => ({ shape: array.shape, data: numbersOf(array) })),
    );
    const [result] = evaluate(operands, (...values) => einsum(equation, ...values));
    assert.deepEqual(result.shape, expected.shape);
    assertClose(numbersOf(result), expected.data, 1e-12);
  });
}

test('integers keep their dtype, and bool asks whether any product is true', () => {
  const [narrow] = evaluate(
    [operand('int8', [2], [100, 100]), operand('int8', [2], [1, 1])],
    (x, y) => einsum('i,i->', x, y),
  );
  assert.equal(narrow.storage.dtype, 'int8');
  assert.deepEqual(elementsOf(narrow), [-56]);
  const [any] = evaluate(
    [operand('bool', [2, 2], [true, false, false, false]), operand('bool', [2], [true, true])],
    (x, y) => einsum('ij,j->i', x, y),
  );
  assert.deepEqual(elementsOf(any), [true, false]);
});

const random = generator(2);
const square = randomOperand(random, [3, 3]);
const wide = randomOperand(random, [3, 4]);

const mistakes: readonly (readonly [string, readonly (typeof square)[], typeof ArgumentError | typeof ShapeError, RegExp])[] = [
  ['ij->ik', [square], ArgumentError, /no operand has the axis k/],
  ['ij->ii', [square], ArgumentError, /twice/],
  ['i1', [square], ArgumentError, /not a list of axes/],
  ['i.j', [square], ArgumentError, /not a list of axes/],
  ['...i...', [square], ArgumentError, /twice/],
  ['ij->i->j', [square], ArgumentError, /two arrows/],
  ['...i->i', [square], ArgumentError, /output must have/],
  ['ij,jk', [square], ArgumentError, /do not fit/],
  ['ij', [square, wide], ArgumentError, /do not fit/],
  ['ijk', [square], ShapeError, /another rank/],
  ['...ijk', [square], ShapeError, /another rank/],
  ['i', [square], ShapeError, /another rank/],
  ['ii', [wide], ShapeError, /two sizes/],
  ['ij,ij', [square, wide], ShapeError, /two sizes/],
]; // prettier-ignore

for (const [equation, operands, kind, problem] of mistakes) {
  test(`${equation} over ${operands.map(({ shape }) => `[${shape}]`).join(', ')} is refused`, () => {
    assert.throws(
      () => evaluate(operands, (...values) => einsum(equation, ...values)),
      (error: unknown) => {
        assert.ok(error instanceof kind, String(error));
        assert.equal(error.op, 'einsum');
        assert.match(error.message, problem);
        assert.ok(error.expected !== undefined && error.actual !== undefined);
        return true;
      },
    );
  });
}

test('einsum without operands is refused', () => {
  assert.throws(() => einsum('->'), ArgumentError);
});

test('products of narrow floats are rounded once, after they have been added up', () => {
  for (const [dtype, off, square] of [['bfloat16', 2 ** -7, 2 ** -14], ['float16', 2 ** -10, 2 ** -20]] as const) {
    // (1 + off)^2 - (1 + 2 * off) = off^2, which no product of its own dtype holds.
    const x = operand(dtype, [1, 2], [1 + off, -1 - 2 * off]);
    const y = operand(dtype, [1, 2], [1 + off, 1]);
    for (const equation of ['bi,bi->b', 'bi,ci->bc']) {
      const [sum] = evaluate([x, y], (a, b) => einsum(equation, a, b));
      assert.deepEqual(elementsOf(sum), [square], `${dtype}, ${equation}`);
    }
  }
}); // prettier-ignore
