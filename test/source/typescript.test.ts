import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transformSync } from 'esbuild';
import * as kn from '../../src/index.js';
import { convertedCode, original } from './convert.js';

Object.assign(globalThis, { kn });

/** Code of the language without its types. */
const plain = (text: string): string => transformSync(text, { loader: 'ts' }).code;

/** The function `main` of code in TypeScript, as it is and converted. */
function both(text: string): readonly ((...args: unknown[]) => unknown)[] {
  return [text, convertedCode(text, 'main.ts')].map((each) => original(plain(each))) as never;
}

const declarations = `function main(limit: number, x: any): unknown { 'use graph';
  var s: number = 2, { k }: { k: number } = { k: 3 }, [m]: number[] = [4], unset: number;
  for (var i: number = 0, j: number = 5; i < j; i++) s += i;
  for (var { length }: string = 'abc'; length > 0; length--) s += 10;
  while (s < limit) { s *= 2; var t: number = s; }
  for (const each of [1, 2] as number[]) { let twice: number = each * 2; s += twice; }
  return [x, s, k, m, i, j, length, t, unset];
}`;

test('declarations with types, var among them, give what they give without', () => {
  const [f, g] = both(declarations);
  for (const limit of [0, 100, 1000]) assert.deepEqual(g(limit, null), f(limit, null));
});

test('declarations with types in captured code', () => {
  const [f, g] = both(declarations.replace('return [x, s', 'return [x.mul(s)').replace(', unset];', '].map((each) => kn.array(each));')); // prettier-ignore
  const captured = kn.hybridize((x: kn.NDArray) => g(100, x) as kn.NDArray[]);
  const values = (list: unknown): unknown => (list as kn.NDArray[]).map((each) => each.tolist());
  assert.deepEqual(values(captured(kn.array([1, 2]))), values(f(100, kn.array([1, 2]))));
});
