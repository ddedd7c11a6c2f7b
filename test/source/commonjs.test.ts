import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as runtime from '../../src/front/converted/index.js';
import * as kn from '../../src/index.js';
import { transform } from '../../src/source/index.js';

/* Modules of CommonJS require the runtime where ES modules import it. */

const body = `function f(x, seen = []) {
  'use graph';
  if (x.greater(1)) x = x.mul(2);
  return x;
}
module.exports = { f, isSloppy: (function () { return this !== undefined; })() };
`;

interface Exported {
  readonly f: (x: kn.NDArray) => kn.NDArray;
  readonly isSloppy: boolean;
}

function run(code: string): Exported {
  const module = { exports: {} as Exported };
  const required: string[] = [];
  const require = (name: string): unknown => {
    required.push(name);
    return runtime;
  };
  // The test is about code that is put together while it runs.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  const load = new Function('module', 'require', code.replace(/^#!.*/, '')) as (
    ...args: unknown[]
  ) => void;
  load(module, require);
  assert.deepEqual(required, ['kaon/converted']);
  return module.exports;
}

for (const [start, isSloppy] of [
  ['', true],
  ['#!/usr/bin/env node\n', true],
  ["'use strict';\n", false],
  ["// no mark follows\n'use strict'\n", false],
  ["'use strict' /* none */\n\n", false],
] as const) {
  test(`a module of CommonJS that starts with ${JSON.stringify(start)}`, () => {
    const code = start + body;
    const result = transform(code, { filename: 'a.cjs' })!;
    const exported = run(result.code);
    assert.equal(exported.isSloppy, isSloppy);
    assert.equal(exported.f(kn.array(3)).item(), 6);
    assert.equal(kn.hybridize(exported.f)(kn.array(1)).item(), 1);
    assert.equal(result.code.split('\n').length, code.split('\n').length);
    assert.equal(transform(code, { filename: 'a.js', sourceType: 'commonjs' })!.code, result.code);
    assert.equal(
      transform(code, { filename: 'a.js', sourceType: 'unambiguous' })!.code,
      result.code,
    );
  });
}

test('imports and exports make a module of a file that may be either', () => {
  const code = "export function f() { 'use graph'; return f ? 1 : 2 }\n";
  const result = transform(code, { filename: 'a.js', sourceType: 'unambiguous' })!;
  assert.match(result.code, /import \* as \$kn from/);
  assert.doesNotMatch(result.code, /require/);
});
