import type { HostArray } from '../../base/dtype.js';
import { UnsupportedError } from '../../base/errors.js';
import { nodeModules } from '../../base/node.js';
import { compilerCommands } from '../../runtime/native/compiler.js';
import { joinedBytes } from '../bytes.js';
import type { CFiles } from './index.js';

/** One run of a model in a process of its own. */
export interface ModelRun {
  readonly files: CFiles;
  /** Prefix of functions and types. */
  readonly model: string;
  /** The sizes, in the order of their structure; empty without such a structure. */
  readonly sizes: readonly number[];
  readonly inputs: readonly HostArray[];
  /** The fields of the outputs, and their bytes. */
  readonly outputs: readonly { readonly id: string; readonly bytes: number }[];
  /** The fields of sizes that a run determines. */
  readonly found: readonly string[];
}

/**
 * Compiles a model and a program that runs it once; returns the sizes that it determined, as int32, and its
 * outputs, concatenated.
 * @throws UnsupportedError when nothing can be compiled.
 */
export function runTrial(op: string, trial: ModelRun): Uint8Array {
  const node = nodeModules();
  const [command] = node === null ? [] : compilerCommands(node, process.env);
  if (node === null || command === undefined) {
    throw new UnsupportedError('the C code cannot be checked here', {
      op,
      expected: 'Node, and a C compiler as cc, clang or gcc',
      actual: node === null ? 'no Node' : 'no compiler',
      advice: 'leave out check, or say where there is a compiler with CC',
    });
  }
  const { childProcess, files, path, system } = node;
  const folder = files.mkdtempSync(path.join(system.tmpdir(), 'kaon-check-'));
  const write = (name: string, text: string | Uint8Array): void =>
    files.writeFileSync(path.join(folder, name), text);
  try {
    write(`${trial.model}.c`, trial.files.source);
    write(`${trial.model}.h`, trial.files.header);
    write('trial.c', trialText(trial));
    if (trial.files.weights !== null) write('weights', trial.files.weights);
    const [compiler, ...args] = command;
    const flags = ['-std=c99', '-O1', '-ffp-contract=off', '-o', 'trial'];
    const sources = [`${trial.model}.c`, 'trial.c', '-lm'];
    childProcess.execFileSync(compiler, [...args, ...flags, ...sources], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const input = joinedBytes(trial.inputs);
    const run = path.join(folder, 'trial');
    return childProcess.execFileSync(run, { cwd: folder, input, maxBuffer: 2 ** 31 });
  } finally {
    files.rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the inputs from standard input, runs, and writes the results to standard output. */
function trialText({ files, model, sizes, inputs, outputs, found }: ModelRun): string {
  const structure = (kind: string, values: readonly (number | string)[]): string =>
    values.length === 0 ? '' : `  const ${model}_${kind} ${kind} = { ${values.join(', ')} };\n`;
  const given = { sizes, inputs, outputs, found };
  const args = (['sizes', 'inputs', 'outputs', 'found'] as const).flatMap((kind) =>
    given[kind].length === 0 ? [] : [`&${kind}`],
  );
  const weights = files.weights === null ? '' : ', weights, count';
  return `#include "${model}.h"
#include <stdio.h>
#include <stdlib.h>

static void *take(size_t bytes) {
  void *into = malloc(bytes + 1);
  if (into == NULL || fread(into, 1, bytes, stdin) != bytes) exit(1);
  return into;
}

int main(void) {
${structure('sizes', sizes)}${structure('inputs', inputs.map(({ byteLength }) => `take(${byteLength})`))}${structure('outputs', outputs.map(({ bytes }) => `malloc(${bytes} + 1)`))}${found.length === 0 ? '' : `  ${model}_found found;\n`}
  const size_t bytes = ${model}_arena_bytes(${sizes.length > 0 ? '&sizes' : ''});
  void *arena = malloc(bytes);
${files.weights === null ? '' : `  static unsigned char weights[${files.weights.length} + 1];
  FILE *file = fopen("weights", "rb");
  const size_t count = file == NULL ? 0 : fread(weights, 1, sizeof weights, file);
`}  if (arena == NULL || ${model}_init(arena, bytes${weights}) != 0) return 2;
  if (${model}_run(${['arena', 'bytes', ...args].join(', ')}) != 0) return 3;
${found.map((id) => `  fwrite(&found.${id}, 1, sizeof found.${id}, stdout);\n`).join('')}${outputs.map(({ id, bytes }) => `  fwrite(outputs.${id}, 1, ${bytes}, stdout);\n`).join('')}  return 0;
}
`; // prettier-ignore
}
