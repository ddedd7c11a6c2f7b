import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MadeByFunctions } from '../../src/base/made.js';

test('a class whose objects functions make has no constructor that users could call', () => {
  class Made extends MadeByFunctions {
    readonly value: number;
    constructor(value: number) {
      super();
      this.value = value;
    }
  }
  assert.equal(new Made(3).value, 3);
  assert.ok(new Made(3) instanceof MadeByFunctions);
  // @ts-expect-error -- the constructor of the base is protected, and the class abstract
  const construct = (): unknown => new MadeByFunctions();
  assert.ok(construct() instanceof MadeByFunctions, 'only the types refuse it');
});
