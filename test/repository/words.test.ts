import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { sourceFiles } from '../support/sources.js';

/** First words of comments that describe a thing by a clause instead of naming it. */
const clauses = /^(?:What|Whether|Whom|Whose|Who|How|Those|Where|Which)\b/;

/** Folders whose comments are still to be rewritten. The list may only shrink. */
const unfinished: readonly string[] = [
  'src/artifact',
  'src/artifact/c',
  'src/artifact/driver',
  'src/artifact/module',
  'src/codegen/wasm',
  'src/codegen/wasm/encoding',
  'src/codegen/wasm/select',
  'src/formats/onnx/rules',
  'src/front/arrays',
  'src/front/caches',
  'src/front/core',
  'src/front/dispatch',
  'src/front/tracing',
  'src/kernels/cpu/attention',
  'src/kernels/cpu/convolution',
  'src/kernels/cpu/gemm',
  'src/kernels/cpu/product',
  'src/kernels/cpu/windowed',
  'src/loop/analysis',
  'src/loop/interpret',
  'src/loop/language',
  'src/loop/optimize',
  'src/loop/simplify',
  'src/ops/contraction',
  'src/passes/fuse',
  'src/passes/host',
  'src/passes/loops',
  'src/passes/lower/groups',
  'src/passes/lower/main',
  'src/passes/lower/nests',
  'src/passes/lower/reductions',
  'src/runtime/compile',
  'src/runtime/dynamic',
  'src/runtime/execution',
  'src/runtime/memory',
  'src/runtime/native',
  'src/runtime/native/trial',
  'src/runtime/threads',
];

/** Doc comments of a text, without the decoration of their lines. */
function docComments(text: string): readonly string[] {
  return [...text.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\//gm)].map(([, body]) =>
    body.replaceAll(/^\s*\*? ?/gm, '').trim(),
  );
}

const clausesIn = (path: string, text: string): readonly string[] =>
  docComments(text)
    .filter((comment) => clauses.test(comment))
    .map((comment) => `${path}: ${comment}`);

test('doc comments begin with a noun or a verb, not with a clause', () => {
  const wrong = sourceFiles('src')
    .filter(({ path }) => !unfinished.includes(dirname(path)))
    .flatMap(({ path, text }) => clausesIn(path, text));
  assert.deepEqual(wrong, []);
});

test('folders that are listed as unfinished are', () => {
  const files = sourceFiles('src');
  const finished = unfinished.filter((folder) =>
    files
      .filter(({ path }) => dirname(path) === folder)
      .every(({ path, text }) => clausesIn(path, text).length === 0),
  );
  assert.deepEqual(finished, [], 'remove these from the list');
});
