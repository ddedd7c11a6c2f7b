import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { toModule } from '../../src/artifact/index.js';
import * as kn from '../../src/index.js';
import { answerOfPage, findBrowser, type ServedFile } from '../support/browser.js';
import { command } from '../support/package.js';
import { checkout } from '../support/sources.js';
import { type Case, corpus, unbounded } from './corpus.js';
import { bytesOf, stored } from './elements.js';
import { type Done, type Sent, useLibrary, type Work } from './page.js';

const page =
  '<!doctype html><script type="module">import { main } from "/page.js"; main();</script>';

const sent = (array: kn.NDArray): Sent => ({
  dtype: array.dtype,
  shape: array.shape as readonly number[],
  bytes: Array.from(bytesOf(stored(array).data)),
});

const names = [
  'a network for any batch',
  'an LSTM for any length',
  'a training step',
  'selections of selections',
  'loops whose bodies select',
  'a loop without a limit',
];

test(
  'a browser computes what Node computes: modules, and the package itself',
  { timeout: 300_000 },
  async (context) => {
    const browser = findBrowser();
    if (browser === undefined)
      return context.skip('there is no browser here; KAON_BROWSER names one');
    const all: Readonly<Record<string, () => Case>> = { ...corpus, ...unbounded };
    const cases = names.map((name) => {
      kn.random.seed(5);
      const { graph, feeds, train = false } = all[name]();
      const text = toModule(graph, { train });
      const expected = feeds.map((feed) =>
        Object.fromEntries(
          Object.entries(graph.run(feed)).map(([key, array]) => [key, sent(array)]),
        ),
      );
      return { text, feeds, expected };
    });
    const folder = mkdtempSync(join(tmpdir(), 'kaon-browser-'));
    command(checkout, process.execPath, 'scripts/bundle.mjs', join(folder, 'kaon'));
    const files = new Map(cases.map(({ text }, i) => [`/models/${i}.js`, text]));
    files.set('/page.js', readFileSync(fileURLToPath(new URL('page.js', import.meta.url)), 'utf8'));
    const work: Work = {
      models: cases.map(({ feeds }, i) => ({
        path: `/models/${i}.js`,
        feeds: feeds.map((feed) =>
          Object.fromEntries(Object.entries(feed).map(([key, array]) => [key, sent(array)])),
        ),
      })),
      library: '/kaon/index.js',
    };
    const fileAt = (path: string): ServedFile | undefined => {
      if (path === '/') return { type: 'text/html', body: page };
      if (path === '/work') return { type: 'application/json', body: JSON.stringify(work) };
      const type = 'text/javascript';
      if (files.has(path)) return { type, body: files.get(path)! };
      if (!/^\/kaon\/[\w./-]+\.js$/.test(path)) return undefined;
      return { type, body: readFileSync(join(folder, path)) };
    };
    try {
      const { models, library, error } = await answerOfPage<Done>(browser, '/', fileAt);
      assert.equal(error, undefined);
      cases.forEach(({ expected }, i) => assert.deepEqual(models[i], expected, names[i]));
      assert.deepEqual(library, JSON.parse(JSON.stringify(await useLibrary(kn))));
      assert.deepEqual(library['eager'], [[8, -5], [-8, 23]]); // prettier-ignore
      assert.deepEqual(library['gradient'], [[2, 6], [4, -8]]); // prettier-ignore
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
