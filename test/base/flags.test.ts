import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ArgumentError } from '../../src/base/errors.js';
import { currentDebugging, flagTable, installDebugging, parseFlags } from '../../src/base/flags.js';

const names = Object.keys(flagTable);
const on = (text: string): string[] =>
  Object.entries(parseFlags(text)).flatMap(([name, value]) => (value ? [name] : []));

test('a list turns on exactly the flags that it names; none is on by default', () => {
  assert.deepEqual(on(''), []);
  assert.deepEqual(on(' , ,'), []);
  assert.deepEqual(on('kernels, passes'), ['passes', 'kernels']);
  assert.deepEqual(on(names.join(',')), names);
});

test('an unknown name is an error that shows the table', () => {
  for (const text of ['pass', 'passes,toString', 'passes;kernels']) {
    assert.throws(
      () => parseFlags(text),
      (error) =>
        error instanceof ArgumentError &&
        names.every((name) => error.message.includes(name)) &&
        error.actual === text,
      text,
    );
  }
});

test('the documentation lists exactly the flags, in the words of the table', () => {
  const page = readFileSync('docs/debugging.md', 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, name, doc]) => [
    name,
    doc,
  ]);
  assert.deepEqual(
    rows,
    Object.entries(flagTable).map(([name, { doc }]) => [name, doc]),
  );
});

test('flags and output can be replaced, and put back', () => {
  const lines: string[] = [];
  const mine = { flags: parseFlags('laws'), print: (text: string) => void lines.push(text) };
  const previous = installDebugging(mine);
  currentDebugging().print('here');
  assert.equal(currentDebugging(), mine);
  installDebugging(previous);
  assert.notEqual(currentDebugging(), mine);
  assert.deepEqual(lines, ['here']);
});
