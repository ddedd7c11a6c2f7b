import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bodyOf, browse, findBrowser, isolation } from '../../support/browser.js';
import { corpus } from './corpus.js';
import type { Found } from './page.js';

/** Where this test was compiled to, from which pages load modules one by one. */
const compiled = fileURLToPath(new URL('../../../', import.meta.url));

/** The pages in order, with their headers. */
const pages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/isolated': isolation,
  '/shared': {},
  '/strict': { ...isolation, 'content-security-policy': "worker-src 'none'" },
};

/** A page that cannot be loaded says so, too. */
const html = `<!doctype html><script type="module">
  const lost = ({ stack }) =>
    fetch('/done' + location.pathname, { method: 'POST', body: JSON.stringify({ stack }) });
  import('/test/runtime/threads/page.js').then(({ main }) => main()).catch(lost);
</script>`;

/** Serves the pages one after the other; `done` settles with what all of them have found. */
async function serve(): Promise<{
  readonly server: Server;
  readonly url: string;
  readonly done: Promise<ReadonlyMap<string, Found>>;
}> {
  const paths = Object.keys(pages);
  const found = new Map<string, Found>();
  let settle: (found: ReadonlyMap<string, Found>) => void;
  const done = new Promise<ReadonlyMap<string, Found>>((resolve) => (settle = resolve));
  const server = createServer((request, response) => {
    const { url = '/' } = request;
    const answer = (type: string, body: string, headers = {}): void =>
      void response.writeHead(200, { 'content-type': type, ...headers }).end(body);
    if (Object.hasOwn(pages, url)) answer('text/html', html, pages[url]);
    else if (url.startsWith('/done/')) {
      void bodyOf(request).then((body) => {
        const path = url.slice('/done'.length);
        const one = JSON.parse(body) as Found;
        found.set(path, one);
        answer('text/plain', paths[paths.indexOf(path) + 1] ?? '');
        if (found.size === paths.length || one.stack !== undefined) settle(found);
      });
    } else if (/^\/(?:src|test)\/[\w/-]+\.js$/.test(url)) {
      // A thousand modules, once for all pages.
      answer('text/javascript', readFileSync(join(compiled, url), 'utf8'), {
        'cache-control': 'max-age=600',
      });
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}${paths[0]}`, done };
}

test(
  'pages: two threads where memory may be shared and workers started, one and the reason elsewhere',
  { timeout: 300_000 },
  async (context) => {
    const browser = findBrowser();
    if (browser === undefined)
      return context.skip('there is no browser here; KAON_BROWSER names one');
    const { server, url, done } = await serve();
    try {
      const found = await browse(browser, url, done);
      for (const [path, { wrong, stack }] of found) {
        assert.equal(stack, undefined, path);
        assert.deepEqual(wrong, [], path);
      }
      const [isolated, shared, strict] = [...found.values()];
      assert.deepEqual([isolated.isIsolated, isolated.threads, isolated.note], [true, 2, null]);
      assert.ok(isolated.joins >= corpus.length / 2, `${isolated.joins} jobs were shared`);
      assert.deepEqual([shared.isIsolated, shared.threads, shared.joins], [false, 1, 0]);
      assert.match(shared.note!, /^one thread: there is no SharedArrayBuffer here: a page needs/);
      assert.deepEqual([strict.isIsolated, strict.joins], [true, 0]);
      assert.match(strict.note!, /programs run on one thread/);
    } finally {
      server.close();
    }
  },
);
