import assert from 'node:assert/strict';
import { test } from 'node:test';
import type * as t from '@babel/types';
import { transform } from '../../../src/source/index.js';
import {
  constructLines,
  decodeConstructs,
  encodeConstructs,
  type SourceConstruct,
} from '../../../src/source/explain/construct.js';
import { parse } from '../../../src/source/syntax/parse.js';
import { visitNodes } from '../../../src/source/syntax/walk.js';
import { ProgramWriter } from '../random/host-programs.js';

function constructsOf(code: string): readonly SourceConstruct[] {
  const converted = transform(code, { filename: 'a.ts' })!.code;
  const [, text] = /'use graph converted ?([^']*)'/.exec(converted)!;
  return decodeConstructs(text);
}

/** What constructs say, derived by hand: each line is a construct in the order of the text. */
const cases: Readonly<Record<string, readonly [code: string, expected: string]>> = {
  'a loop carries what the next iteration reads and returns what is read later': [
    `function f(a, limit) { 'use graph';
let x = a, n = 0, last = null;
while (x.less(limit)) {
  const next = x.mul(2);
  last = next;
  x = next;
  n++;
}
return n;
}`,
    `while at 3:1
  reads x, limit, n
  carries x, n
  returns n
  keeps last, next local`,
  ],
  'a branch returns what is read later': [
    `function f(a) { 'use graph';
let b = 1, c = 2;
if (a) { b = 2; c = 3; let d = b; b = d; }
return b;
}`,
    `if at 3:1
  reads a, b
  returns b
  keeps c, d local`,
  ],
  'a loop with a head, one over rows and a branch that leaves both': [
    `function f(x, rows) { 'use graph';
let sum = x;
for (let i = 0; i < 3; i++) {
  for (const row of rows) {
    if (row.less(i)) return sum;
    sum = sum.add(row);
  }
}
return sum;
}`,
    `for at 3:1
  reads rows, sum
  carries i, sum
  returns sum
  keeps row local
  is left by return
  for...of at 4:3
    reads rows, i, sum
    carries sum
    returns sum
    keeps row local
    is left by return
    if at 5:5
      reads row, i, sum
      is left by return`,
  ],
  'expressions, and functions inside': [
    `const f = (x, y) => { 'use graph';
const g = (z) => z ? y : x && y;
return g(x);
}`,
    `?: at 2:18
  reads z, y, x
  && at 2:26
    reads x, y`,
  ],
  'a switch whose cases assign': [
    `function f(x, k) { 'use graph';
let y;
switch (k) { case 1: y = x; break; default: y = k; }
return y;
}`,
    `switch at 3:1
  reads k, x
  returns y`,
  ],
};

for (const [what, [code, expected]] of Object.entries(cases)) {
  test(`explained: ${what}`, () => {
    assert.equal(constructLines(constructsOf(code)).join('\n'), expected);
  });
}

/** The variables that calls of the runtime are given, by the place of the call. */
function emittedVariables(
  code: string,
): ReadonlyMap<string, { name: string; merged: Set<string> }> {
  const found = new Map<string, { name: string; merged: Set<string> }>();
  const nameOf = (node: t.Node): string | null =>
    node.type === 'CallExpression' &&
    node.callee.type === 'MemberExpression' &&
    node.callee.object.type === 'Identifier' &&
    node.callee.object.name.startsWith('$kn') &&
    node.callee.property.type === 'Identifier'
      ? node.callee.property.name
      : null;
  visitNodes(parse(code, 'a.js').file.program, (node) => {
    const name = nameOf(node);
    if (name === null || node.type !== 'CallExpression') return;
    if (!/^(?:branch|loop|each|select)$/.test(name)) return;
    const [site] = node.arguments;
    const vars = node.arguments.find((argument) => nameOf(argument) === 'vars');
    const lists = vars?.type === 'CallExpression' ? vars.arguments : [];
    const merged = lists[0]?.type === 'ArrayExpression' ? lists[0].elements : [];
    assert.ok(site.type === 'StringLiteral');
    const names = merged.map((each) => (each as t.StringLiteral).value.split(' ')[0]);
    found.set(`${name} ${site.value}`, { name, merged: new Set(names) });
  });
  return found;
}

test('random programs: what is explained is what the emitted calls are given', () => {
  let compared = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const code = new ProgramWriter(seed).write();
    const converted = transform(code, { filename: 'a.js' })!.code;
    const constructs = constructsOf(code);
    assert.equal(
      encodeConstructs(constructs),
      encodeConstructs(decodeConstructs(encodeConstructs(constructs))),
    );
    const byPlace = new Map(
      constructs
        .filter(({ kind }) => /[a-z]/.test(kind))
        .map((each) => [`${each.line}:${each.column}`, each]),
    );
    for (const [place, { name, merged }] of emittedVariables(converted)) {
      const construct = byPlace.get(place.split(' ')[1]);
      assert.ok(construct !== undefined, `program ${seed}: nothing is told of ${place}\n${code}`);
      const told = new Set([...construct.carries, ...construct.returns]);
      if (name === 'loop' || name === 'each') {
        assert.deepEqual([...told].sort(), [...merged].sort(), `program ${seed}: ${place}\n${code}`); // prettier-ignore
        compared++;
      } else if (construct.leavesBy.length === 0) {
        // A branch that ends a continuation is asked about its end, which may need fewer variables.
        const missing = [...merged].filter((each) => !told.has(each));
        assert.deepEqual(missing, [], `program ${seed}: ${place}\n${code}`);
        compared++;
      }
    }
  }
  assert.ok(compared > 300, `${compared} compared`);
});
