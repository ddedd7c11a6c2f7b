import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as nodeFiles from 'node:fs';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeModules, type NodeModules } from '../../../src/base/node.js';
import { DiskCache } from '../../../src/runtime/native/cache.js';
import { cachePath } from '../../../src/runtime/native/folder.js';
import { inFolder } from './support.js';

const keyOf = (name: string): string => createHash('sha256').update(name).digest('hex');

function open(folder: string, most = 2 ** 20): DiskCache {
  return new DiskCache(nodeModules()!, { KAON_CACHE: folder }, most);
}

/** Puts a library with these bytes into the cache. */
function put(cache: DiskCache, content: string, ...names: string[]): void {
  const built = join(cache.buildFolder(), 'library.so');
  writeFileSync(built, content);
  cache.add(built, names.map(keyOf));
}

test('what was put into the cache is found again by every key, also by another process', () => {
  inFolder((folder) => {
    const path = join(folder, 'a', 'cache');
    const cache = open(path);
    assert.equal(cache.note, null);
    assert.equal(cache.find(keyOf('one')), null);
    put(cache, 'some code', 'one', 'two');
    for (const again of [cache, open(path)]) {
      for (const name of ['one', 'two']) {
        const { file, name: symbol } = again.find(keyOf(name))!;
        assert.equal(readFileSync(file, 'utf8'), 'some code');
        assert.equal(symbol, `kaon_${keyOf(name)}`);
      }
      assert.equal(again.find(keyOf('three')), null);
    }
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });
});

test('beyond its size the cache drops what was not used for the longest time', () => {
  inFolder((folder) => {
    const cache = open(folder, 4500);
    const old = (name: string, hours: number): void => {
      const { file } = cache.find(keyOf(name))!;
      const time = new Date(Date.now() - hours * 3_600_000);
      for (const path of [file, join(folder, `${keyOf(name)}.json`)]) utimesSync(path, time, time);
    };
    for (const [k, name] of ['a', 'b', 'c'].entries()) {
      put(cache, name.repeat(1200), name);
      old(name, 10 - k);
    }
    // Use makes young.
    cache.find(keyOf('a'));
    put(cache, 'd'.repeat(1200), 'd');
    const left = ['a', 'b', 'c', 'd'].filter((name) => open(folder).find(keyOf(name)) !== null);
    assert.deepEqual(left, ['a', 'c', 'd']);
    // The newest stays even where it is too large by itself.
    put(cache, 'e'.repeat(9000), 'e');
    assert.ok(readdirSync(folder).filter((name) => name.endsWith('.so')).length === 1);
  });
});

test("what is not the cache's own stays; what a process has left half-done goes after an hour", () => {
  inFolder((folder) => {
    const cache = open(folder, 10);
    const foreign = ['notes.so', 'package.json', 'build'].map((name) => join(folder, name));
    for (const file of foreign.slice(0, 2)) writeFileSync(file, 'x'.repeat(1000));
    mkdirSync(foreign[2]);
    const [fresh, abandoned] = [cache.buildFolder(), cache.buildFolder()];
    const part = join(folder, `${keyOf('x')}.json.00000000-0000-4000-8000-000000000000.part`);
    writeFileSync(part, '{');
    const longAgo = new Date(Date.now() - 7_200_000);
    for (const path of [...foreign, abandoned, part]) utimesSync(path, longAgo, longAgo);
    put(cache, 'code', 'one');
    for (const path of [...foreign, fresh]) assert.ok(existsSync(path), path);
    for (const path of [abandoned, part]) assert.ok(!existsSync(path), path);
  });
});

test('an entry that names a file elsewhere is dropped, and that file is left alone', () => {
  inFolder((folder) => {
    const cache = open(join(folder, 'cache'));
    const precious = join(folder, 'precious.so');
    writeFileSync(precious, 'mine');
    const entry = join(folder, 'cache', `${keyOf('one')}.json`);
    writeFileSync(entry, '{"library":"../precious"}');
    assert.equal(cache.find(keyOf('one')), null);
    assert.equal(readFileSync(precious, 'utf8'), 'mine');
    assert.equal(existsSync(entry), false);
  });
});

/** Node's modules, with other ways to write and to rename files. */
function withFiles(files: Partial<typeof nodeFiles>): NodeModules {
  return { ...nodeModules()!, files: { ...nodeFiles, ...files } };
}

test('what has a name in the cache is whole, at whatever moment its process is killed', () => {
  inFolder((folder) => {
    const seen: string[] = [];
    /** What another process would find. */
    const look = (): void => {
      for (const name of readdirSync(folder).filter((one) =>
        /^[0-9a-f]{64}\.(so|json)$/.test(one),
      )) {
        const text = readFileSync(join(folder, name), 'utf8');
        if (name.endsWith('.so')) assert.equal(`${keyOf(text)}.so`, name);
        else assert.ok(existsSync(join(folder, `${(JSON.parse(text) as { library: string }).library}.so`))); // prettier-ignore
        seen.push(name);
      }
    };
    const files = {
      writeFileSync: ((file: string, text: string, options: object) => {
        nodeFiles.writeFileSync(file, text.slice(0, 5), options);
        look();
        nodeFiles.writeFileSync(file, text);
        look();
      }) as typeof nodeFiles.writeFileSync,
      renameSync: ((from: string, to: string) => {
        look();
        nodeFiles.renameSync(from, to);
        look();
      }) as typeof nodeFiles.renameSync,
    };
    put(new DiskCache(withFiles(files), { KAON_CACHE: folder }, 2 ** 20), 'code', 'one', 'two');
    assert.equal(new Set(seen).size, 3);
  });
});

test('a name that finds no room leaves nothing of it', () => {
  inFolder((folder) => {
    const files = {
      writeFileSync: ((file: string, text: string, options: object) => {
        nodeFiles.writeFileSync(file, text.slice(0, 5), options);
        throw new Error('ENOSPC: no space left on device, write');
      }) as typeof nodeFiles.writeFileSync,
    };
    const cache = new DiskCache(withFiles(files), { KAON_CACHE: folder }, 2 ** 20);
    assert.throws(() => put(cache, 'code', 'one'), /no space left/);
    const left = readdirSync(folder).filter((name) => !name.startsWith('kaon-build-'));
    assert.deepEqual(left, [`${keyOf('code')}.so`]);
    assert.equal(cache.find(keyOf('one')), null);
  });
});

test('the cache is where the user wants it, or where such things are', () => {
  const node = nodeModules()!;
  assert.equal(cachePath(node, { KAON_CACHE: '/some/where' }), '/some/where');
  if (process.platform === 'darwin') {
    assert.match(cachePath(node, {}), /Library\/Caches\/kaon$/);
  } else {
    assert.equal(cachePath(node, { XDG_CACHE_HOME: '/caches' }), join('/caches', 'kaon'));
    assert.match(cachePath(node, {}), /\.cache.kaon$/);
  }
});
