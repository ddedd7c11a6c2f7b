import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as kn from '../../../src/index.js';
import type { Results } from '../compare.js';
import type { Run } from '../shipped.js';
import type { Way } from './way.js';

const strict = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror'];
const flags = ['-O1', '-ffp-contract=off'];

/** The C, compiled with all warnings as errors beside a program that calls it. */
export const compiledC: Way = {
  name: 'C',
  form: 'c',
  available: () => {
    const found = compiler();
    return Promise.resolve(
      found === null ? { missing: 'there is no C compiler as CC, cc, gcc or clang' } : found,
    );
  },
  execute: ({ runs }, folder) => {
    const header = readFileSync(join(folder, 'model.h'), 'utf8');
    writeFileSync(join(folder, 'main.c'), programText(header, runs));
    const options = { cwd: folder, maxBuffer: 2 ** 30 };
    const files = ['-o', 'main', 'model.c', 'main.c', '-lm'];
    const found = compiler();
    if (found === null) throw new Error('there is no C compiler');
    execFileSync(found.command, [...strict, ...flags, ...files], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const input = Buffer.concat(runs.flatMap(({ feeds }) => Object.values(feeds).map(bytesOf)));
    const written = execFileSync(join(folder, 'main'), { ...options, input, stdio: 'pipe' });
    return Promise.resolve(read(written, header, runs));
  },
};

interface Compiler {
  readonly command: string;
  readonly what: string;
}

function compiler(): Compiler | null {
  for (const command of [process.env['CC'], 'cc', 'gcc', 'clang']) {
    if (command === undefined) continue;
    const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
    if (status === 0) return { command, what: stdout.split('\n')[0] };
  }
  return null;
}

function bytesOf(array: kn.NDArray): Uint8Array {
  const { buffer, byteOffset, byteLength } = array.dataSync();
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** What a header declares in a structure, in order. */
interface Field {
  readonly name: string;
  /** What the header says of it, such as `float32[n, 3]`. */
  readonly comment: string;
}

function fieldsOf(header: string, structure: string): readonly Field[] {
  const pattern = new RegExp(`typedef struct \\{([^}]*)\\} model_${structure};`);
  const [, body = ''] = pattern.exec(header) ?? [];
  return [...body.matchAll(/(\w+); \/\* (.*?) \*\//g)].map(([, name, comment]) => ({ name, comment })); // prettier-ignore
}

/** A program that reads the inputs of all runs, and writes their outputs: standard input to standard output. */
function programText(header: string, runs: readonly Run[]): string {
  const [sizes, inputs, outputs, found] = ['sizes', 'inputs', 'outputs', 'found'].map((structure) =>
    fieldsOf(header, structure),
  );
  const isSized = sizes.length > 0;
  const calls = runs.map(({ feeds, expected }, run) => {
    const [given, wanted] = [feeds, expected].map((arrays) => Object.values(arrays).map(bytesOf));
    const args = [
      ...(isSized ? [`&sizes[${run}]`] : []),
      ...(inputs.length > 0 ? ['&inputs'] : []),
      ...(outputs.length > 0 ? ['&outputs'] : []),
      ...(found.length > 0 ? ['&found'] : []),
    ];
    // Where the data decides sizes there is room for anything that fits into the arena.
    const room = (bytes: number): string => (found.length > 0 ? 'room(bytes)' : `room(${bytes})`);
    return [
      '  {',
      ...declaration('inputs', inputs, given.map(({ length }) => `take(${length})`)),
      ...declaration('outputs', outputs, wanted.map(({ length }) => room(length))),
      ...(found.length > 0 ? ['    model_found found;'] : []),
      `    const int status = model_run(${['arena', 'bytes', ...args].join(', ')});`,
      '    if (status != MODEL_OK) return status;',
      ...outputs.map(({ name }, i) => `    fwrite(outputs.${name}, 1, ${wanted[i].length}, stdout);`),
      ...(found.length > 0 ? ['    fwrite(&found, sizeof found, 1, stdout);'] : []),
      '  }',
    ].join('\n'); // prettier-ignore
  });
  const needed = isSized
    ? [
        `  static const model_sizes sizes[] = { ${runs.map((run) => sizesText(sizes, run)).join(', ')} };`,
        `  for (size_t i = 0; i < ${runs.length}; i++) {`,
        '    const size_t each = model_arena_bytes(&sizes[i]);',
        '    if (each > bytes) bytes = each;',
        '  }',
      ]
    : ['  bytes = model_arena_bytes();'];
  return `#include "model.h"
#include <stdio.h>
#include <stdlib.h>

static void *room(size_t bytes) {
  void *memory = malloc(bytes + 1);
  if (memory == NULL) exit(10);
  return memory;
}

static void *take(size_t bytes) {
  void *memory = room(bytes);
  if (fread(memory, 1, bytes, stdin) != bytes) exit(11);
  return memory;
}

int main(void) {
  size_t bytes = 0;
${needed.join('\n')}
  void *arena = room(bytes);
  if (model_init(arena, bytes) != MODEL_OK) return 12;
${calls.join('\n')}
  return 0;
}
`;
}

function declaration(
  structure: string,
  fields: readonly Field[],
  values: readonly string[],
): readonly string[] {
  if (fields.length === 0) return [];
  const entries = fields.map(({ name }, i) => `.${name} = ${values[i]}`);
  return [`    const model_${structure} ${structure} = { ${entries.join(', ')} };`];
}

function sizesText(fields: readonly Field[], run: Run): string {
  const values = fields.map(({ name }) => {
    const size = run.sizes[name];
    if (size === undefined) throw new Error(`the model has a size ${name}, which no run says`);
    return size;
  });
  return `{ ${values.join(', ')} }`;
}

/** The outputs of all runs, as they lie one behind the other, each run's followed by the sizes that it has found. */
function read(written: Uint8Array, header: string, runs: readonly Run[]): readonly Results[] {
  let at = 0;
  const take = (bytes: number): Uint8Array<ArrayBuffer> => Uint8Array.from(written.subarray(at, (at += bytes))); // prettier-ignore
  const outputs = fieldsOf(header, 'outputs');
  const found = fieldsOf(header, 'found');
  return runs.map(({ expected }) => {
    const data = Object.values(expected).map((array) => {
      const elements = array.dataSync();
      new Uint8Array(elements.buffer).set(take(elements.byteLength));
      return elements;
    });
    const sizes = new Int32Array(take(4 * found.length).buffer);
    const sizeOf = new Map(found.map(({ name }, i) => [name, sizes[i]]));
    return Object.fromEntries(
      Object.entries(expected).map(([name, { dtype, shape }], i) => {
        const extents = /\[(.*)\]/.exec(outputs[i].comment)?.[1].split(', ') ?? [];
        // What the data decides is what the model says; all else follows from the sizes that it was given.
        const actual = shape.map((extent, axis) => sizeOf.get(extents[axis]) ?? extent);
        return [name, { dtype, shape: actual, data: data[i] }];
      }),
    );
  });
}
