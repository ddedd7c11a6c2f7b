import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import {
  answerOfPage,
  findBrowser,
  isolation,
  type ServedFile,
  webgpuFlags,
} from '../support/browser.js';
import { command, type Installed, installPackage, node, write } from '../support/package.js';
import { checkout } from '../support/sources.js';
import { gpuForTests } from '../support/webgpu.js';

/* The program of docs/devices.md as a user has it: built by Vite for a browser, and run by Node and Deno. */

const page = readFileSync(join(checkout, 'docs/devices.md'), 'utf8');
const program = /## A program[\s\S]*?```ts\n([\s\S]*?)```/.exec(page)![1];

/** The same for other devices, and with elements that are read at once. */
const onCpu = program.replace(/await kn\.initDevice.*\n/, '').replace("'webgpu'", "'cpu'");
const inWorker = program
  .replace("initDevice('webgpu')", "initDevice('webgpu', { worker: true })")
  .replace('Number(await loss.data())', 'loss.item()');

/** Collects what a program in a browser prints, until its last step or its failure. */
const collecting = `const lines = [];
const send = globalThis.document === undefined ? (answer) => postMessage(answer) : (answer) =>
  fetch('/done', { method: 'POST', body: JSON.stringify(answer) });
const log = console.log;
console.log = (...values) => {
  log(...values);
  lines.push(values.join(' '));
  if (values[0] === 200) send({ lines });
};
addEventListener('error', ({ message }) => send({ lines, error: message }));
addEventListener('unhandledrejection', ({ reason }) => send({ lines, error: String(reason) }));
`;

const starter = `const worker = new Worker(new URL('./in-worker.js', import.meta.url), { type: 'module' });
const send = (answer) => fetch('/done', { method: 'POST', body: JSON.stringify(answer) });
worker.onmessage = ({ data }) => send(data);
worker.onerror = ({ message }) => send({ lines: [], error: message });
`;

const html = (script: string): string =>
  `<!doctype html><script type="module" src="./${script}"></script>`;

let installed: Installed;
before(() => {
  installed = installPackage('devices');
  write(installed, 'train.ts', program);
  const settings = '--ignoreConfig --strict --module NodeNext --target ES2022 --lib ES2023,DOM'.split(' '); // prettier-ignore
  node(installed.folder, join(checkout, 'node_modules/typescript/bin/tsc'), ...settings, '--types', '', 'train.ts'); // prettier-ignore
  write(installed, 'cpu.js', onCpu.replace('(x: kn.NDArray)', '(x)'));
  write(installed, 'collecting.js', collecting);
  write(installed, 'in-page.js', "import './collecting.js';\nimport './train.ts';\n");
  write(installed, 'worker.ts', inWorker);
  write(installed, 'in-worker.js', "import './collecting.js';\nimport './worker.ts';\n");
  write(installed, 'start-worker.js', starter);
  write(installed, 'page.html', html('in-page.js'));
  write(installed, 'worker.html', html('start-worker.js'));
});

/** Steps and losses that the program prints. */
function lossesOf(lines: readonly string[]): readonly (readonly [step: number, loss: number])[] {
  return lines.map((line) => {
    const [step, loss] = line.split(' ').map(Number);
    return [step, loss];
  });
}

/** Checks that a network has learned the sine, as it does on the CPU. */
function checkLosses(lines: readonly string[]): void {
  const found = lossesOf(lines);
  const expected = lossesOf(node(installed.folder, 'cpu.js').trim().split('\n'));
  assert.deepEqual(
    found.map(([step]) => step),
    [0, 50, 100, 150, 200],
  );
  found.forEach(([, loss], k) => {
    const right = expected[k][1];
    // Rounding errors of steps before add up.
    assert.ok(Math.abs(loss - right) <= (k === 0 ? 1e-5 : 2e-2) * right, `${loss}, not ${right}`);
  });
  assert.ok(found[4][1] < 0.05 * found[0][1]);
}

const browser = findBrowser();
const skip = browser === undefined && 'there is no browser here; KAON_BROWSER names one';

for (const [name, start, headers] of [
  ['a page', '/page.html', {}],
  ['a worker of a page, which reads elements at once,', '/worker.html', isolation],
] as const) {
  test(`${name} that Vite builds trains on WebGPU`, { skip, timeout: 300_000 }, async () => {
    const outDir = join(installed.folder, `built${start}`);
    await build({
      configFile: false,
      root: installed.folder,
      logLevel: 'error',
      worker: { format: 'es' },
      build: {
        outDir,
        target: 'es2022',
        rolldownOptions: { input: join(installed.folder, start) },
      },
    });
    const types: Readonly<Record<string, string>> = {
      '.html': 'text/html',
      '.js': 'text/javascript',
    };
    const files = new Map<string, ServedFile>();
    for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      files.set(file.slice(outDir.length), {
        type: types[extname(file)],
        body: readFileSync(file),
      });
    }
    const { lines, error } = await answerOfPage<{ lines: readonly string[]; error?: string }>(
      browser!,
      start,
      (path) => files.get(path),
      { flags: webgpuFlags, headers },
    );
    assert.equal(error, undefined);
    checkLosses(lines);
  });
}

const gpu = await gpuForTests();
const noGpu = typeof gpu === 'string' && gpu;
if (typeof gpu !== 'string') gpu.close();

test('the same program trains in Node', { skip: noGpu }, () => {
  checkLosses(node(installed.folder, 'train.js').trim().split('\n'));
});

/** Deno of this machine, or that of the checks on other platforms. */
const deno = [
  'deno',
  fileURLToPath(new URL(`file://${checkout}/platforms/node_modules/.bin/deno`)),
].find((name) => spawnSync(name, ['--version']).status === 0);
const noDeno = deno === undefined && 'there is no Deno here; npm ci --prefix platforms brings one';

test('the same file trains in Deno', { skip: noGpu || noDeno }, () => {
  const args = ['run', '--no-prompt', '--allow-read', 'train.ts'];
  checkLosses(
    command(installed.folder, deno!, ...args)
      .trim()
      .split('\n'),
  );
});
