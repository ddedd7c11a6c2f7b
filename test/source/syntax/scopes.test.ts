import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadParser, parse } from '../../../src/source/syntax/parse.js';
import { isCaptured, resolveScopes } from '../../../src/source/syntax/scopes.js';

await loadParser();

/*
 * Each occurrence of a name ends in a number: occurrences of one variable have the same one, whatever they
 * are called. The resolver sees the names without the numbers.
 */
const tables: readonly (readonly [string, string])[] = [
  ['blocks hide', 'let x_1 = 0; { let x_2 = x_2; x_2; } x_1;'],
  ['var belongs to the function', 'function f_1(p_2) { { var v_3 = p_2; } v_3; var p_2; }'],
  ['functions are hoisted', 'f_1(); function f_1() { return g_2(); function g_2() {} }'],
  ['a loop has a scope for its variables', 'let i_1; for (let i_2 = 0; i_2 < 3; i_2++) i_2; i_1;'],
  ['var of a loop is outside', 'function f_1() { for (var i_2 of []) i_2; i_2; }'],
  ['a switch is one block', 'let x_1; switch (x_1) { case 1: let x_2; case x_2: x_2; } x_1;'],
  ['catch', 'let e_1; try {} catch (e_2) { e_2; { let e_3; e_3; } } e_1;'],
  ['names of function expressions', 'const f_1 = function f_2() { f_2; }; f_1;'],
  ['names of classes', 'class A_1 { static B = A_2; m() { A_2; } } A_1;'],
  ['patterns', 'const { a: b_1, c_2 = b_1, ...d_3 } = b_1, [e_4 = d_3] = c_2; e_4;'],
  ['shorthand', 'const a_1 = 1; const o_2 = { a_1 }; const { b_3 } = o_2; b_3;'],
  ['members and keys are no variables', 'let a_1; a_1.b.c; ({ b: a_1, [a_1]: 1, m() { a_1; } });'],
  ['labels are no variables', 'let x_1; y: for (;;) { x_1; break y; }'],
  ['types are no variables', 'type T = typeof x_1 | number; let x_1: T = 1 as T; x_1 satisfies T;'],
  ['free names', 'console_1.log(Math_2.PI, console_1);'],
  ['imports', "import { a as b_1, c_2 } from 'm'; b_1; c_2; { let c_3; c_3; }"],
  ['arrows', 'const f_1 = (x_2, y_3 = x_2) => { let z_4; z_4 + x_2; };'],
];

for (const [what, table] of tables) {
  test(`names: ${what}`, () => {
    const marked = [...table.matchAll(/([A-Za-z]\w*)_(\d)/g)];
    const code = table.replaceAll(/_\d/g, '');
    const { file } = parse(code, 'test.ts');
    const { references } = resolveScopes(file.program);
    const byNumber = new Map<string, Set<unknown>>();
    let cut = 0;
    for (const { 1: name, 2: number, index } of marked) {
      const start = index - cut;
      cut += 2;
      const found = [...references.values()].find(({ identifier }) => identifier.start === start);
      // Declarations without a value are no occurrences.
      if (found === undefined) continue;
      assert.equal(found.binding.name, name);
      byNumber.set(number, (byNumber.get(number) ?? new Set()).add(found.binding));
    }
    const bindings = [...byNumber.values()];
    for (const [number, same] of byNumber) assert.equal(same.size, 1, `number ${number}`);
    assert.equal(new Set(bindings.flatMap((same) => [...same])).size, bindings.length);
    assert.ok(bindings.length > 0);
  });
}

test('a variable is captured when an inner function mentions it', () => {
  const { file } = parse('function f() { let a, b, c = 1; b; (() => a)(); { c; } }', 'test.js');
  const scopes = resolveScopes(file.program);
  const captured = [...scopes.references.values()]
    .filter(({ binding }) => isCaptured(binding))
    .map(({ binding }) => binding.name);
  assert.deepEqual([...new Set(captured)], ['a']);
});
