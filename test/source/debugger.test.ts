import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Debugger, Session } from 'node:inspector';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import * as kn from '../../src/index.js';
import { transform } from '../../src/source/index.js';
import type { SourceMap as Map } from '../../src/source/maps/source-map.js';

/* A debugger that is told places of the original TypeScript, by source maps as editors apply them. */

const lines = [
  `interface Options { readonly limit: number }`,
  `export function main(a: kn.NDArray, { limit }: Options): kn.NDArray {`,
  `  'use graph';`,
  `  let x: kn.NDArray = a;`,
  `  for (let i = 0; i < limit; i++) {`,
  `    if (x.greater(1)) {`,
  `      x = x.mul(0.5); // halve`,
  `    }`,
  `  }`,
  `  const twice = (y: kn.NDArray): kn.NDArray => {`,
  `    return y.mul(2); // double`,
  `  };`,
  `  if (limit > 5) throw new RangeError('too many'); // refuse`,
  `  return twice(x);`,
  `}`,
];
const original = lines.join('\n');
const lineOf = (comment: string): number => lines.findIndex((line) => line.endsWith(`// ${comment}`)) + 1; // prettier-ignore

const folder = mkdtempSync(join(tmpdir(), 'kaon-debugger-'));
after(() => rmSync(folder, { recursive: true }));
Object.assign(globalThis, { kn });

/** Compiles the original, converts that, and writes a module with its map. */
function written(): { readonly file: string; readonly map: SourceMap } {
  const compiled = transformSync(original, {
    loader: 'ts',
    sourcemap: true,
    sourcefile: 'main.ts',
  });
  const inputMap = JSON.parse(compiled.map) as Map;
  const { code, map } = transform(compiled.code, { filename: 'main.js', inputMap })!;
  const file = join(folder, 'main.mjs');
  const runtime = new URL('../../src/front/converted/index.js', import.meta.url).href;
  const url = Buffer.from(JSON.stringify(map)).toString('base64');
  const body = code.replace('"kaon/converted"', JSON.stringify(runtime)).replace(/^\/\/# source.*$/m, ''); // prettier-ignore
  writeFileSync(file, `${body}\n//# sourceMappingURL=data:application/json;base64,${url}\n`);
  return { file, map: new SourceMap(map as unknown as SourceMapPayload) };
}

/** The places of the output at which a line of the original, from 1, begins. */
function startsOf(code: string, map: SourceMap, line: number): readonly Debugger.Location[] {
  const found: (Debugger.Location & { readonly from: number })[] = [];
  code.split('\n').forEach((text, lineNumber) => {
    for (let columnNumber = 0; columnNumber < text.length; columnNumber++) {
      const entry = map.findEntry(lineNumber, columnNumber);
      if (!('originalLine' in entry) || entry.originalLine !== line - 1) continue;
      if (entry.generatedLine !== lineNumber || entry.generatedColumn !== columnNumber) continue;
      found.push({ scriptId: '', lineNumber, columnNumber, from: entry.originalColumn });
    }
  });
  const first = Math.min(...found.map(({ from }) => from));
  return found.filter(({ from }) => from === first);
}

process.setSourceMapsEnabled(true);
after(() => process.setSourceMapsEnabled(false));

const { file, map } = written();
const url = pathToFileURL(file).href;
const { main } = (await import(url)) as { main: (a: kn.NDArray, o: { limit: number }) => kn.NDArray }; // prettier-ignore

/** The lines of the original at which a breakpoint stops while code runs. */
function stopsAt(line: number, run: () => unknown): number[] {
  const session = new Session();
  session.connect();
  const stops: number[] = [];
  const post = (method: string, given: object = {}): void => session.post(method, given, (error) => assert.equal(error, null)); // prettier-ignore
  session.on('Debugger.paused', ({ params }) => {
    const { lineNumber, columnNumber } = params.callFrames[0].location;
    const entry = map.findEntry(lineNumber, columnNumber ?? 0);
    stops.push('originalLine' in entry ? entry.originalLine + 1 : 0);
    post('Debugger.resume');
  });
  post('Debugger.enable');
  for (const { lineNumber, columnNumber } of startsOf(readFileSync(file, 'utf8'), map, line)) {
    post('Debugger.setBreakpointByUrl', { url, lineNumber, columnNumber });
  }
  try {
    run();
  } finally {
    session.disconnect();
  }
  return [...new Set(stops)];
}

test('a breakpoint of the original stops there, on eager arrays', () => {
  const run = (): unknown => main(kn.array(3), { limit: 2 }).item();
  assert.deepEqual(stopsAt(lineOf('halve'), run), [lineOf('halve')]);
  assert.deepEqual(stopsAt(lineOf('double'), run), [lineOf('double')]);
  assert.deepEqual(stopsAt(lineOf('refuse'), run), [lineOf('refuse')]);
});

test('a breakpoint of the original stops there while code is captured', () => {
  const run = (): unknown => kn.hybridize((a: kn.NDArray) => main(a, { limit: 2 }))(kn.array(3));
  assert.deepEqual(stopsAt(lineOf('halve'), run), [lineOf('halve')]);
  assert.deepEqual(stopsAt(lineOf('double'), run), [lineOf('double')]);
  assert.deepEqual(stopsAt(lineOf('refuse'), run), [lineOf('refuse')]);
});

test('the stack of an error names the line of the original, eager and captured', () => {
  for (const run of [main, kn.hybridize((a: kn.NDArray) => main(a, { limit: 6 }))]) {
    assert.throws(
      () => run(kn.array(3), { limit: 6 }),
      (error) => {
        assert.ok(error instanceof RangeError);
        assert.match(error.stack!, new RegExp(`main\\.ts:${lineOf('refuse')}:`));
        return true;
      },
    );
  }
});
