import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { answerOfPage, findBrowser, type ServedFile, webgpuFlags } from '../support/browser.js';
import { checkout } from '../support/sources.js';
import { runtimes } from './installed.js';

/* A page on which onnxruntime-web runs parts of networks, as WebAssembly and on WebGPU, and Kaon runs them alone. */

const sources = fileURLToPath(new URL('../../src/', import.meta.url));
const { skip } = runtimes.find(({ name }) => name === 'onnxruntime-web')!;

const page = `import * as kn from ${JSON.stringify(`${sources}index.js`)};
import { registerOnnxruntime } from ${JSON.stringify(`${sources}onnxruntime.js`)};

class Net extends kn.nn.HybridBlock {
  conv = new kn.nn.Conv2d(4, 3, { padding: 1 });
  hidden = new kn.nn.Dense(16, { activation: 'relu' });
  norm = new kn.nn.LayerNorm();
  last = new kn.nn.Dense(4);

  forward(x) {
    const rows = this.conv.call(x).relu().reshape([2, -1]);
    return this.last.call(this.norm.call(this.hidden.call(rows)));
  }
}

const w = kn.full([4, 4], 0.2);
/** A loop whose body has a product, and what is no float in the middle. */
const scan = (x) => {
  const [rows] = kn.foreach(
    (row, state) => {
      const next = state.matmul(w).add(row).tanh();
      return [next, next];
    },
    x,
    kn.zeros([2, 4]),
  );
  return rows.mul(rows.greater(0).astype('int32').astype('float32')).matmul(w);
};

async function compared(backend) {
  kn.random.seed(1);
  const net = new Net().initialize();
  const cases = [[net, (x) => net.call(x), kn.random.normal([2, 3, 8, 8])], [null, scan, kn.random.normal([5, 2, 4])]];
  const found = [];
  for (const [block, run, x] of cases) {
    const expected = run(x);
    block?.hybridize({ backend });
    const captured = block === null ? kn.hybridize(run, { backend }) : block;
    const result = await (block === null ? captured(x) : block.call(x)).cpu();
    const { parts } = captured.explain().traces[0];
    found.push({
      actual: [...result.dataSync()],
      expected: [...expected.dataSync()],
      parts: parts.map((part) => [part.backend, part.runs, part.problem]),
    });
  }
  return found;
}

async function gpuFound() {
  if ((await navigator.gpu?.requestAdapter()) == null) return 'the browser has no adapter for WebGPU';
  registerOnnxruntime({
    name: 'onnxruntime-webgpu',
    runtime: await import('onnxruntime-web/webgpu'),
    session: { executionProviders: ['webgpu'] },
  });
  return compared('onnxruntime-webgpu');
}

const answer = (body) => fetch('/done', { method: 'POST', body: JSON.stringify(body) });
const all = async () => ({ wasm: await compared('onnxruntime'), gpu: await gpuFound() });
all().then(answer, (error) => answer({ error: String(error.stack) }));
`;

interface Case {
  readonly actual: readonly number[];
  readonly expected: readonly number[];
  readonly parts: readonly (readonly [backend: string, runs: number, problem: string | null])[];
}

interface Answer {
  readonly error?: string;
  readonly wasm: readonly Case[];
  /** Reason for having no results where it is a text. */
  readonly gpu: readonly Case[] | string;
}

const html = `<!doctype html><script type="importmap">${JSON.stringify({
  imports: {
    'onnxruntime-web': '/ort/ort.bundle.min.mjs',
    'onnxruntime-web/webgpu': '/ort/ort.webgpu.bundle.min.mjs',
  },
})}</script><script type="module" src="/page.js"></script>`;

/** A file of the page. */
function fileAt(path: string, script: string): ServedFile | undefined {
  if (path === '/') return { type: 'text/html', body: html };
  if (path === '/page.js') return { type: 'text/javascript', body: script };
  if (!path.startsWith('/ort/')) return undefined;
  const type = path.endsWith('.wasm') ? 'application/wasm' : 'text/javascript';
  const folder = join(checkout, 'parity/node_modules/onnxruntime-web/dist');
  return { type, body: readFileSync(join(folder, path.slice('/ort/'.length))) };
}

/** Sums of at most 256 products of numbers below 4 by two orders of additions, with what follows them. */
const tolerance = 1e-5;

function checkCases(backend: string, cases: readonly Case[]): void {
  for (const { actual, expected } of cases) {
    const scale = Math.max(1, ...expected.map(Math.abs));
    assert.equal(actual.length, expected.length);
    actual.forEach((each, i) =>
      assert.ok(Math.abs(each - expected[i]) <= tolerance * scale, `${each}, not ${expected[i]}`),
    );
  }
  // The loop runs there as a whole, too.
  for (const { parts } of cases) assert.deepEqual(parts, [[backend, 1, null]]);
}

const browser = findBrowser();
const reason = skip || (browser === undefined && 'there is no browser here; KAON_BROWSER names one'); // prettier-ignore

test('onnxruntime-web runs parts of networks in a browser', { skip: reason, timeout: 300_000 }, async (context) => {
  const { outputFiles } = await build({
    stdin: { contents: page, resolveDir: checkout },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    external: ['onnxruntime-web', 'onnxruntime-web/webgpu', 'node:*', '@babel/parser'],
    logLevel: 'error',
  });
  const { error, wasm, gpu } = await answerOfPage<Answer>(
      browser!,
      '/',
      (path) => fileAt(path, outputFiles[0].text),
      { flags: webgpuFlags },
    );
  assert.equal(error, undefined);
  checkCases('onnxruntime', wasm);
  await context.test('its WebGPU build, too', { skip: typeof gpu === 'string' && gpu }, () =>
    checkCases('onnxruntime-webgpu', gpu as readonly Case[]),
  );
}); // prettier-ignore
