import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { registry } from '../../src/ops/registry.js';
import { checkout } from '../support/sources.js';

/** What `parity/operators/names.mjs` tells; it is no part of what is compiled. */
interface Names {
  referenceNames(folder?: string): Tables;
  problemsOfNames(operators: readonly string[], tables: Tables): readonly string[];
}

interface Tables {
  readonly references: ReadonlyMap<string, string>;
  readonly absent: ReadonlyMap<string, string>;
  /** Of which operators the page says what their references decide. */
  readonly decided: readonly string[];
}

const folder = join(checkout, 'parity', 'operators');
const names = (await import(pathToFileURL(join(folder, 'names.mjs')).href)) as Names;
const operators = [...registry.keys()];

test('every operator has a reference to be compared with, or a reason to have none', () => {
  const tables = names.referenceNames();
  assert.deepEqual(names.problemsOfNames(operators, tables), []);
  for (const [name, reason] of tables.absent) assert.match(reason, /: test\//, `${name} says where it is tested`); // prettier-ignore
});

/** The operators that the tables have: only the test above says that these are all. */
const inTables = ({ references, absent }: Tables): readonly string[] =>
  operators.filter((name) => references.has(name) || absent.has(name));

test('an operator that the tables forget, have twice or made up is named', () => {
  const tables = names.referenceNames();
  const known = inTables(tables);
  const problems = names.problemsOfNames([...known, 'brandNew'], tables);
  assert.equal(problems.length, 1);
  assert.match(problems[0], /^brandNew has neither a reference/);
  const without = known.filter((name) => name !== 'cumsum' && name !== 'foreach');
  assert.deepEqual(
    names.problemsOfNames(without, tables),
    ['there is no operator cumsum', 'there is no operator foreach'], // prettier-ignore
  );
  const both = new Map([...tables.absent, ['sum', 'no reason: test/none']]);
  assert.match(names.problemsOfNames(known, { ...tables, absent: both })[0], /^sum has a reference, and a reason/); // prettier-ignore
});

test('what references decide is told of operators that have one', () => {
  const tables = names.referenceNames();
  const decided = [...tables.decided, 'madeUp', 'foreach'];
  assert.deepEqual(
    names.problemsOfNames(inTables(tables), { ...tables, decided }),
    ['decided.json tells of foreach, which has no reference', 'there is no operator madeUp'], // prettier-ignore
  );
});

test('two references for one operator are refused', () => {
  const copy = mkdtempSync(join(tmpdir(), 'kaon-references-'));
  try {
    cpSync(folder, copy, { recursive: true });
    writeFileSync(join(copy, 'references', 'zz.py'), "reference('sum')(None)\n");
    assert.throws(() => names.referenceNames(copy), /sum has two references/);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});
