import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/sources.js';

const plugin = fileURLToPath(new URL('../../src/lint/index.js', import.meta.url));

/** What oxlint says of each of the sources, with no other rule than the plugin's. */
export function lint(
  sources: readonly string[],
  modules: readonly string[] = [],
): readonly (readonly string[])[] {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-lint-'));
  try {
    const config = join(folder, 'oxlint.json');
    const settings = {
      jsPlugins: [plugin],
      categories: { correctness: 'off' },
      rules: { 'kaon/no-array-truthiness': ['error', { modules }] },
    };
    writeFileSync(config, JSON.stringify(settings));
    sources.forEach((source, i) => writeFileSync(join(folder, `${i}.ts`), source));
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(checkout, 'node_modules/oxlint/bin/oxlint'), '-c', config, '-f', 'json', folder],
      { encoding: 'utf8' },
    );
    assert.match(stdout, /^\{/, stdout + stderr);
    const report = JSON.parse(stdout) as Report;
    assert.equal(report.number_of_files, sources.length);
    const found: string[][] = sources.map(() => []);
    for (const { filename, code, message } of report.diagnostics) {
      assert.equal(code, 'kaon(no-array-truthiness)', message);
      found[Number.parseInt(basename(filename), 10)].push(message);
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Report {
  readonly number_of_files: number;
  readonly diagnostics: readonly {
    readonly filename: string;
    readonly code: string;
    readonly message: string;
  }[];
}
