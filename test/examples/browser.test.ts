import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { after, test } from 'node:test';
import { build } from 'vite';
import { projectFile } from '../../examples/support/paths.js';
import { browse, findBrowser } from '../support/browser.js';

const folder = mkdtempSync(join(tmpdir(), 'kaon-page-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.gz': 'application/gzip',
};

/** Texts of the page after its first epoch. */
interface Seen {
  readonly step: string;
  readonly loss: string;
  readonly speed: string;
  readonly memory: string;
  readonly accuracy: string;
  readonly samples: number;
  readonly message: string;
}

/** Uses the page in a frame, as a person would, and tells what is to be seen after the first epoch. */
const driver = `<!doctype html><iframe src="/index.html" width="900" height="900"></iframe>
<script type="module">
  const frame = document.querySelector('iframe');
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
  const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
  const tell = (seen) => fetch('/done', { method: 'POST', body: JSON.stringify(seen) });
  try {
    await loaded;
    const page = frame.contentDocument;
    const choose = (name, value) => (page.querySelector('[name=' + name + ']').value = value);
    const text = (id) => page.getElementById(id).textContent;
    const seen = [];
    for (const [subject, device, threads] of [['digits', 'cpu', 1], ['names', 'cpu', 2], ['digits', 'webgpu', 1]]) {
      choose('subject', subject);
      choose('device', device);
      choose('threads', threads);
      page.querySelector('[type=submit]').click();
      while (!text('accuracy').includes('%') && page.querySelector('.failed') === null) await pause();
      const texts = ['step', 'loss', 'speed', 'memory', 'accuracy', 'message'].map((id) => [id, text(id)]);
      seen.push({ ...Object.fromEntries(texts), samples: page.querySelectorAll('figure').length });
      page.getElementById('stop').click();
    }
    tell(seen);
  } catch ({ stack }) { tell({ stack }); }
</script>`;

async function serve(): Promise<{
  readonly url: string;
  readonly done: Promise<readonly Seen[]>;
  close(): void;
}> {
  let settle: (seen: readonly Seen[]) => void;
  const done = new Promise<readonly Seen[]>((resolve) => (settle = resolve));
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://page').pathname);
    const isolated = {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    };
    if (path === '/done') {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        response.end();
        settle(JSON.parse(Buffer.concat(parts).toString()) as readonly Seen[]);
      });
    } else if (path === '/drive') {
      response.writeHead(200, { 'content-type': 'text/html', ...isolated }).end(driver);
    } else if (path.startsWith('/index.html') || path.startsWith('/assets/')) {
      const type = types[extname(path)];
      response.writeHead(200, { 'content-type': type, ...isolated }).end(readFileSync(join(folder, path))); // prettier-ignore
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/drive`, done, close: () => server.close() };
}

test(
  'a page trains both networks and shows loss, samples, speed and memory; a missing device is told',
  { timeout: 300_000 },
  async (context) => {
    const browser = findBrowser();
    if (browser === undefined)
      return context.skip('there is no browser here; KAON_BROWSER names one');
    await build({
      configFile: projectFile('examples/browser/bundler.ts'),
      build: { outDir: folder },
      logLevel: 'error',
    });
    const { url, done, close } = await serve();
    try {
      const seen = await browse(browser, url, mkdtempSync(join(folder, 'profile-')), done);
      assert.equal(seen.length, 3, JSON.stringify(seen));
      const [digits, names, missing] = seen;
      for (const each of [digits, names]) {
        assert.equal(each.message, 'Training.');
        assert.ok(Number(each.step) >= 22, each.step);
        assert.ok(Number(each.loss) > 0 && Number(each.loss) < 2.4, each.loss);
        assert.match(each.speed, /^[1-9]\d* steps a second$/);
        assert.ok(Number.parseFloat(each.memory) > 0, each.memory);
        assert.equal(each.samples, 12);
      }
      assert.ok(Number.parseFloat(digits.accuracy) > 50, digits.accuracy);
      assert.ok(Number.parseFloat(names.accuracy) > 12, names.accuracy);
      assert.match(missing.message, /^DeviceError: .*WebGPU/i);
    } finally {
      close();
    }
  },
);
