import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainFile } from '../../src/source/explain-file.js';
import { loadParser } from '../../src/source/syntax/parse.js';

await loadParser();

const code = `export default function named(x) { 'use graph'; return x ? 1 : 2 }
const assigned = (x) => { 'use graph'; return x };
let later;
later = function own(x) { 'use graph'; return x };
class C {
  method(x) { 'use graph'; return x }
  field = (x: number) => { 'use graph'; return x };
  [computed](x) { 'use graph'; return x }
}
const o = { key: (x) => { 'use graph'; return x }, short(x) { 'use graph'; return x } };
call((x) => { 'use graph'; return () => { 'use graph'; return x } });
`;

test('the functions of a file are known by what they are called', () => {
  const told = explainFile(code, { filename: 'a.ts' });
  assert.deepEqual(
    told.map(({ name, place }) => `${name} ${place}`),
    [
      'named 1:16',
      'assigned 2:18',
      'own 4:9',
      'method 6:3',
      'field 7:11',
      'a function 8:3',
      'key 10:18',
      'short 10:52',
      'a function 11:6',
    ],
  );
  assert.equal(told[0].constructs.length, 1);
  assert.deepEqual(explainFile('f();', { filename: 'a.ts' }), []);
});

test('places are those in the source of compiled code', () => {
  const inputMap = { sources: ['a.ts'], mappings: 'AAIA' };
  const [{ place, constructs }] = explainFile("function f(x) { 'use graph'; return x ? 1 : 2 }", {
    filename: 'a.js',
    inputMap,
  });
  assert.equal(place, '5:1');
  assert.deepEqual([constructs[0].line, constructs[0].column], [5, 1]);
});
