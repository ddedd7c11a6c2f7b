import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { build, createServer, type ViteDevServer } from 'vite';
import { digitsLesson } from '../../examples/browser/digits.js';
import { namesLesson } from '../../examples/browser/names.js';
import { projectFile } from '../../examples/support/paths.js';
import {
  answerOfPage,
  browse,
  findBrowser,
  isolation,
  posted,
  type ServedFile,
  webgpuFlags,
} from '../support/browser.js';
import { settings } from '../support/settings.js';

const folder = mkdtempSync(join(tmpdir(), 'kaon-page-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.gz': 'application/gzip',
};

/** Texts of the page when a run is stopped. */
interface Seen {
  readonly step: string;
  readonly loss: string;
  readonly speed: string;
  readonly memory: string;
  readonly accuracy: string;
  readonly samples: number;
  readonly message: string;
  /** Losses after some of the steps, by their number. */
  readonly losses: Readonly<Record<string, string>>;
}

/** Choices on the page, and the number of the step after which the run is stopped, or the first epoch. */
interface Run {
  readonly subject: 'digits' | 'names';
  readonly device: 'cpu' | 'webgpu';
  readonly threads: number;
  readonly until: number | 'epoch';
}

/** Uses the page in a frame, as a person would, and tells what is to be seen. */
const driverOf = (
  runs: readonly Run[],
): string => `<!doctype html><iframe src="/index.html" width="900" height="900"></iframe>
<script type="module">
  const frame = document.querySelector('iframe');
  const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  const tell = (seen) => fetch('/done', { method: 'POST', body: JSON.stringify(seen) });
  try {
    await loaded;
    const page = frame.contentDocument;
    const choose = (name, value) => (page.querySelector('[name=' + name + ']').value = value);
    const text = (id) => page.getElementById(id).textContent;
    const seen = [];
    for (const { subject, device, threads, until } of ${JSON.stringify(runs)}) {
      choose('subject', subject);
      choose('device', device);
      choose('threads', threads);
      page.querySelector('[type=submit]').click();
      const losses = {};
      const isReached = () => (until === 'epoch' ? text('accuracy').includes('%') : Number(text('step')) >= until);
      while (!isReached() && page.querySelector('.failed') === null) {
        await pause();
        if (Number(text('step')) > 0) losses[text('step')] = text('loss');
      }
      const texts = ['step', 'loss', 'speed', 'memory', 'accuracy', 'message'].map((id) => [id, text(id)]);
      seen.push({ ...Object.fromEntries(texts), losses, samples: page.querySelectorAll('figure').length });
      page.getElementById('stop').click();
    }
    tell(seen);
  } catch ({ stack }) { tell({ stack }); }
</script>`;

const configFile = projectFile('examples/browser/bundler.ts');

/** What is to be seen of runs, one after the other, on the page as `npm run page` serves it. */
async function seenServed(browser: string, runs: readonly Run[]): Promise<readonly Seen[]> {
  const { answer, receive } = posted<readonly Seen[]>();
  const driven = {
    name: 'driven',
    configureServer: ({ middlewares }: ViteDevServer): void => {
      middlewares.use('/drive', (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html', ...isolation }).end(driverOf(runs));
      });
      middlewares.use('/done', receive);
    },
  };
  const server = await createServer({
    configFile,
    plugins: [driven],
    cacheDir: join(folder, 'cache'),
    server: { host: '127.0.0.1', port: 0 },
    logLevel: 'error',
  });
  try {
    await server.listen();
    const [address] = server.resolvedUrls!.local;
    return await browse(browser, new URL('drive', address).href, answer);
  } finally {
    await server.close();
  }
}

/** What is to be seen of runs on the page as it is built, in a browser with such flags. */
function seenBuilt(
  browser: string,
  runs: readonly Run[],
  flags: readonly string[],
): Promise<readonly Seen[]> {
  const fileAt = (path: string): ServedFile | undefined => {
    if (path === '/drive') return { type: 'text/html', body: driverOf(runs) };
    if (path !== '/index.html' && !/^\/assets\/[\w.-]+$/.test(path)) return undefined;
    return { type: types[extname(path)], body: readFileSync(join(folder, 'built', path)) };
  };
  return answerOfPage(browser, '/drive', fileAt, { flags, headers: isolation });
}

/** Losses of the first steps as the CPU computes them here, by the number of steps done. */
async function lossesHere(subject: Run['subject'], steps: number): Promise<readonly number[]> {
  const file = new Blob([readFileSync(projectFile('examples/data/digits.csv.gz'))]);
  const lesson = subject === 'digits' ? await digitsLesson(file) : namesLesson();
  const losses = [NaN];
  for (const step of lesson.epoch()) {
    if (losses.length > steps) break;
    losses.push(Number(step().item()));
  }
  return losses;
}

const browser = findBrowser();
const skip = browser === undefined && 'there is no browser here; KAON_BROWSER names one';

before(async () => {
  if (browser === undefined) return;
  await build({ configFile, build: { outDir: join(folder, 'built') }, logLevel: 'error' });
});

function checkProgress({ message, loss, speed, memory }: Seen): void {
  assert.equal(message, 'Training.');
  assert.ok(Number(loss) > 0 && Number(loss) < 2.5, loss);
  assert.match(speed, /^\d+(\.\d+)? steps a second$/);
  assert.ok(Number.parseFloat(speed) > 0, speed);
  assert.ok(Number.parseFloat(memory) > 0, memory);
}

const timeout = 300_000;

test(
  'a page trains both networks and shows loss, samples, speed and memory; a missing device is told',
  { skip, timeout },
  async () => {
    const runs: readonly Run[] = [
      { subject: 'digits', device: 'cpu', threads: 1, until: 'epoch' },
      { subject: 'names', device: 'cpu', threads: 2, until: 'epoch' },
      { subject: 'digits', device: 'webgpu', threads: 1, until: 'epoch' },
    ];
    const [digits, names, missing] = await seenServed(browser!, runs);
    for (const seen of [digits, names]) {
      checkProgress(seen);
      assert.ok(Number(seen.step) >= 22, seen.step);
      assert.equal(seen.samples, 12);
    }
    assert.ok(Number.parseFloat(digits.accuracy) > 50, digits.accuracy);
    assert.ok(Number.parseFloat(names.accuracy) > 12, names.accuracy);
    assert.match(missing.message, /^DeviceError: .*WebGPU/i);
  },
);

/** Tests that take minutes, most of them in the driver's compiler, are for long tests. */
const subjects = settings.isLong ? (['digits', 'names'] as const) : (['digits'] as const);

for (const subject of subjects) {
  test(
    `a page trains ${subject} on WebGPU, with the losses of the CPU`,
    { skip, timeout },
    async () => {
      const until = 4;
      const [seen] = await seenBuilt(browser!, [{ subject, device: 'webgpu', threads: 1, until }], webgpuFlags); // prettier-ignore
      checkProgress(seen);
      const expected = await lossesHere(subject, Number(seen.step));
      const found = Object.entries(seen.losses);
      assert.ok(found.length > 0);
      for (const [step, loss] of found) {
        const right = expected[Number(step)];
        assert.ok(Math.abs(Number(loss) - right) < 2e-3 * right, `step ${step}: ${loss}, not ${right}`); // prettier-ignore
      }
    },
  );
}
