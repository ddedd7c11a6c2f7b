import { type CFiles, toC, type ToCOptions } from '../../src/artifact/index.js';
import { bindShapes } from '../../src/ir/bind.js';
import { namedInputs } from '../../src/ir/program.js';
import type { Case } from './corpus.js';
import { bytesOf, stored } from './elements.js';

/* Graphs as C, in one program that runs each of them on its feeds. */

/** Names of C that a header declares in a structure, in order. */
export function fieldsOf(header: string, structure: string): readonly string[] {
  const [, body = ''] = new RegExp(`typedef struct \\{([^}]*)\\} ${structure};`).exec(header) ?? [];
  return [...body.matchAll(/(\w+); \/\*/g)].map(([, name]) => name);
}

/** A graph as C, its feeds, and the bytes that each run writes: sizes found, then outputs. */
export interface Trial extends Case {
  readonly model: string;
  readonly files: CFiles;
  readonly found: readonly string[];
  /** By run; null where the run is refused. */
  readonly expected: readonly (readonly Uint8Array[] | null)[];
}

export interface TrialOptions extends Partial<ToCOptions> {
  /** Positions of feeds that the graph refuses. Default none. */
  readonly refused?: readonly number[];
}

/** Bytes that an output of a refused run has at most. */
const largestRefused = 4096;

export function trialOf(
  model: string,
  made: Case,
  { refused = [], ...options }: TrialOptions = {},
): Trial {
  const { graph, feeds, train = false } = made;
  const files = toC(graph, { name: model, train, ...options });
  const found = fieldsOf(files.header, `${model}_found`);
  const declared = graph.program.outputs.slice(0, graph.outputNames.length);
  const expected = feeds.map((feed, run) => {
    if (refused.includes(run)) return null;
    const results = Object.values(graph.run(feed));
    const sizes = bindShapes(
      declared.map(({ name, value: { type } }, k) => ({
        name,
        declared: type.shape,
        actual: results[k].shape as readonly number[],
      })),
      undefined,
      inputSizes(made, feed),
    );
    return [
      bytesOf(Int32Array.from(found, (name) => sizes.get(name)!)),
      ...results.map((array) => bytesOf(stored(array).data)),
    ];
  });
  return { ...made, model, files, found, expected };
}

function inputSizes({ graph }: Case, feed: Case['feeds'][number]): Map<string, number> {
  return bindShapes(
    namedInputs(graph.program)
      .slice(0, graph.inputNames.length)
      .map(({ name, type }) => ({
        name,
        declared: type.shape,
        actual: feed[name].shape as readonly number[],
      })),
  );
}

/** The C function `run_MODEL`: runs a model on one feed after the other, and writes all that it finds. */
export function runner(trial: Trial): string {
  const { graph, feeds, files, model, found, expected, train = false } = trial;
  const { header, weights } = files;
  const [sizes, inputs, outputs] = ['sizes', 'inputs', 'outputs'].map((what) =>
    fieldsOf(header, `${model}_${what}`),
  );
  const list = (values: readonly unknown[]): string => values.join(', ');
  const structure = (
    what: string,
    fields: readonly string[],
    values: readonly unknown[],
  ): string => (fields.length === 0 ? '' : `const ${model}_${what} ${what} = { ${list(values)} };`);
  const args = Object.entries({ sizes, inputs, outputs, found }).flatMap(([name, fields]) =>
    fields.length === 0 ? [] : [`&${name}`],
  );
  const init = `${model}_init(arena, bytes${weights === null ? '' : `, load("${model}.weights", ${weights.length}), ${weights.length}`})`;
  const runs = feeds.map((feed, run) => {
    const bound = inputSizes(trial, feed);
    const results = expected[run]?.slice(1);
    const bytes = results?.map(({ byteLength }) => byteLength) ?? outputs.map(() => largestRefused);
    return `  {
    ${structure('sizes', sizes, sizes.map((name) => bound.get(name)))}
    ${structure('inputs', inputs, graph.inputNames.map((name) => `take(${stored(feed[name]).data.byteLength})`))}
    ${structure('outputs', outputs, bytes.map((most) => `room(${most})`))}
    ${found.length === 0 ? '' : `${model}_found found;`}
    const size_t needed = ${model}_arena_bytes(${sizes.length > 0 ? '&sizes' : ''});
    int status;
    ${train ? 'if (needed > bytes) return 90;' : `bytes = needed; arena = room(bytes); if (${init} != 0) return 91;`}
    status = ${model}_run(${list(['arena', 'bytes', ...args])});
${results === undefined ? '    if (status == 0) return 94;' : `    if (status != 0) return status;
${found.map((name) => `    fwrite(&found.${name}, 1, 4, stdout);`).join('\n')}
${bytes.map((all, k) => `    fwrite(outputs.${outputs[k]}, 1, ${all}, stdout);`).join('\n')}`}
  }`;
  }); // prettier-ignore
  return `#include "${model}.h"
#include "driver.h"
int run_${model}(void);
int run_${model}(void) {
  size_t bytes = ${train ? '1 << 20' : '0'};
  void *arena = room(bytes);
  ${train ? `if (${init} != 0) return 91;` : ''}
${runs.join('\n')}
  clear();
  return 0;
}
`;
}

export const driverHeader = `#include <stddef.h>
#include <stdio.h>
void *room(size_t bytes);
void *take(size_t bytes);
void *load(const char *path, size_t bytes);
void clear(void);
`;

/** The main program: runs all models, and ends with the status of the first that fails. */
export const driver = (names: readonly string[]): string => `#include "driver.h"
#include <stdlib.h>
static void *blocks[1024];
static int count;
void *room(size_t bytes) {
  /* Nothing behind it that could be read or written unnoticed, and never NULL. */
  return blocks[count++] = malloc(bytes > 0 ? bytes : 1);
}
void *take(size_t bytes) {
  void *into = room(bytes);
  if (fread(into, 1, bytes, stdin) != bytes) exit(92);
  return into;
}
void *load(const char *path, size_t bytes) {
  FILE *file = fopen(path, "rb");
  void *into = room(bytes);
  if (file == NULL || fread(into, 1, bytes, file) != bytes || fclose(file) != 0) exit(93);
  return into;
}
void clear(void) { while (count > 0) free(blocks[--count]); }
${names.map((name) => `int run_${name}(void);`).join('\n')}
int main(void) {
  int status = 0;
${names.map((name) => `  if (status == 0 && (status = run_${name}()) != 0) fprintf(stderr, "${name}: status %d\\n", status);`).join('\n')}
  return status;
}
`;
