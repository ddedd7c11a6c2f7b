import { type Bounds, type Dim, mulDim, elementCount } from '../../base/dim/index.js';
import { bytesOf } from '../../base/dtype.js';
import { c99, moduleToC } from '../../codegen/c/index.js';
import { typeToString } from '../../ir/program.js';
import type { Artifact, ArtifactPort, Resident } from '../artifact.js';
import { type DimStyle, dimText } from '../dim-text.js';
import { Unbounded } from '../driver/names.js';
import { CFunction, type CContext, driverHelpers, routineToC } from './driver.js';
import { Identifiers } from './names.js';
import { checksumOf, checksumText } from './weights.js';
import { elementTypes, wordsText } from './words.js';

/** A C file and the header that declares what it offers. */
export interface CText {
  readonly source: string;
  readonly header: string;
}

/** An array with its name in C. */
interface Named<P extends ArtifactPort> {
  readonly id: string;
  readonly port: P;
}

/** Names of the structures' fields, in order. */
export interface CFields {
  /** By field, the symbol whose size it is. */
  readonly sizes: ReadonlyMap<string, string>;
  /** The same for sizes that a run determines. */
  readonly found: ReadonlyMap<string, string>;
  readonly outputs: readonly string[];
}

/** An artifact as C99 that allocates nothing. */
export interface CRequest {
  readonly artifact: Artifact;
  /** Upper bound of the bytes that it needs. */
  readonly bytes: Dim;
  /** Prefix of functions and types. */
  readonly name: string;
  /** The weights, when they are not in the source. */
  readonly weights: Uint8Array | null;
}

export function artifactToC(request: CRequest): CText & { readonly fields: CFields } {
  const writer = new CWriter(request);
  return { source: writer.source(), header: writer.header(), fields: writer.fields() };
}

class CWriter {
  readonly #artifact: Artifact;
  readonly #bytes: Dim;
  readonly #name: string;
  readonly #macro: string;
  readonly #weights: Uint8Array | null;
  readonly #inputs: readonly Named<Artifact['inputs'][number]>[];
  readonly #outputs: readonly Named<Artifact['outputs'][number]>[];
  readonly #states: readonly Named<Resident>[];
  readonly #held: readonly Resident[];
  /** Names of sizes in C. */
  readonly #sizes: ReadonlyMap<string, string>;
  readonly #found: ReadonlyMap<string, string>;

  constructor({ artifact, bytes, name, weights }: CRequest) {
    this.#artifact = artifact;
    this.#bytes = bytes;
    this.#name = name;
    this.#macro = name.toUpperCase();
    this.#weights = weights;
    const named = <P extends ArtifactPort>(ports: readonly P[]): Named<P>[] => {
      const ids = new Identifiers();
      return ports.map((port) => ({ id: ids.of(port.name), port }));
    };
    this.#inputs = named(artifact.inputs);
    this.#outputs = named(artifact.outputs);
    this.#states = named(artifact.residents.filter(({ isState }) => isState));
    this.#held = artifact.residents.filter(({ data }) => data.length > 0);
    const fields = (symbols: Iterable<string>): ReadonlyMap<string, string> => {
      const ids = new Identifiers();
      return new Map([...symbols].map((symbol) => [symbol, ids.of(symbol)]));
    };
    this.#sizes = fields(artifact.symbols.keys());
    this.#found = fields(artifact.found.keys());
  }

  fields(): CFields {
    const byField = (fields: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
      new Map([...fields].map(([symbol, id]) => [id, symbol]));
    return {
      sizes: byField(this.#sizes),
      found: byField(this.#found),
      outputs: this.#outputs.map(({ id }) => id),
    };
  }

  header(): string {
    const [name, macro] = [this.#name, this.#macro];
    const guard = `${macro}_H`;
    return `/*
 * ${this.#summary()}
 *
 * Needs nothing but the C library and allocates nothing: all memory is one arena of the caller's, aligned
 * to 8 bytes, which ${name}_init fills with the weights and ${name}_run works in. Arenas are independent
 * of one another: as many runs at a time as there are arenas. With what a run reads and writes filled in:
 *
${this.#example()}
 */
#ifndef ${guard}
#define ${guard}

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
enum {
  ${macro}_OK = 0,
  ${macro}_SMALL_ARENA = 1, /* the arena is smaller than ${name}_arena_bytes says */
  ${macro}_BAD_SIZES = 2, /* the model does not work for these sizes */
  ${macro}_BAD_DATA = 3${this.#weights === null ? '' : ','} /* the data asks for sizes that the model does not work for */
${this.#weights === null ? '' : `  ${macro}_BAD_WEIGHTS = 4 /* these are not the weights of this model, or for another order of bytes */\n`}};

${this.#structures()}
/* The bytes of an arena${this.#isSized ? ' for runs of these sizes; 0 for sizes that the model does not work for' : ''}. */
size_t ${name}_arena_bytes(${this.#parameters(['sizes']) || 'void'});

${
  this.#weights === null
    ? `/* Writes the weights into an arena. Once, before the first run; again to start over. */`
    : `/* The bytes of the file with the weights. */
#define ${macro}_WEIGHTS_BYTES ${this.#weights.length}u

/*
 * Copies the weights into an arena. Once, before the first run; again to start over. \`weights\` points to
 * all of their file, at any alignment: read into memory that may be freed afterwards, or in flash.
 */`
}
int ${name}_init(${this.#parameters(['arena', 'weights'])});

/* Reads the inputs, writes the outputs. Arrays are row-major.${this.#found.size === 0 ? '' : ' There must be room for the most that they can be.'} */
int ${name}_run(${this.#parameters(runParameters)});
${this.#stateDeclarations()}
#ifdef __cplusplus
}
#endif

#endif
`;
  }

  source(): string {
    const name = this.#name;
    const { module, routines } = this.#artifact;
    const { source, nameOf } = moduleToC(module, c99);
    const around: CContext = {
      badData: `${this.#macro}_BAD_DATA`,
      call: (main, table) => {
        const kernel = module.kernels.find((each) => each.name === main)!;
        return `${nameOf(kernel)}(${['memory', table, ...kernel.params.slice(1).map(() => '0')].join(', ')})`;
      },
    };
    const functions = [
      this.#arenaFunction(),
      ...routines.map((routine) => routineToC(routine, around)),
      this.#init(),
      this.#run(new CFunction(around)),
    ];
    return [
      `/* ${this.#summary()} */\n#include "${name}.h"`,
      source.trimEnd(),
      this.#weights === null ? this.#weightWords() : checksumText,
      ...driverHelpers(functions.join('\n')),
      ...functions,
      ...this.#states.map(
        ({ id, port }) =>
          `${elementTypes[port.dtype]} *${name}_state_${id}(void *arena) {\n  return (void *)((uint8_t *)arena + ${port.address});\n}`,
      ),
    ]
      .filter((part) => part !== '')
      .join('\n\n')
      .concat('\n');
  }

  get #isSized(): boolean {
    return this.#sizes.size > 0;
  }

  #summary(): string {
    const list = (ports: readonly Named<ArtifactPort>[]): string =>
      ports.map(({ id, port }) => `${id} ${typeToString(port)}`).join(', ') || 'nothing';
    return `${this.#name}: from ${list(this.#inputs)} to ${list(this.#outputs)}. Made by Kaon.`;
  }

  /** Usage example of the model; a function body, as lines of the comment at the top of the header. */
  #example(): string {
    const [name, macro] = [this.#name, this.#macro];
    const isStored = this.#weights !== null;
    const passed = isStored ? ', weights, count' : '';
    const args = runParameters.slice(1).filter((kind) => this.#parameters([kind]) !== '');
    const file = [
      `FILE *file = fopen("${name}.weights", "rb");`,
      `void *weights = malloc(${macro}_WEIGHTS_BYTES);`,
      'size_t count;',
      'if (file == NULL || weights == NULL) return 1;',
      `count = fread(weights, 1, ${macro}_WEIGHTS_BYTES, file);`,
      'fclose(file);',
    ];
    const lines = [
      `const size_t bytes = ${name}_arena_bytes(${this.#isSized ? '&sizes' : ''});`,
      'void *arena = malloc(bytes);',
      ...(isStored ? file : []),
      `if (arena == NULL || ${name}_init(arena, bytes${passed}) != ${macro}_OK) return 1;`,
      ...(isStored ? ['free(weights);'] : []),
      `if (${name}_run(${['arena', 'bytes', ...args.map((kind) => `&${kind}`)].join(', ')}) != ${macro}_OK) return 1;`,
      'free(arena);',
    ];
    return lines.map((line) => ` *   ${line}`).join('\n');
  }

  #structures(): string {
    const name = this.#name;
    const range = ({ min, max }: Bounds): string =>
      max === Infinity ? `${min} or more` : `${min} to ${max}`;
    const structure = (what: string, comment: string, fields: readonly string[]): string =>
      fields.length === 0 ? '' : `/* ${comment} */\ntypedef struct {\n${fields.map((field) => `  ${field}\n`).join('')}} ${name}_${what};\n`; // prettier-ignore
    const arrays = (ports: readonly Named<ArtifactPort>[], qualifier: string): readonly string[] =>
      ports.map(({ id, port }) => `${qualifier}${elementTypes[port.dtype]} *${id}; /* ${typeToString(port)} */`); // prettier-ignore
    const most = (symbol: string): string => {
      const bound = this.#artifact.found.get(symbol)!;
      return bound instanceof Unbounded ? 'any number' : `at most ${String(bound)}`;
    };
    return [
      structure('sizes', 'The sizes of a run.', [...this.#sizes].map(([symbol, id]) => `int32_t ${id}; /* ${range(this.#artifact.symbols.get(symbol)!)} */`)), // prettier-ignore
      structure('inputs', 'What a run reads.', arrays(this.#inputs, 'const ')),
      structure('outputs', 'Where a run writes.', arrays(this.#outputs, '')),
      structure('found', 'The sizes that the data of a run has decided.', [...this.#found].map(([symbol, id]) => `int32_t ${id}; /* ${most(symbol)} */`)), // prettier-ignore
    ]
      .filter((text) => text !== '')
      .join('\n');
  }

  #stateDeclarations(): string {
    if (this.#states.length === 0) return '';
    const lines = this.#states.map(({ id, port }) => `${elementTypes[port.dtype]} *${this.#name}_state_${id}(void *arena); /* ${typeToString(port)} */`); // prettier-ignore
    return `\n/* The weights and other state of an arena, to be read and written between runs. */\n${lines.join('\n')}\n`;
  }

  #parameters(kinds: readonly Parameter[]): string {
    const name = this.#name;
    const texts = {
      arena: 'void *arena, size_t bytes',
      sizes: this.#isSized ? `const ${name}_sizes *sizes` : '',
      inputs: this.#inputs.length > 0 ? `const ${name}_inputs *inputs` : '',
      outputs: this.#outputs.length > 0 ? `const ${name}_outputs *outputs` : '',
      found: this.#found.size > 0 ? `${name}_found *found` : '',
      weights: this.#weights === null ? '' : 'const void *weights, size_t weights_bytes',
    };
    return kinds.map((kind) => texts[kind]).filter((text) => text !== '').join(', '); // prettier-ignore
  }

  #weightWords(): string {
    return this.#held.map(({ data }, i) => wordsText(`resident_${i}`, data)).join('\n\n');
  }

  /** Checks sizes, and computes the memory they need. */
  #arenaFunction(): string {
    const name = this.#name;
    if (!this.#isSized) {
      return `size_t ${name}_arena_bytes(void) {\n  return ${String(this.#bytes)};\n}`;
    }
    const ranges = [...this.#sizes].flatMap(([symbol, id]) => {
      const { min, max } = this.#artifact.symbols.get(symbol)!;
      return [
        `  if (sizes->${id} < ${min}) return 0;`,
        ...(max === Infinity ? [] : [`  if (sizes->${id} > ${max}) return 0;`]),
      ];
    });
    const conditions = this.#artifact.requirements.map(({ condition: { relation, dim } }) => {
      const value = dimText(dim, this.#fieldStyle(''));
      return `  if (!(${value} ${relation === '=' ? '==' : '>='} 0)) return 0;`;
    });
    return [
      `size_t ${name}_arena_bytes(const ${name}_sizes *sizes) {`,
      ...ranges,
      `  const double total = ${dimText(this.#bytes, this.#fieldStyle('d'))};`,
      '  if (!(total <= INT32_MAX)) return 0;',
      ...conditions,
      '  return (size_t)total;',
      '}',
    ].join('\n');
  }

  #fieldStyle(floating: 'd' | ''): DimStyle {
    const type = floating === 'd' ? 'double' : 'int64_t';
    return {
      constant: (value) => (floating === 'd' ? `${value}.0` : String(value)),
      symbol: (symbol) => `(${type})sizes->${this.#sizes.get(symbol)!}`,
      operation: (kind, a, b) => `size_${kind}${floating}(${a}, ${b})`,
    };
  }

  #init(): string {
    const macro = this.#macro;
    const weights = this.#weights;
    let offset = 0;
    const copies = this.#held.map(({ address, data }, i) => {
      const from = weights === null ? `resident_${i}, sizeof resident_${i}` : `(const uint8_t *)weights + ${offset}, ${data.byteLength}`; // prettier-ignore
      offset += data.byteLength;
      return `  memcpy(memory + ${address}, ${from});`;
    });
    const end = Math.max(0, ...this.#held.map(({ address, data }) => address + data.byteLength));
    return [
      `int ${this.#name}_init(${this.#parameters(['arena', 'weights'])}) {`,
      copies.length === 0 ? '  (void)arena;' : '  uint8_t *const memory = arena;',
      `  if (bytes < ${end}u${end === 0 ? ' + 1u' : ''}) return ${macro}_SMALL_ARENA;`,
      ...(weights === null
        ? []
        : [
            `  if (!is_little_endian() || weights_bytes != ${macro}_WEIGHTS_BYTES) return ${macro}_BAD_WEIGHTS;`,
            `  if (checksum(weights, weights_bytes) != 0x${checksumOf(weights).toString(16)}u) return ${macro}_BAD_WEIGHTS;`,
          ]),
      ...copies,
      `  return ${macro}_OK;`,
      '}',
    ].join('\n');
  }

  #run(scope: CFunction): string {
    const macro = this.#macro;
    const { symbols, body } = this.#artifact;
    const copies = (
      ports: readonly Named<ArtifactPort & { readonly address: Dim | null }>[],
      copy: (id: string, address: string, bytes: string) => string,
    ): readonly string[] =>
      ports.flatMap(({ id, port }) => {
        const bytes = mulDim(elementCount(port.shape), bytesOf(port.dtype));
        if (port.address === null || bytes === 0) return [];
        const text = copy(id, scope.dim(port.address), `(size_t)${scope.dim(bytes)}`);
        return [typeof bytes === 'number' ? text : `if (${scope.dim(bytes)} > 0) ${text}`];
      });
    const staged = copies(this.#inputs, (id, at, bytes) => `memcpy(memory + ${at}, inputs->${id}, ${bytes});`); // prettier-ignore
    const returned = copies(this.#outputs, (id, at, bytes) => `memcpy(outputs->${id}, memory + ${at}, ${bytes});`); // prettier-ignore
    const found = [...this.#found].map(([symbol, id]) => `found->${id} = (int32_t)${scope.id(symbol)};`); // prettier-ignore
    const work = [...staged, ...scope.lines(body), ...returned, ...found];
    const text = work.join('\n');
    const speaksOf = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
    const locals = [...symbols.keys()].flatMap(
      (symbol) =>
      speaksOf(scope.id(symbol)) ? [`const int64_t ${scope.id(symbol)} = sizes->${this.#sizes.get(symbol)!};`] : [], // prettier-ignore
    );
    const isUnused = (name: string, ports: readonly unknown[]): boolean =>
      ports.length > 0 && !speaksOf(name);
    const lines = [
      'uint8_t *const memory = arena;',
      `const size_t needed = ${this.#name}_arena_bytes(${this.#isSized ? 'sizes' : ''});`,
      ...locals,
      ...(isUnused('inputs', this.#inputs) ? ['(void)inputs;'] : []),
      ...(isUnused('outputs', this.#outputs) ? ['(void)outputs;'] : []),
      ...(this.#isSized ? [`if (needed == 0) return ${macro}_BAD_SIZES;`] : []),
      `if (bytes < needed) return ${macro}_SMALL_ARENA;`,
      ...work,
      `return ${macro}_OK;`,
    ];
    return [
      `int ${this.#name}_run(${this.#parameters(runParameters)}) {`,
      ...lines.map((line) => `  ${line}`),
      '}',
    ].join('\n');
  }
}

type Parameter = 'arena' | 'sizes' | 'inputs' | 'outputs' | 'found' | 'weights';

const runParameters: readonly Parameter[] = ['arena', 'sizes', 'inputs', 'outputs', 'found'];
