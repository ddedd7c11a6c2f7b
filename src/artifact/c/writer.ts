import { type Dim, evaluateDim, mulDim, sizeOf, type Bounds } from '../../base/dim.js';
import { bytesOf } from '../../base/dtype.js';
import { moduleToC, c99 } from '../../codegen/c/index.js';
import { typeToString } from '../../ir/program.js';
import { mainName } from '../../passes/lower/main.js';
import type { Artifact, Port, Resident } from '../artifact.js';
import { type DimStyle, dimText } from '../dimtext.js';
import { Identifiers } from './names.js';
import { elementTypes, wordsText } from './words.js';

/** A C file and the header that declares what it offers. */
export interface CFiles {
  readonly source: string;
  readonly header: string;
}

/** An array with its name in C. */
interface Named<P extends Port> {
  readonly id: string;
  readonly port: P;
}

/** What the fields of structures are called, in order. */
export interface CFields {
  /** By field, the symbol whose size it is. */
  readonly sizes: ReadonlyMap<string, string>;
  readonly outputs: readonly string[];
}

/** An artifact as C99 that allocates nothing. Functions and types begin with `name`. */
export function artifactToC(
  artifact: Artifact,
  name: string,
): CFiles & { readonly fields: CFields } {
  const writer = new CWriter(artifact, name);
  return { source: writer.source(), header: writer.header(), fields: writer.fields() };
}

class CWriter {
  readonly #artifact: Artifact;
  readonly #name: string;
  readonly #macro: string;
  readonly #inputs: readonly Named<Artifact['inputs'][number]>[];
  readonly #outputs: readonly Named<Artifact['outputs'][number]>[];
  readonly #states: readonly Named<Resident>[];
  /** Names of sizes in C. */
  readonly #sizes: ReadonlyMap<string, string>;

  constructor(artifact: Artifact, name: string) {
    this.#artifact = artifact;
    this.#name = name;
    this.#macro = name.toUpperCase();
    const named = <P extends Port>(ports: readonly P[]): Named<P>[] => {
      const ids = new Identifiers();
      return ports.map((port) => ({ id: ids.of(port.name), port }));
    };
    this.#inputs = named(artifact.inputs);
    this.#outputs = named(artifact.outputs);
    this.#states = named(artifact.residents.filter(({ isState }) => isState));
    const ids = new Identifiers();
    this.#sizes = new Map([...artifact.symbols.keys()].map((symbol) => [symbol, ids.of(symbol)]));
  }

  fields(): CFields {
    return {
      sizes: new Map([...this.#sizes].map(([symbol, id]) => [id, symbol])),
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
 * of one another: as many runs at a time as there are arenas.
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
  ${macro}_BAD_SIZES = 2 /* the model does not work for these sizes */
};

${this.#structures()}
/* The bytes of an arena${this.#isSized ? ' for runs of these sizes; 0 for sizes that the model does not work for' : ''}. */
size_t ${name}_arena_bytes(${this.#parameters(['sizes']) || 'void'});

/* Writes the weights into an arena. Once, before the first run; again to start over. */
int ${name}_init(${this.#parameters(['arena'])});

/* Reads the inputs, writes the outputs. Arrays are row-major. */
int ${name}_run(${this.#parameters(['arena', 'sizes', 'inputs', 'outputs'])});
${this.#stateDeclarations()}
#ifdef __cplusplus
}
#endif

#endif
`;
  }

  source(): string {
    const name = this.#name;
    const { module } = this.#artifact;
    const { source, nameOf } = moduleToC(module, c99);
    const main = module.kernels.find((kernel) => kernel.name === mainName)!;
    return [
      `/* ${this.#summary()} */\n#include "${name}.h"`,
      source.trimEnd(),
      this.#weights(),
      this.#sizeFunctions(),
      this.#init(),
      this.#run(
        `${nameOf(main)}(${['memory', this.#artifact.layout.table.address, ...main.params.slice(1).map(() => '0')].join(', ')})`,
      ),
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
    const list = (ports: readonly Named<Port>[]): string =>
      ports.map(({ id, port }) => `${id} ${typeToString(port)}`).join(', ') || 'nothing';
    return `${this.#name}: from ${list(this.#inputs)} to ${list(this.#outputs)}. Made by Kaon.`;
  }

  #structures(): string {
    const name = this.#name;
    const range = ({ min, max }: Bounds): string =>
      max === Infinity ? `${min} or more` : `${min} to ${max}`;
    const structure = (what: string, comment: string, fields: readonly string[]): string =>
      fields.length === 0 ? '' : `/* ${comment} */\ntypedef struct {\n${fields.map((field) => `  ${field}\n`).join('')}} ${name}_${what};\n`; // prettier-ignore
    const arrays = (ports: readonly Named<Port>[], qualifier: string): readonly string[] =>
      ports.map(({ id, port }) => `${qualifier}${elementTypes[port.dtype]} *${id}; /* ${typeToString(port)} */`); // prettier-ignore
    return [
      structure('sizes', 'The sizes of a run.', [...this.#sizes].map(([symbol, id]) => `int32_t ${id}; /* ${range(this.#artifact.symbols.get(symbol)!)} */`)), // prettier-ignore
      structure('inputs', 'What a run reads.', arrays(this.#inputs, 'const ')),
      structure('outputs', 'Where a run writes.', arrays(this.#outputs, '')),
    ]
      .filter((text) => text !== '')
      .join('\n');
  }

  #stateDeclarations(): string {
    if (this.#states.length === 0) return '';
    const lines = this.#states.map(({ id, port }) => `${elementTypes[port.dtype]} *${this.#name}_state_${id}(void *arena); /* ${typeToString(port)} */`); // prettier-ignore
    return `\n/* The weights and other state of an arena, to be read and written between runs. */\n${lines.join('\n')}\n`;
  }

  #parameters(kinds: readonly ('arena' | 'sizes' | 'inputs' | 'outputs')[]): string {
    const name = this.#name;
    const texts = {
      arena: 'void *arena, size_t bytes',
      sizes: this.#isSized ? `const ${name}_sizes *sizes` : '',
      inputs: this.#inputs.length > 0 ? `const ${name}_inputs *inputs` : '',
      outputs: this.#outputs.length > 0 ? `const ${name}_outputs *outputs` : '',
    };
    return kinds.map((kind) => texts[kind]).filter((text) => text !== '').join(', '); // prettier-ignore
  }

  #weights(): string {
    const filled = this.#artifact.residents.filter(({ data }) => data.length > 0);
    return filled.map(({ data }, i) => wordsText(`resident_${i}`, data)).join('\n\n');
  }

  /** A size, computed in 64 bits: those of a run are checked to stay far below. */
  #dim(dim: Dim): string {
    return typeof dim === 'number' ? String(dim) : `(${dimText(dim, this.#style(''))})`;
  }

  #style(floating: 'd' | ''): DimStyle {
    const type = floating === 'd' ? 'double' : 'int64_t';
    return {
      constant: (value) => (floating === 'd' ? `${value}.0` : String(value)),
      symbol: (symbol) => `(${type})sizes->${this.#sizes.get(symbol)!}`,
      operation: (kind, a, b) => `size_${kind}${floating}(${a}, ${b})`,
    };
  }

  /** What checks sizes, and says how much memory they need. */
  #sizeFunctions(): string {
    const name = this.#name;
    const { layout, symbols, requirements } = this.#artifact;
    if (!this.#isSized) {
      return `size_t ${name}_arena_bytes(void) {\n  return ${evaluateDim(layout.bytes, new Map())};\n}`;
    }
    const ranges = [...this.#sizes].flatMap(([symbol, id]) => {
      const { min, max } = symbols.get(symbol)!;
      return [
        `  if (sizes->${id} < ${min}) return 0;`,
        ...(max === Infinity ? [] : [`  if (sizes->${id} > ${max}) return 0;`]),
      ];
    });
    const conditions = requirements.map(({ condition: { relation, dim } }) => {
      const value = dimText(dim, this.#style(''));
      return `  if (!(${value} ${relation === '=' ? '==' : '>='} 0)) return 0;`;
    });
    const total = dimText(layout.bytes, this.#style('d'));
    const entries = layout.table.entries.map((dim) => `    (int32_t)${this.#dim(dim)},`);
    const body = [
      `size_t ${name}_arena_bytes(const ${name}_sizes *sizes) {`,
      ...ranges,
      `  const double total = ${total};`,
      '  if (!(total <= INT32_MAX)) return 0;',
      ...conditions,
      '  return (size_t)total;',
      '}',
      '',
      `static void write_table(uint8_t *memory, const ${name}_sizes *sizes) {`,
      `  const int32_t table[] = {`,
      ...entries,
      '  };',
      `  memcpy(memory + ${layout.table.address}, table, sizeof table);`,
      '}',
    ].join('\n');
    const used = Object.entries(sizeOperations).filter(([helper]) => body.includes(`${helper}(`));
    return [...used.map(([, text]) => text), body].join('\n');
  }

  #init(): string {
    const name = this.#name;
    const { residents, layout } = this.#artifact;
    const filled = residents.filter(({ data }) => data.length > 0);
    const copies = filled.map(({ address }, i) => `  memcpy(memory + ${address}, resident_${i}, sizeof resident_${i});`); // prettier-ignore
    const least = this.#isSized ? this.#residentEnd() : evaluateDim(layout.bytes, new Map());
    const entries = layout.table.entries.map((entry) => `    ${String(entry)},`).join('\n');
    const table = this.#isSized
      ? []
      : [
          `  static const int32_t table[] = {\n${entries}\n  };`,
          `  memcpy(memory + ${layout.table.address}, table, sizeof table);`,
        ];
    const [declarations, tableCopy] = [table.slice(0, 1), table.slice(1)];
    return [
      `int ${name}_init(${this.#parameters(['arena'])}) {`,
      ...declarations,
      ...(copies.length + tableCopy.length === 0
        ? ['  (void)arena;']
        : ['  uint8_t *const memory = arena;']),
      `  if (bytes < ${least}u) return ${this.#macro}_SMALL_ARENA;`,
      ...tableCopy,
      ...copies,
      `  return ${this.#macro}_OK;`,
      '}',
    ].join('\n');
  }

  /** Behind the last of what is there from the beginning. */
  #residentEnd(): number {
    const { residents, layout } = this.#artifact;
    const table = layout.table.address + 4 * layout.table.entries.length;
    return Math.max(table, ...residents.map(({ address, data }) => address + data.byteLength));
  }

  #run(main: string): string {
    const macro = this.#macro;
    const sizes = this.#isSized ? 'sizes' : '';
    const copies = (
      ports: readonly Named<Port & { readonly address: Dim | null }>[],
      copy: (id: string, address: string, bytes: string) => string,
    ): readonly string[] =>
      ports.flatMap(({ id, port }) => {
        const bytes = mulDim(sizeOf(port.shape), bytesOf(port.dtype));
        if (port.address === null || bytes === 0) return [];
        const text = copy(id, this.#dim(port.address), `(size_t)${this.#dim(bytes)}`);
        return [typeof bytes === 'number' ? `  ${text}` : `  if (${this.#dim(bytes)} > 0) ${text}`];
      });
    const staged = copies(this.#inputs, (id, at, bytes) => `memcpy(memory + ${at}, inputs->${id}, ${bytes});`); // prettier-ignore
    const isUnread = this.#inputs.length > 0 && staged.length === 0;
    const returned = copies(this.#outputs, (id, at, bytes) => `memcpy(outputs->${id}, memory + ${at}, ${bytes});`); // prettier-ignore
    const isUnwritten = this.#outputs.length > 0 && returned.length === 0;
    const updated = this.#artifact.residents.flatMap(({ address, next, data }) =>
      next === null || data.length === 0
        ? []
        : [`  memcpy(memory + ${address}, memory + ${this.#dim(next)}, ${data.byteLength});`],
    );
    return [
      `int ${this.#name}_run(${this.#parameters(['arena', 'sizes', 'inputs', 'outputs'])}) {`,
      '  uint8_t *const memory = arena;',
      `  const size_t needed = ${this.#name}_arena_bytes(${sizes});`,
      ...(isUnread ? ['  (void)inputs;'] : []),
      ...(isUnwritten ? ['  (void)outputs;'] : []),
      ...(this.#isSized ? [`  if (needed == 0) return ${macro}_BAD_SIZES;`] : []),
      `  if (bytes < needed) return ${macro}_SMALL_ARENA;`,
      ...(this.#isSized ? ['  write_table(memory, sizes);'] : []),
      ...staged,
      `  ${main};`,
      ...updated,
      ...returned,
      `  return ${macro}_OK;`,
      '}',
    ].join('\n');
  }
}

/** The operations on sizes that C has no operator for, on whole numbers and on doubles. */
const sizeOperations: Readonly<Record<string, string>> = {
  size_floorDiv:
    'static int64_t size_floorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }',
  size_floorDivd: 'static double size_floorDivd(double a, double b) { return floor(a / b); }',
  size_mod: 'static int64_t size_mod(int64_t a, int64_t b) { return a - size_floorDiv(a, b) * b; }',
  size_modd: 'static double size_modd(double a, double b) { return a - floor(a / b) * b; }',
  size_max: 'static int64_t size_max(int64_t a, int64_t b) { return a > b ? a : b; }',
  size_maxd: 'static double size_maxd(double a, double b) { return a > b ? a : b; }',
  size_min: 'static int64_t size_min(int64_t a, int64_t b) { return a < b ? a : b; }',
  size_mind: 'static double size_mind(double a, double b) { return a < b ? a : b; }',
};
