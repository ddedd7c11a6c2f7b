import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { importAll, isNodeLoading, nodeModules } from '../../src/base/node.js';

test("Node's modules are those that an import gives", async () => {
  const [all, later] = [nodeModules(), await importAll()];
  assert.equal(isNodeLoading(), false);
  assert.equal(all?.files.readFileSync, readFileSync);
  for (const [name, module] of Object.entries(later)) {
    const own = all?.[name as keyof typeof later] as Readonly<Record<string, unknown>>;
    assert.ok(Object.keys(own).length > 2, name);
    assert.equal(own[Object.keys(own)[0]], (module as typeof own)[Object.keys(own)[0]], name);
  }
});
