import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../src/base/errors.js';
import { importOptional, optionalPackage, requireOptional } from '../../src/base/optional.js';

const failure = new Error('no such module');
const fail = (): never => {
  throw failure;
};

test('a package is what has been loaded first, in either way', async () => {
  requireOptional('first', () => ({ name: 'required' }));
  await importOptional('first', () => Promise.resolve({ name: 'imported' }));
  assert.deepEqual(optionalPackage('first', 'f'), { name: 'required' });
  await importOptional('second', () => Promise.resolve({ name: 'imported' }));
  requireOptional('second', fail);
  assert.deepEqual(optionalPackage('second', 'f'), { name: 'imported' });
});

test('a package that is missing is an error for those who need it only', async () => {
  requireOptional('third', fail);
  await importOptional('fourth', () => Promise.reject(failure));
  for (const name of ['third', 'fourth']) {
    assert.throws(
      () => optionalPackage(name, 'f', '--save-dev '),
      (error) => {
        assert.ok(error instanceof UnsupportedError);
        assert.deepEqual(
          [error.op, error.advice, error.cause],
          ['f', `install it beside kaon: npm install --save-dev ${name}`, failure],
        );
        return true;
      },
    );
  }
});
