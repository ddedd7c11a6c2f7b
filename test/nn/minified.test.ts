import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import * as kn from '../../src/index.js';

/** The library as an application ships it: in one file, with all names made short. */
async function minified(folder: string): Promise<typeof kn> {
  const outfile = join(folder, 'app.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/index.js', import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: ['koffi'],
    logLevel: 'error',
    outfile,
  });
  return (await import(pathToFileURL(outfile).href)) as typeof kn;
}

test('minified code keeps the names of errors, and the kind of an optimizer in checkpoints', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-minified-'));
  try {
    const small = await minified(folder);
    const kinds = Object.entries(kn).filter(
      ([, value]) => typeof value === 'function' && value.prototype instanceof kn.KaonError,
    );
    assert.ok(kinds.length >= 10, `${kinds.length} kinds of errors`);
    for (const [name] of kinds) {
      const Kind = small[name as 'ShapeError'];
      assert.equal(new Kind('a problem').name, name);
    }
    const training = (library: typeof kn, Kind: typeof kn.optim.Adam): kn.Checkpoint => {
      const net = new library.nn.Dense(2).initialize();
      net.call(library.ones([1, 3]));
      return { net, optimizer: new Kind(net.parameters(), { learningRate: 0.1 }) };
    };
    for (const name of ['Adam', 'AdamW', 'SGD', 'RMSProp', 'Adagrad', 'Lion'] as const) {
      const Kind = kn.optim[name] as typeof kn.optim.Adam;
      const Small = small.optim[name] as typeof kn.optim.Adam;
      const written = small.encodeCheckpoint(training(small, Small));
      kn.decodeCheckpoint(written, training(kn, Kind));
      class Own extends Kind {}
      const other = training(kn, Own as typeof kn.optim.Adam);
      assert.throws(() => kn.decodeCheckpoint(written, other), { name: 'FormatError' });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
