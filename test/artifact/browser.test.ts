import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { toModule } from '../../src/artifact/index.js';
import * as kn from '../../src/index.js';
import { browse, findBrowser } from '../support/browser.js';
import { command } from '../support/package.js';
import { checkout } from '../support/sources.js';
import { type Case, corpus, unbounded } from './corpus.js';
import { bytesOf, stored } from './elements.js';
import { type Done, type Sent, useLibrary, type Work } from './page.js';

const page =
  '<!doctype html><script type="module">import { main } from "/page.js"; main();</script>';

/** Serves the page, what it is to do, and files; `done` settles with its answer. */
async function serve(
  work: Work,
  files: ReadonlyMap<string, string>,
  folder: string,
): Promise<{ readonly server: Server; readonly url: string; readonly done: Promise<Done> }> {
  let settle: (done: Done) => void;
  const done = new Promise<Done>((resolve) => (settle = resolve));
  const server = createServer((request, response) => {
    const { url = '/' } = request;
    const answer = (type: string, body: string): void =>
      void response.writeHead(200, { 'content-type': type }).end(body);
    if (url === '/') answer('text/html', page);
    else if (url === '/work') answer('application/json', JSON.stringify(work));
    else if (url === '/done') {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        answer('text/plain', '');
        settle(JSON.parse(Buffer.concat(parts).toString()) as Done);
      });
    } else if (files.has(url)) answer('text/javascript', files.get(url)!);
    else if (/^\/kaon\/[\w./-]+\.js$/.test(url)) {
      answer('text/javascript', readFileSync(join(folder, url), 'utf8'));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}/`, done };
}

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
    const { server, url, done } = await serve(work, files, folder);
    try {
      const { models, library, error } = await browse(browser, url, join(folder, 'profile'), done);
      assert.equal(error, undefined);
      cases.forEach(({ expected }, i) => assert.deepEqual(models[i], expected, names[i]));
      assert.deepEqual(library, JSON.parse(JSON.stringify(await useLibrary(kn))));
      assert.deepEqual(library['eager'], [[8, -5], [-8, 23]]); // prettier-ignore
      assert.deepEqual(library['gradient'], [[2, 6], [4, -8]]); // prettier-ignore
    } finally {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
