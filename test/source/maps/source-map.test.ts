import assert from 'node:assert/strict';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { test } from 'node:test';
import { transformSync } from 'esbuild';
import * as fc from 'fast-check';
import { transform } from '../../../src/source/index.js';
import {
  decodeMappings,
  encodeMappings,
  type MapSegment,
} from '../../../src/source/maps/source-map.js';

const places = fc
  .uniqueArray(
    fc.record({
      column: fc.nat(1e6),
      source: fc.nat(9),
      line: fc.nat(1e6),
      sourceColumn: fc.nat(1e6),
    }),
    { maxLength: 5, selector: ({ column }) => column },
  )
  .map((line): readonly MapSegment[] =>
    line.map((each) => ({ ...each })).sort((a, b) => a.column - b.column),
  );

test('mappings that are read are those that were written, as Node reads them', () => {
  fc.assert(
    fc.property(fc.array(places, { minLength: 1, maxLength: 6 }), (lines) => {
      const mappings = encodeMappings(lines);
      assert.deepEqual(decodeMappings(mappings), lines);
      const sources = Array.from({ length: 10 }, (_, i) => `${i}.js`);
      const node = new SourceMap({ version: 3, sources, mappings } as unknown as SourceMapPayload);
      lines.forEach((segments, generated) => {
        const last = segments.at(-1);
        if (last === undefined) return;
        const entry = node.findEntry(generated, last.column);
        assert.ok('originalLine' in entry);
        assert.equal(entry.originalSource, `${last.source}.js`);
        assert.equal(entry.originalLine, last.line);
        assert.equal(entry.originalColumn, last.sourceColumn);
      });
    }),
    { seed: 7, numRuns: 100 },
  );
});

test('places without a source are left out', () => {
  // Column 4 of the output has none; column 9 is that of line 1, column 0.
  assert.deepEqual(decodeMappings('AAAA,I,KACA'), [
    [
      { column: 0, source: 0, line: 0, sourceColumn: 0 },
      { column: 9, source: 0, line: 1, sourceColumn: 0 },
    ],
  ]);
});

const typed = `interface Options {
  readonly limit: number;
}
type Given = { x: number };

export function count({ x }: Given, { limit }: Options): number {
  'use graph';
  let steps: number = 0;
  while (x < limit) {
    if (check(x)) break;
    steps++;
  }
  return steps;
}
`;

test('after another tool, the map and the places lead to what that one was given', () => {
  const { code, map } = transformSync(typed, { loader: 'ts', sourcemap: true, sourcefile: 'count.ts' }); // prettier-ignore
  // The types are gone with their lines.
  assert.ok(code.split('\n').length < typed.split('\n').length);
  const inputMap = JSON.parse(map) as SourceMapPayload;
  const result = transform(code, { filename: 'count.js', inputMap })!;
  assert.deepEqual(result.map.sources, ['count.ts']);
  assert.deepEqual(result.map.sourcesContent, [typed]);
  assert.match(result.code, /\.test\(check\(x\), '10:9'\)/);
  assert.match(result.code, /\.loop\('9:3'/);
  const traced = new SourceMap({ ...result.map, sourceRoot: '' } as unknown as SourceMapPayload);
  const lines = result.code.split('\n');
  let found = 0;
  for (const name of ['count', 'check', 'limit', 'steps', 'return']) {
    const wanted = typed.split('\n');
    lines.forEach((text, line) => {
      for (const { index } of text.matchAll(new RegExp(`\\b${name}\\b`, 'g'))) {
        const entry = traced.findEntry(line, index);
        if (!('originalLine' in entry) || entry.generatedColumn !== index) continue;
        const original = wanted[entry.originalLine].slice(entry.originalColumn);
        assert.ok(original.startsWith(name), `${line}:${index} ${name} is ${original}`);
        found++;
      }
    });
  }
  assert.ok(found > 10, `${found} names`);
});

test('the root of sources is part of their names', () => {
  const code = "function f() {\n  'use graph';\n  return f ? 1 : 2\n}";
  const inputMap = { sources: ['a.ts', null], sourceRoot: '/src', mappings: 'AAAA;AACA;AACA' };
  const { map } = transform(code, { filename: 'a.js', inputMap })!;
  assert.deepEqual(map.sources, ['/src/a.ts', '/src/']);
  assert.deepEqual(map.sourcesContent, [null, null]);
});
