import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementLines } from '../../../src/passes/host/text.js';
import { forEachStatement } from '../../../src/passes/host/walk.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { prepare } from '../../../src/runtime/dynamic/interpreter.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { cases, doubled, elementsBefore, handles, namesBefore } from './cases.js';

for (const [kind, { body, text, names = {}, arrays = new Map(), error }] of Object.entries(cases)) {
  test(`${kind}: text, and what it does`, () => {
    assert.deepEqual(statementLines(body), text);
    const kinds = new Set<string>();
    forEachStatement(body, (statement) => kinds.add(statement.kind));
    assert.ok(kinds.has(kind));

    const frame = {
      names: new Map(namesBefore),
      arrays: elementsBefore().map((elements, k) => new Storage(handles[k].dtype, elements)),
    };
    const code = compile(doubled);
    const run = prepare(body, { part: () => code, callee: () => code });
    if (error !== undefined) return assert.throws(() => run(frame), error);
    assert.equal(run(frame), false);
    assert.deepEqual(Object.fromEntries(frame.names), {
      ...Object.fromEntries(namesBefore),
      ...names,
    });
    for (const [{ id }, expected] of arrays) {
      assert.deepEqual(Array.from(frame.arrays[id].host as Float32Array), expected);
    }
  });
}
