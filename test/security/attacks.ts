import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toC, toModule } from '../../src/artifact/index.js';
import { command } from '../../src/cli/command.js';
import type * as kn from '../../src/index.js';
import { compilers } from '../codegen/c/compiler.js';

/** Code that tells on itself, in whatever context it runs. */
const payload = 'globalThis.kaonAttacked=true';

/** Endings for names, each of which leaves the place where some target writes them. */
export const endings: readonly string[] = [
  `*/${payload};/*`,
  `\n${payload};//`,
  `\r${payload};//`,
  `\u2028${payload};//`,
  `"];${payload};["`,
  `'];${payload};['`,
  `\`;${payload};\``,
  `\${${payload}}`,
  `\\`,
  `\\"];${payload};//`,
  `"}) => any}*/${payload};/** @type {({ "`,
  '*/ int kaon_attacked = 1; /*',
  '"\n#error attacked\n',
  '??/\n#error attacked\n',
  '"]; attacked [label="',
  '\u001b]0;attacked\u0007\u001b[2J\u009b31m\u202e',
  '\0',
  '\ud800',
];

/** Names that mean something to some target. */
export const words: readonly string[] = [
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then', '', ' ', '0', '-1',
  'int', 'class', 'linux', 'unix', 'NULL', 'INT32_MAX', 'errno', 'M_PI', 'bool', 'template', 'size_t', 'int32_t',
  'memory', 'value', 'table', 'arena', 'bytes', 'sizes', 'inputs', 'outputs', 'returned', 'status', 'main',
  'memcpy', 'floor', 'data', 'shape', 'run', 'await', 'arguments', 'größe', '数', '😀', 'a b', 'a_b', 'a-b',
]; // prettier-ignore

/** All endings one after the other. */
export const everything: string = endings.join('x');

export interface Known {
  readonly feeds: readonly kn.NDArray[];
  readonly outputs: readonly (readonly number[])[];
}

interface Model {
  run(
    feeds: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, { data: ArrayLike<number> }>>;
}

const close = (found: ArrayLike<number>, expected: readonly number[]): void => {
  assert.equal(found.length, expected.length);
  expected.forEach((value, i) => assert.ok(Math.abs(found[i] - value) < 1e-5, `${found[i]} for ${value}`)); // prettier-ignore
};

const assertUntouched = (what: string): void => {
  assert.equal((globalThis as { kaonAttacked?: boolean }).kaonAttacked, undefined, what);
  assert.deepEqual(Object.keys(Object.prototype), [], what);
};

/** What may be shown: no character that moves a cursor or turns the order of text. */
const shown = /^[^\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]*$/u;

function assertShown(text: string): void {
  for (const line of text.split('\n')) assert.match(line, shown);
}

const feedsOf = (graph: kn.StaticGraph, { feeds }: Known): Record<string, kn.NDArray> =>
  Object.fromEntries(graph.inputNames.map((name, i) => [name, feeds[i]]));

let count = 0;

/** Runs a graph and the module that it becomes, and looks at all that is printed of it. */
export async function assertHarmless(graph: kn.StaticGraph, known: Known): Promise<void> {
  const feeds = feedsOf(graph, known);
  const results = graph.run(feeds);
  const outputOf = <T>(record: Readonly<Record<string, T>>, i: number): T => {
    assert.ok(Object.hasOwn(record, graph.outputNames[i]));
    return record[graph.outputNames[i]];
  };
  known.outputs.forEach((expected, i) =>
    close(outputOf(results, i).dataSync() as Float32Array, expected),
  );
  const text = toModule(graph, { train: true });
  const url = `data:text/javascript,${encodeURIComponent(`${text}\n//${count++}`)}`;
  const model = (await import(url)) as Model;
  const plain = Object.fromEntries(
    Object.entries(feeds).map(([name, array]) => [name, { data: array.dataSync(), shape: array.shape }]), // prettier-ignore
  );
  const made = model.run(plain);
  known.outputs.forEach((expected, i) => close(outputOf(made, i).data, expected));
  assertShown(graph.toString());
  const dot = graph.toDot();
  assertShown(dot);
  for (const line of dot.trimEnd().split('\n').slice(1, -1)) {
    assert.match(line, /^  \d+ (?:-> \d+|\[(?:"(?:[^"\\]|\\.)*"="(?:[^"\\]|\\.)*"(?:, )?)*\]);$/);
  }
  for (const args of [
    ['inspect', '-'],
    ['inspect', '-', '--text'],
    ['inspect', '-', '--plan'],
  ]) {
    let output = '';
    const bytes = new TextEncoder().encode(JSON.stringify(graph.toJSON()));
    await command(args, {
      out: (part) => void (output += part),
      error: (part) => void (output += part),
      read: () => Promise.resolve(bytes),
    });
    assertShown(output);
  }
  assertUntouched(text);
}

const strict = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-ffp-contract=off'];

/** Compiles the C of a graph without warnings, its header also as C++ where that is to be had, and runs it. */
export function assertHarmlessC(graph: kn.StaticGraph, known: Known): void {
  const { source, header } = toC(graph, { name: 'model', train: true });
  const [compiler] = compilers;
  if (compiler === undefined) return;
  // Runs on the feeds and compares; flags are those of the exporter.
  toC(graph, { name: 'model', train: true, check: feedsOf(graph, known) });
  const folder = mkdtempSync(join(tmpdir(), 'kaon-attacks-'));
  try {
    writeFileSync(join(folder, 'model.h'), header);
    writeFileSync(join(folder, 'model.c'), source);
    writeFileSync(join(folder, 'use.cpp'), '#include <cerrno>\n#include <cmath>\n#include <cstdio>\n#include "model.h"\n'); // prettier-ignore
    const calls = [
      [compiler, ...strict, '-fsyntax-only', 'model.c'],
      [compiler, '-std=gnu17', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', 'model.c'],
      ...(spawnSync('c++', ['--version']).status === 0
        ? [['c++', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', 'use.cpp']]
        : []),
    ];
    for (const [program, ...args] of calls) {
      const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 0, `${args.join(' ')}\n${stderr}\n${header}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
