import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
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

function onDisk(free: number, command: readonly string[]): Found {
  return inFolder((folder) => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    const args = ['-rm', 'sh', '-c', within, 'sh', disk, String(free), ...command];
    const env = { ...process.env, KAON_TIER: '', KAON_CACHE: disk };
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

for (const pages of [0, 1, 2, 4, 6, 8, 12]) {
  test(
    `a disk with ${4 * pages} KiB left: native all the same, and a note that says why`,
    { skip },
    () => {
      const { status, lines } = onDisk(4096 * pages, [process.execPath, script, 'at once']);
      assert.equal(status, 0, lines.join('\n'));
      const [answer, ...left] = lines;
      const { tier, reason, note, result } = JSON.parse(answer) as Readonly<
        Record<string, unknown>
      >;
      assert.deepEqual([tier, reason], ['native', null]);
      assert.match(String(note), /^the cache folder takes nothing: .*no space left on device/i);
      const sum = (result as number[]).reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - 6) < 1e-5, 'rows of softmax add up to one');
      assert.deepEqual(left, ['fill'], 'nothing is left half-done');
    },
  );
}
