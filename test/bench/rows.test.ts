// In a process of its own: it starts processes.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { benchModule } from './load.js';

interface Processes {
  ContestantProcess: new (
    command: string,
    words: readonly string[],
  ) => {
    readonly ended: boolean;
    request(message: object, patience?: number): Promise<Record<string, unknown>>;
    close(): void;
  };
}
interface Row {
  readonly title: string;
  build?(): never;
  entries(): readonly object[];
}
interface Run {
  runRow(row: Row, context: object): Promise<{ refused: { name: string; reason: string }[] }>;
}

const { ContestantProcess } = (await benchModule('harness/process.mjs')) as Processes;
const { runRow } = (await benchModule('harness/run.mjs')) as Run;

/** A contestant that prints what drivers print, answers the first request, and then nothing. */
const silent = `
  console.log('a warning');
  process.stdin.once('data', () => console.log('{"id": 7}'));
  setInterval(() => {}, 1000);`;

it('a contestant that is silent is ended, and says what it printed last', async () => {
  const contestant = new ContestantProcess(process.execPath, ['-e', silent]);
  assert.deepEqual(await contestant.request({ do: 'prepare' }), { id: 7 });
  await assert.rejects(contestant.request({ do: 'round' }, 100), /"round".*a warning/s);
  assert.ok(contestant.ended);
  await assert.rejects(contestant.request({ do: 'round' }), /"round"/);
});

it('a row that cannot be measured is reported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-rows-'));
  const row: Row = {
    title: 'broken',
    build() {
      throw new Error('no inputs');
    },
    entries: () => [],
  };
  const context = {
    options: { tiers: [], peers: ['none'], isGpu: true, rowMilliseconds: 1000, rounds: 1 },
    team: { endRow: () => {}, waitUntil: () => {} },
    folder,
  };
  const { refused } = await runRow(row, context);
  assert.deepEqual(refused.map(({ name }) => name), ['row']); // prettier-ignore
  assert.match(refused[0].reason, /no inputs/);
  assert.deepEqual(readdirSync(folder), []);
  rmSync(folder, { recursive: true });
});
