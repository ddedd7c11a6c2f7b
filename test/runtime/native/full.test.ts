import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canCompile, inFolder } from './support.js';

/*
 * Disks that are really full, each a little less than the one before, so that something else finds no room:
 * what is compiled, what the shell says, the compiler, its assembler, its linker. `unshare` lets anybody
 * mount a small disk that only one process sees.
 */

const script = fileURLToPath(new URL('child.js', import.meta.url));

/** Mounts a disk in a folder, leaves so many bytes of it free, and runs a command. */
const within = `folder="$1"; free="$2"; shift 2
mount -t tmpfs -o size=128k,mode=700 none "$folder" || exit 77
head -c $((131072 - free)) /dev/zero >"$folder/fill" || exit 77
"$@" && ls "$folder"`;

interface Found {
  readonly status: number | null;
  readonly lines: readonly string[];
}

function onDisk(
  free: number,
  command: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Found {
  return inFolder((folder) => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    const args = ['-rm', 'sh', '-c', within, 'sh', disk, String(free), ...command];
    const env = { ...process.env, KAON_TIER: '', KAON_CACHE: disk, ...more };
    const { status, stdout } = spawnSync('unshare', args, {
      env,
      encoding: 'utf8',
      timeout: 100_000,
    });
    return { status, lines: stdout?.trim().split('\n') ?? [] };
  });
}

const skip = !canCompile
  ? 'no compiler'
  : onDisk(0, ['true']).status !== 0 && 'nobody but the system may mount disks here';

/** What a program says that runs on a disk with so many bytes left, and what it leaves there. */
function answerOn(
  free: number,
  work: string,
  env: Readonly<Record<string, string>> = {},
): { readonly answer: Readonly<Record<string, unknown>>; readonly left: readonly string[] } {
  const { status, lines } = onDisk(free, [process.execPath, script, work], env);
  assert.equal(status, 0, lines.join('\n'));
  const [answer, ...left] = lines;
  return { answer: JSON.parse(answer) as Readonly<Record<string, unknown>>, left };
}

function isNativeAllTheSame(
  { answer: { tier, reason, note, result }, left }: ReturnType<typeof answerOn>,
  why: RegExp,
): void {
  assert.deepEqual([tier, reason], ['native', null]);
  assert.match(String(note), why);
  const sum = (result as number[]).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 6) < 1e-5, 'rows of softmax add up to one');
  assert.deepEqual(left, ['fill'], 'nothing is left half-done');
}

for (const pages of [0, 2, 6, 12]) {
  test(
    `a disk with ${4 * pages} KiB left: native all the same, and a note that says why`,
    { skip },
    () => {
      const why = /^the cache folder takes nothing: .*no space left on device/i;
      isNativeAllTheSame(answerOn(4096 * pages, 'at once'), why);
    },
  );
}

test('a compiler that a full disk ends without a word: native all the same', { skip }, () => {
  inFolder((folder) => {
    const compiler = join(folder, 'compiler');
    const dies = 'case "$PWD" in */disk/*) kill -BUS $$;; esac';
    writeFileSync(compiler, `#!/bin/sh\n${dies}\nexec cc "$@"\n`, { mode: 0o755 });
    const found = answerOn(2 ** 16, 'at once', { KAON_CC: compiler });
    isNativeAllTheSame(found, /^the cache folder takes nothing: ENOSPC/);
  });
});

test('a job says how it ended, and what was wrong, where not a byte is left', { skip }, () => {
  const { answer } = answerOn(2 ** 15, 'fill');
  assert.deepEqual(answer, { code: 3, stderr: 'error: nothing fits' });
});
