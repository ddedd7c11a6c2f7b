import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import type { TierReport } from '../../../src/index.js';
import { sleep } from '../../../src/runtime/native/job.js';
import { findLoader } from '../../../src/runtime/native/library.js';
import { nodeModules } from '../../../src/base/node.js';
import type { NativeSettings } from '../../../src/runtime/native/tier.js';
import { canCompile, inFolder, reached, withTier } from './support.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Runs a small program that waits for native code; checks its results, and tells where it ran. */
function outcome(): TierReport {
  const f = kn.hybridize((x: kn.NDArray) => x.mul(2).sum(1), { tier: 'native' });
  const x = kn.arange(12).reshape([3, 4]);
  for (let run = 0; run < 3; run++) assert.deepEqual(f(x).tolist(), [12, 44, 76]);
  const [report] = f.explain().traces[0].tiers;
  const text = String(f.explain());
  if (report.reason !== null) assert.ok(text.includes(report.reason), text);
  if (report.note !== null) assert.ok(text.includes(`note: ${report.note}`), text);
  return report;
}

function staysOnWasm(settings: NativeSettings, why: RegExp): void {
  withTier(settings, () => {
    const { tier, since, reason } = outcome();
    assert.deepEqual([tier, since], ['wasm', null]);
    assert.match(reason!, why);
  });
}

const anyLoader = (): ReturnType<typeof findLoader> => ({
  load: () => {
    throw new Error('this is no library');
  },
});

/** A compiler that knows what it compiles for, and then does what `script` says. */
function withCompiler(
  script: string,
  work: (settings: NativeSettings, folder: string) => void,
): void {
  inFolder((folder) => {
    const compiler = join(folder, 'compiler');
    const probe = `case "$*" in *-dM*) echo '#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__'; exit 0;; esac`;
    writeFileSync(compiler, `#!/bin/sh\n${probe}\n${script}\n`, { mode: 0o755 });
    work({ env: { ...process.env, KAON_CC: compiler }, findLoader: anyLoader }, folder);
  });
}

/** Finds where the output is to go. */
const output = `while [ "$1" != -o ]; do shift; done; out="$2"`;

test('no compiler: programs stay on wasm, and say so', () => {
  const env: Env = { ...process.env, PATH: '', CC: undefined, KAON_CC: undefined };
  staysOnWasm({ env, findLoader: anyLoader }, /^no compiler found$/);
});

test('no koffi: programs stay on wasm, and say what to install', () => {
  const node = nodeModules()!;
  const require = Object.assign(() => assert.fail(), {
    resolve: () => {
      throw new Error('Cannot find module');
    },
  });
  const module = { createRequire: () => require } as unknown as typeof node.module;
  const missing = (): ReturnType<typeof findLoader> => findLoader({ ...node, module });
  staysOnWasm({ findLoader: missing }, /^koffi is not installed: npm install koffi$/);
});

test('a compiler that fails: its first error is the reason', () => {
  withCompiler('echo noise >&2; echo "a.c:1: error: no such thing" >&2; exit 1', (settings) => {
    staysOnWasm(settings, /^the compiler failed: a\.c:1: error: no such thing$/);
  });
  withCompiler('exit 3', (settings) => {
    staysOnWasm(settings, /^the compiler failed: it failed without a word$/);
  });
});

test('a compiler that hangs is ended, with what it has started', () => {
  withCompiler('echo $$ >"$0.pid"; sleep 1000 & sleep 1000', (settings, folder) => {
    staysOnWasm({ ...settings, limitMilliseconds: 300 }, /it took longer than 0\.3 s/);
    const pid = Number(readFileSync(join(folder, 'compiler.pid'), 'utf8'));
    const isGone = (): boolean => {
      try {
        // This process has not been told yet, so that the system may still know its name.
        return /^[ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]);
      } catch {
        return true;
      }
    };
    for (let waited = 0; !isGone() && waited < 10_000; waited += 10) sleep(10);
    assert.ok(isGone());
  });
});

test('a compiler that is killed half-way leaves nothing that counts', () => {
  withCompiler(`${output}; printf half >"$out"; kill -9 $$`, (settings) => {
    withTier(settings, (_, cache) => {
      assert.match(outcome().reason!, /^the compiler failed/);
      assert.deepEqual(readdirSync(cache), []);
    });
  });
});

test('a compiler that prints garbage, or makes it, is not believed', () => {
  withCompiler(`${output}; head -c 10000 /dev/urandom >"$out"`, (settings) => {
    staysOnWasm(settings, /^what was compiled cannot be loaded: this is no library$/);
    if (canCompile) {
      staysOnWasm({ env: settings.env! }, /^what was compiled cannot be loaded: /);
    }
  });
  inFolder((folder) => {
    const compiler = join(folder, 'cc');
    writeFileSync(compiler, '#!/bin/sh\nwhile read -r line; do echo "$line"; done <"$0"\n', {
      mode: 0o755,
    });
    const env: Env = { PATH: folder };
    staysOnWasm(
      { env, findLoader: anyLoader },
      /no compiler found; .*does not say what it compiles/,
    );
  });
});

test('a program that cannot be made native says why', () => {
  withCompiler('exit 1', (settings) => {
    withTier(settings, (tier) => {
      const request = tier.request(() => {
        throw new Error('this processor is unheard of');
      });
      assert.equal(request.wait(), 'it cannot be made: this processor is unheard of');
    });
  });
});

test('code that computes something else never takes over, and that is told once', async () => {
  const told: Error[] = [];
  const hear = (warning: Error): void => void told.push(warning);
  process.on('warning', hear);
  const idle = (): ReturnType<typeof findLoader> => ({ load: () => ({ func: () => () => {} }) });
  withCompiler(`${output}; echo anything >"$out"`, (settings) => {
    for (let program = 0; program < 2; program++) {
      staysOnWasm(
        { ...settings, findLoader: idle },
        /^its result output is wrong: element \d is NaN/,
      );
    }
  });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', hear);
  assert.equal(told.length, 1);
  assert.equal(told[0].name, 'KaonWarning');
  assert.match(told[0].message, /does not compute what it should/);
});

test(`a cache folder that cannot be: ${reached} all the same, from a temporary one`, () => {
  inFolder((folder) => {
    writeFileSync(join(folder, 'file'), '');
    const env = { ...process.env, KAON_CACHE: join(folder, 'file', 'cache') };
    withTier({ env }, () => {
      const { tier, note } = outcome();
      assert.equal(tier, reached);
      if (canCompile) assert.match(note!, /^the cache folder cannot be used: .*file/);
    });
  });
});

test(`a full disk: ${reached} all the same, from a temporary folder, or wasm`, () => {
  const full = `case "$PWD" in */cache/*) echo 'fatal error: No space left on device' >&2; exit 1;; esac`;
  withCompiler(`${full}; exec cc "$@"`, ({ env }) => {
    withTier({ env }, () => {
      const { tier, note } = outcome();
      assert.equal(tier, reached);
      if (canCompile) assert.match(note!, /^the cache folder takes nothing: .*No space left/);
    });
  });
  withCompiler(`echo 'fatal error: No space left on device' >&2; exit 1`, (settings) => {
    staysOnWasm(settings, /^there is no place for what is made: .*No space left/);
  });
});

test(`a cache folder that others may write to, or own, is not used: ${reached} from another`, () => {
  inFolder((folder) => {
    const open = join(folder, 'open');
    mkdirSync(open);
    chmodSync(open, 0o770);
    const foreign = process.getuid?.() === 0 ? join(folder, 'foreign') : '/usr';
    if (foreign !== '/usr') {
      mkdirSync(foreign);
      chownSync(foreign, 12345, 12345);
    }
    for (const [path, why] of [
      [open, /^others may write to the cache folder/],
      [foreign, /belongs to another user$/],
    ] as const) {
      const before = readdirSync(path);
      withTier({ env: { ...process.env, KAON_CACHE: path } }, () => {
        const { tier, note } = outcome();
        assert.equal(tier, reached);
        if (canCompile) assert.match(note!, why);
      });
      assert.deepEqual(readdirSync(path), before);
    }
  });
});

/** A compiler that counts how often it compiles. */
function counting(work: (settings: NativeSettings, compiled: () => number) => void): void {
  withCompiler('echo >>"$0.count"; exec cc "$@"', ({ env }, folder) => {
    const count = join(folder, 'compiler.count');
    const compiled = (): number => (existsSync(count) ? readFileSync(count, 'utf8').length : 0);
    work({ env: { ...env, KAON_CACHE: join(folder, 'cache') } }, compiled);
  });
}

const settle = (settings: NativeSettings): void => {
  withTier(settings, () => assert.equal(outcome().tier, reached));
};

test(`what is in the cache is compiled once (${reached}); what was cut short or altered, again`, () => {
  counting((settings, compiled) => {
    const times = canCompile ? 1 : 0;
    const cache = settings.env!['KAON_CACHE']!;
    settle(settings);
    settle(settings);
    assert.equal(compiled(), times);
    const files = (ending: string): string[] =>
      (existsSync(cache) ? readdirSync(cache) : [])
        .filter((name) => name.endsWith(ending))
        .map((name) => join(cache, name));
    // A file that is mapped into this process must not be cut short itself.
    const replace = (file: string, content: string | Uint8Array): void => {
      rmSync(file);
      writeFileSync(file, content);
    };
    const damages: readonly (() => void)[] = [
      () => files('.so').forEach((file) => replace(file, readFileSync(file).subarray(0, 5000))),
      () => files('.so').forEach((file) => replace(file, 'something else')),
      () => files('.json').forEach((file) => writeFileSync(file, '{"lib')),
      () => files('.json').forEach((file) => writeFileSync(file, '{"library":"../../evil"}')),
      () =>
        files('.json').forEach((file) => writeFileSync(file, `{"library":"${'0'.repeat(64)}"}`)),
    ];
    damages.forEach((damage, k) => {
      damage();
      settle(settings);
      assert.equal(compiled(), times * (k + 2), `damage ${k}`);
      settle(settings);
      assert.equal(compiled(), times * (k + 2), `after damage ${k}`);
    });
    assert.equal(files('.so').length, times);
    assert.equal(files('.json').length, times);
  });
});
