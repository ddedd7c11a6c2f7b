import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { transform } from '../../src/source/index.js';
import { converted, original } from './convert.js';

/* `a.b ||= await c`: arrays decide by value, and the order of effects is that of the code as it is written. */

Object.assign(globalThis, { kn });

const code = `async function main(first, log) { 'use graph';
  const note = (name, value) => { log.push(name); return value; };
  class Base { get n() { return log.push('get n'), this.v } set n(x) { log.push('set n'), (this.v = x) } }
  class C extends Base {
    #p = first;
    v = first;
    async own() { note('this', this).#p ||= await note('right', 7); return this.#p }
    async inherited() { super.n &&= await note('right', 8); return super[note('key', 'n')] ||= await 9 }
  }
  const o = { x: first, y: { z: first } };
  const c = new C();
  const all = [await c.own(), await c.inherited()];
  note('object', o)[note('key', 'x')] ||= await note('right', 1)
  all.push(o.x, note('object', o).y.z &&= await note('right', 2), o.y.z)
  return all;
}`;

test('host values: results and effects are those of the code as it is', async () => {
  for (const first of [0, 1, '', 'a', null]) {
    const logs: [unknown[], unknown[]] = [[], []];
    const f = original(code) as unknown as (first: unknown, log: unknown[]) => Promise<unknown>;
    const g = converted(code) as unknown as typeof f;
    assert.deepEqual(await g(first, logs[1]), await f(first, logs[0]));
    assert.deepEqual(logs[1], logs[0]);
  }
});

test('eager arrays decide by value', async () => {
  const f = converted(code) as unknown as (first: unknown, log: unknown[]) => Promise<unknown[]>;
  const [no, yes] = [kn.array(false), kn.array(true)];
  assert.deepEqual(await f(no, []), [7, 9, 1, no, no]);
  assert.deepEqual(await f(yes, []), [yes, 8, yes, 2, 2]);
});

test('generators, too', () => {
  const f = converted(
    `function* main(o) { 'use graph'; o.x ||= yield 'x'; o.x &&= yield 'y'; return o.x; }`,
  ) as unknown as (o: object) => Generator<string, unknown, unknown>;
  const run = f({ x: kn.array(false) });
  assert.equal(run.next().value, 'x');
  assert.equal(run.next(5).value, 'y');
  assert.deepEqual(run.next(6), { done: true, value: 6 });
});

test('members in types of TypeScript are converted', () => {
  const text = transform(`function f(o: any) { 'use graph'; (o.x as unknown) ||= 1; o.y! &&= 2; }`, { filename: 'f.ts' })!.code; // prettier-ignore
  assert.doesNotMatch(text, /\|\|=|&&=/);
});

test('where no variable can be declared it is refused', () => {
  const text = `async function f(o) { 'use graph';\n return (async () => (o.x ||= await 1))(); }`;
  assert.throws(() => transform(text, { filename: 'f.js' }), {
    name: 'UnsupportedError',
    actual: 'an expression in line 2',
  });
});
