import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { compilerCommands } from '../../src/base/compilers.js';
import { nodeModules } from '../../src/base/node.js';

test('compilers are the executables that are asked for, then those of common names on the path', () => {
  const node = nodeModules();
  assert.ok(node !== null);
  const folder = mkdtempSync(join(tmpdir(), 'kaon-compilers-'));
  try {
    const [first, second] = ['first', 'second'].map((name) => join(folder, name));
    const file = (path: string, mode: number): string => {
      writeFileSync(path, '');
      chmodSync(path, mode);
      return path;
    };
    mkdirSync(first);
    mkdirSync(second);
    mkdirSync(join(second, 'cc'));
    file(join(first, 'clang'), 0o600);
    const mine = file(join(first, 'mine'), 0o700);
    const clang = file(join(second, 'clang'), 0o700);
    const gcc = file(join(first, 'gcc'), 0o700);
    const PATH = [first, '', second].join(delimiter);
    // A folder, and a file that cannot be executed, are no compilers.
    assert.deepEqual(compilerCommands(node, { PATH }), [[clang], [gcc]]);
    assert.deepEqual(compilerCommands(node, { PATH, CC: 'gcc -m32', KAON_CC: mine }), [
      [mine],
      [gcc, '-m32'],
      [clang],
      [gcc],
    ]);
    assert.deepEqual(compilerCommands(node, {}), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
