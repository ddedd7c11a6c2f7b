import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mulDim, symbol } from '../../../src/base/dim/index.js';
import * as e from '../../../src/loop/language/build.js';
import { chooseBy, isChosenBy, SizeChoices } from '../../../src/loop/language/choices.js';
import { ExtentParameters } from '../../../src/loop/language/extents.js';
import type { Var } from '../../../src/loop/language/nodes.js';

const n = symbol('n');
const even = (size: number | null): boolean | null => (size === null ? null : size % 2 === 0);

describe('chooseBy', () => {
  it('knows constants, and nothing of other variables', () => {
    assert.equal(chooseBy([e.i32(4)], even), true);
    assert.equal(chooseBy([e.variable('v', 'i32')], even), null);
    assert.equal(chooseBy([new ExtentParameters().extent(n)], even), null);
  });

  it('knows the number that a parameter stands for, and expressions of it', () => {
    const extents = new ExtentParameters(new SizeChoices(new Map([['n', 6]])));
    const size = extents.extent(n);
    assert.ok(isChosenBy(size as Var));
    assert.equal(chooseBy([size], even), true);
    assert.equal(chooseBy([e.sub(size, 1)], even), false);
    assert.equal(
      chooseBy([extents.extent(mulDim(n, n))], (square) => square),
      36,
    );
    assert.equal(chooseBy([e.add(size, e.variable('i', 'i32'))], even), null);
  });

  it('is told the numbers that there are of several sizes', () => {
    const extents = new ExtentParameters(new SizeChoices(new Map([['n', 6]])));
    const sizes = [e.i32(2), extents.extent(n), extents.extent(symbol('batch'))];
    assert.equal(
      chooseBy(sizes, (...numbers) => numbers.join()),
      '2,6,',
    );
    const product = e.mul(e.i32(2), e.i32(3));
    assert.equal(
      chooseBy([product], (number) => number),
      null,
    );
    assert.equal(
      chooseBy([product, extents.extent(n)], (number) => number),
      null,
      'as alone',
    );
  });
});

describe('SizeChoices', () => {
  it('are the same for sizes that make all of them alike', () => {
    const choices = new SizeChoices(new Map([['n', 6]]));
    const size = new ExtentParameters(choices).extent(n);
    const areSameFor = (number: number): boolean => choices.areSameFor(new Map([['n', number]]));
    assert.ok(areSameFor(7), 'nothing has been chosen');
    chooseBy([size], even);
    assert.deepEqual([6, 7, 8, 12].map(areSameFor), [true, false, true, true]);
    chooseBy([e.i32(10), size], (most, number) => number! < most!);
    assert.deepEqual([6, 7, 8, 12].map(areSameFor), [true, false, true, false]);
  });
});
