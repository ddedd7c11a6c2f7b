import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type CFiles, toC } from '../../src/artifact/index.js';
import { bindShapes } from '../../src/ir/bind.js';
import { namedInputs } from '../../src/ir/program.js';
import * as kn from '../../src/index.js';
import { compilers } from '../codegen/c/compiler.js';
import { type Case, corpus } from './corpus.js';
import { bytesOf, stored } from './elements.js';

const strict = ['-std=c99', '-ffp-contract=off', '-Wall', '-Wextra', '-pedantic', '-Werror'];
const sanitized = ['-fsanitize=undefined,address', '-fno-sanitize-recover=all'];

/** How compilers are asked: to optimise, and to look for what C leaves undefined. */
const optimized = ['-O1'];
const searching = ['-O1', ...sanitized];

/** Small and of all kinds: compilers take a minute to look into all of the corpus. */
const searched: ReadonlySet<string> = new Set([
  'a network for any batch',
  'loops and branches',
  'positions, truth values and integers',
  'halves and doubles',
  'outputs that are inputs, constants, and one another',
]);

function waysOf(name: string, compiler: string): readonly (readonly string[])[] {
  if (process.env['KAON_LONG_TESTS'] === '1') return [['-O2'], optimized, searching];
  return [searched.has(name) && compiler === compilers.at(-1) ? searching : optimized];
}

/** Names of C that a header declares in a structure, in order. */
function fieldsOf(header: string, structure: string): readonly string[] {
  const [, body = ''] = new RegExp(`typedef struct \\{([^}]*)\\} model_${structure};`).exec(header) ?? []; // prettier-ignore
  return [...body.matchAll(/(\w+); \/\*/g)].map(([, name]) => name);
}

/** A program that runs a model on one feed after the other in one arena, and writes all outputs. */
function driver({ graph, feeds }: Case, { header }: CFiles, outputs: readonly number[][]): string {
  const [sizes, inputs, names] = ['sizes', 'inputs', 'outputs'].map((what) =>
    fieldsOf(header, what),
  );
  const declared = namedInputs(graph.program).slice(0, graph.inputNames.length);
  const runs = feeds.map((feed, run) => {
    const bound = bindShapes(
      declared.map(({ name, type }) => ({ name, declared: type.shape, actual: feed[name].shape as readonly number[] })),
    ); // prettier-ignore
    const args = [sizes.length > 0 ? '&sizes' : '', inputs.length > 0 ? '&inputs' : '', '&outputs'];
    return `  {
    ${sizes.length > 0 ? `const model_sizes sizes = { ${sizes.map((name) => bound.get(name)).join(', ')} };` : ''}
    const size_t bytes = model_arena_bytes(${sizes.length > 0 ? '&sizes' : ''});
    ${inputs.length > 0 ? `const model_inputs inputs = { ${graph.inputNames.map((name) => `take(${stored(feed[name]).data.byteLength})`).join(', ')} };` : ''}
    const model_outputs outputs = { ${outputs[run].map((length) => `room(${length})`).join(', ')} };
    if (bytes > arena_bytes) return 2;
    if (model_run(arena, bytes, ${args.filter((arg) => arg !== '').join(', ')}) != MODEL_OK) return 3;
${outputs[run].map((length, i) => `    fwrite(outputs.${names[i]}, 1, ${length}, stdout);`).join('\n')}
  }`;
  });
  return `#include "model.h"
#include <stdio.h>
#include <stdlib.h>
static void *blocks[1024];
static int count;
static void *room(size_t bytes) { return blocks[count++] = malloc(bytes + 8); }
static void *take(size_t bytes) {
  void *into = room(bytes);
  if (fread(into, 1, bytes, stdin) != bytes) exit(4);
  return into;
}
int main(void) {
  const size_t arena_bytes = 1 << 20;
  void *arena = malloc(arena_bytes);
  if (model_init(arena, arena_bytes) != MODEL_OK) return 1;
${runs.join('\n')}
  while (count > 0) free(blocks[--count]);
  free(arena);
  return 0;
}
`;
}

function inFolder<R>(files: Readonly<Record<string, string>>, use: (folder: string) => R): R {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-artifact-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function concatenated(parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(parts);
}

for (const [name, make] of Object.entries(corpus)) {
  for (const compiler of compilers) {
    test(`${name}: what ${compiler} makes of the C computes what the graph computes, bit by bit`, () => {
      kn.random.seed(5);
      const made = make();
      const files = toC(made.graph, { name: 'model', train: made.train ?? false });
      const expected = made.feeds.map((feed) =>
        Object.values(made.graph.run(feed)).map((array) => bytesOf(stored(array).data)),
      );
      const lengths = expected.map((outputs) => outputs.map(({ byteLength }) => byteLength));
      const input = concatenated(
        made.feeds.flatMap((feed) =>
          made.graph.inputNames.map((key) => bytesOf(stored(feed[key]).data)),
        ),
      );
      const sources = {
        'model.c': files.source,
        'model.h': files.header,
        'main.c': driver(made, files, lengths),
      };
      inFolder(sources, (folder) => {
        const paths = ['model.c', 'main.c'].map((file) => join(folder, file));
        const program = join(folder, 'program');
        for (const flags of waysOf(name, compiler)) {
          execFileSync(compiler, [...strict, ...flags, '-o', program, ...paths, '-lm'], {
            stdio: ['ignore', 'ignore', 'pipe'],
          });
          const output = execFileSync(program, { input });
          assert.equal(Buffer.compare(output, concatenated(expected.flat())), 0, flags.join(' '));
        }
      });
    });
  }
}

test('a check compiles and runs the C, and leaves the graph as it is', (context) => {
  if (compilers.length === 0) return context.skip('there is no C compiler here');
  for (const name of ['a network for any batch', 'a training step', 'halves and doubles']) {
    const { graph, feeds, train = false } = corpus[name]();
    const before = JSON.stringify(graph.toJSON());
    toC(graph, { name: 'model', train, check: feeds[0] });
    assert.equal(JSON.stringify(graph.toJSON()), before, name);
  }
});

test('a check without a compiler says so', () => {
  const { graph, feeds } = corpus['a network']();
  const { PATH, CC, KAON_CC } = process.env;
  process.env['PATH'] = '';
  delete process.env['CC'];
  delete process.env['KAON_CC'];
  try {
    assert.throws(() => toC(graph, { name: 'model', check: feeds[0] }), {
      name: 'UnsupportedError',
      message: /no compiler/,
    });
  } finally {
    Object.assign(process.env, { PATH }, CC === undefined ? {} : { CC }, KAON_CC === undefined ? {} : { KAON_CC }); // prettier-ignore
  }
});

test('sizes and arenas that do not fit are told', (context) => {
  const [compiler] = compilers;
  if (compiler === undefined) return context.skip('there is no C compiler here');
  const f = kn.hybridize((x: kn.NDArray) => x.slice([0, -2]).mul(2), { dynamic: [['n']] });
  const { source, header } = toC(f.graphFor(kn.ones([5])), { name: 'model' });
  const main = `#include "model.h"
#include <stdio.h>
#include <stdlib.h>
static int run(int32_t n, size_t bytes) {
  static float x[64], y[64];
  const model_sizes sizes = { n };
  const model_inputs inputs = { x };
  const model_outputs outputs = { y };
  void *arena = malloc(65536);
  const int status = model_init(arena, 65536) == MODEL_OK ? model_run(arena, bytes, &sizes, &inputs, &outputs) : -1;
  free(arena);
  return status;
}
int main(void) {
  printf("%d %d %d %d", run(5, 65536), run(-1, 65536), run(5, 1), run(INT32_MAX, 65536));
  return 0;
}
`;
  inFolder({ 'model.c': source, 'model.h': header, 'main.c': main }, (folder) => {
    const program = join(folder, 'program');
    const paths = ['model.c', 'main.c'].map((file) => join(folder, file));
    execFileSync(compiler, [...strict, ...sanitized, '-o', program, ...paths, '-lm']);
    assert.equal(execFileSync(program, { encoding: 'utf8' }), '0 2 1 2');
  });
});

test('names that are none in C, and graphs that cannot be C, are refused', () => {
  const f = kn.hybridize((x: kn.NDArray) => kn.booleanMask(x, x.greater(0)));
  const graph = f.graphFor(kn.ones([3]));
  for (const name of ['', '1st', 'a-b', 'x.y']) {
    assert.throws(() => toC(graph, { name }), { name: 'ArgumentError', op: 'toC' });
  }
  assert.throws(() => toC(graph, { name: 'model' }), { name: 'UnsupportedError', op: 'toC' });
});
