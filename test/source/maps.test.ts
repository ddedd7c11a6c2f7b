import assert from 'node:assert/strict';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { test } from 'node:test';
import { transform } from '../../src/source/index.js';
import { parse } from '../../src/source/syntax/parse.js';
import { Places } from '../../src/source/emit/output.js';
import { ProgramWriter } from './random/host-programs.js';

/* Where things are: lines stay, and every name of the output maps back to where it was written. */

const typed = `import type { NDArray } from 'kaon';
// Nothing here changes.
const outside = (x: number): number => (x > 0 ? x : -x)
export class Model<T extends { a: number
  b: string }> {
  #weight: NDArray | null = null;
  constructor(readonly scale: number, private w: NDArray) { this.#weight = w }
  forward(x: NDArray, { limit = 3 }: { limit?: number } = {}): NDArray {
    'use graph' // how it decides
    let h: NDArray = x as NDArray, count = 0
    interface Local { a: number
      b: string }
    for (let i: number = 0; i < limit; i++) {
      /* a comment */ const next = h!.mul(this.#weight!) satisfies NDArray
      if (next.sum().greater(1) && i) break // out
      h = next
      count++
      const text = \`count \${count}
        and \${i ? 'more' : 'none'}\`
      const { a, b = a } = { a: text } as unknown as Local & { c: string
        d: number }
    }
    const f = <U,>(u: U): U => u && u
    return h ? f(h) : h
  }
}
export default outside(3)
`;

const elements = `export function View({ x, list }) {
  'use graph';
  return <div id={x ? 'a' : 'b'} {...list}>
    text {list.map((y) => y && <Item key={y.id}>{y.name || 'none'}</Item>)}
  </div>;
}
`;

/** The names in some code, with where they start; keys may have become strings. */
function namesOf(code: string, filename: string): readonly { name: string; start: number }[] {
  return parse(code, filename)
    .tokens.filter(({ isComment }) => !isComment)
    .map(({ start, end }) => ({ name: code.slice(start, end), start }))
    .map(({ name, start }) =>
      /^'[A-Za-z_]\w*'$/.test(name)
        ? { name: name.slice(1, -1), start: start + 1 }
        : { name, start },
    )
    .filter(({ name }) => /^[A-Za-z_#]\w*$/.test(name));
}

function check(code: string, filename: string, mayMove = false): void {
  const result = transform(code, { filename });
  assert.ok(result !== null);
  const map = new SourceMap(result.map as unknown as SourceMapPayload);
  const [before, after] = [new Places(code), new Places(result.code)];
  const lines = code.split('\n');
  const found = new Set<string>();
  for (const { name, start } of namesOf(result.code, filename)) {
    const { line, column } = after.of(start);
    const entry = map.findEntry(line, column);
    if (!('originalLine' in entry)) continue;
    const { originalLine, originalColumn, generatedLine, generatedColumn } = entry;
    // A name that the emitter has added lies behind the last place that maps.
    if (generatedLine !== line || generatedColumn !== column) continue;
    const text = lines[originalLine].slice(originalColumn);
    if (text.startsWith(name) && (mayMove || originalLine === line))
      found.add(`${originalLine}:${originalColumn}`);
    else if (!text.startsWith(name)) assert.match(name, /^(let|if|return|const|typeof)$/, text);
  }
  for (const { name, start } of namesOf(code, filename)) {
    if (/['"`]/.test(code[start - 1])) continue;
    const { line, column } = before.of(start);
    assert.ok(
      found.has(`${line}:${column}`),
      `${name} at ${before.text(start)} maps back, on its line`,
    );
  }
}

test('names of TypeScript map back, on the lines they were on', () => check(typed, 'model.ts'));
test('names of elements map back', () => check(elements, 'view.jsx', true)); // The text of elements keeps its lines.

test('names of random programs map back', () => {
  for (let seed = 1; seed <= 60; seed++) check(new ProgramWriter(seed).write(), 'program.js');
});

test('code that is not converted does not change', () => {
  const result = transform(typed, { filename: 'model.ts' })!;
  const start = typed.indexOf("    'use graph'");
  const end = typed.indexOf('}\nexport default');
  assert.equal(result.code.slice(0, start), typed.slice(0, start));
  const tail = typed.slice(end);
  assert.ok(result.code.includes(tail));
  assert.equal(result.code.slice(result.code.indexOf(tail) + tail.length), '\nimport * as $kn from "kaon/converted";\n'); // prettier-ignore
  assert.equal(transform("const x = 'use graph';", { filename: 'a.ts' }), null);
  assert.equal(transform('f();', { filename: 'a.ts' }), null);
});

test('what is converted parses, as what it was', () => {
  for (const [code, filename] of [
    [typed, 'model.ts'],
    [elements, 'view.jsx'],
  ] as const) {
    assert.doesNotThrow(() => parse(transform(code, { filename })!.code, filename));
  }
});

test('new names are none of the code', () => {
  const { code } = transform("function f($kn) { 'use graph'; return $kn ? 1 : 2 }", { filename: 'a.js' })!; // prettier-ignore
  assert.match(code, /import \* as \$kn\$ from/);
});

test('what cannot be read is refused with its line', () => {
  assert.throws(() => transform("function f() { 'use graph'; \n if ( }", { filename: 'a.ts' }), {
    code: 'KAON_FORMAT',
    source: 'a.ts:2:7',
  });
});
