import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installed, installPackage, node, write } from '../support/package.js';

let installed: Installed;
before(() => {
  installed = installPackage('source');
});

const source = `import * as kn from 'kaon';
function halve(x) {
  'use graph';
  let n = 0;
  while (x.greater(1)) {
    x = x.div(2);
    n++;
  }
  return x.mul(n);
}
function wrong(x) {
  'use graph';
  let name = 'a';
  if (
    x.greater(1)) name = 'b';
  return x.mul(name.length + (name === 'b'));
}
const f = kn.hybridize(halve);
const places = [];
try { kn.hybridize(wrong)(kn.array(3)); } catch (error) { places.push(error.code, error.source); }
console.log(JSON.stringify([f(kn.array(12)).item(), f(kn.array(1)).item(), ...places]));
`;

const build = `import { readFileSync, writeFileSync } from 'node:fs';
import { transform } from 'kaon/source';
try {
  const { code, map } = transform(readFileSync('main.mjs', 'utf8'), { filename: 'main.mjs' });
  writeFileSync('built.mjs', code + '//# sourceMappingURL=built.mjs.map');
  writeFileSync('built.mjs.map', JSON.stringify(map));
  console.log('built');
} catch (error) { console.log(error.code, error.advice); }
`;

test('an installed package says what it needs, converts a module, and names lines as they were', () => {
  write(installed, 'main.mjs', source);
  write(installed, 'build.mjs', build);
  // The checkout around has the parser: one that cannot be imported hides it.
  const hidden = 'node_modules/@babel/parser';
  mkdirSync(join(installed.folder, hidden), { recursive: true });
  write(installed, `${hidden}/package.json`, '{ "name": "@babel/parser", "exports": {} }');
  assert.match(
    node(installed.folder, 'build.mjs'),
    /KAON_UNSUPPORTED install it beside kaon: npm install --save-dev @babel\/parser/,
  );
  rmSync(join(installed.folder, hidden), { recursive: true });
  assert.equal(node(installed.folder, 'build.mjs').trim(), 'built');
  const printed = node(installed.folder, '--enable-source-maps', 'built.mjs');
  const [value, none, code, place] = JSON.parse(printed) as [number, number, string, string];
  // 12 is halved four times; 1 never.
  assert.equal(value, (12 / 2 ** 4) * 4);
  assert.equal(none, 0);
  assert.equal(code, 'KAON_TRACE');
  assert.match(place, /main\.mjs:14:3$/);
});
