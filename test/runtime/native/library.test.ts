import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Libraries, type LibraryLoader } from '../../../src/runtime/native/library.js';

/** A loader that writes down what it is asked for. */
function recording() {
  const loads: string[] = [];
  const functions: (readonly [string, string, readonly string[]])[] = [];
  const loader: LibraryLoader = {
    load: (file: string) => {
      loads.push(file);
      return {
        func: (name: string, _result: string, parameters: readonly string[]) => {
          functions.push([file, name, parameters]);
          return () => {};
        },
      };
    },
  };
  return { loads, functions, libraries: new Libraries(loader) };
}

test('a library is loaded once, however many of its functions are asked for', () => {
  const { loads, functions, libraries } = recording();
  libraries.function('a.so', 'first', false);
  libraries.function('a.so', 'second', false);
  libraries.function('b.so', 'first', false);
  libraries.function('a.so', 'first', false);
  assert.deepEqual(loads, ['a.so', 'b.so']);
  assert.deepEqual(
    functions.map(([file, name]) => `${file} ${name}`),
    ['a.so first', 'a.so second', 'b.so first', 'a.so first'],
  );
});

test('a function of a team takes where it meets, which thread it is and how many there are', () => {
  const { functions, libraries } = recording();
  libraries.function('a.so', 'one', false);
  libraries.function('a.so', 'many', true);
  assert.deepEqual(
    functions.map(([, , parameters]) => parameters),
    [
      ['uint8_t *', 'int64_t'],
      ['uint8_t *', 'int64_t', 'int64_t', 'int32_t', 'int32_t'],
    ],
  );
});
