import type { Dim, DimOperation } from '../../base/dim/index.js';
import { type DimStyle, dimText } from '../dim-text.js';
import type { Loaded, Routine, Statement, Test } from '../driver/statements.js';
import { Identifiers } from './names.js';

/** Context of statements in their file. */
export interface CContext {
  /** Return value of a function for invalid data. */
  readonly badData: string;
  /** The call of a `main` on the table at an address. */
  call(main: string, table: string): string;
}

/** Prefix of the names of sizes and addresses in functions, which other names do not have. */
const prefix = 'v_';

/** One function of C: its names, and its statements as lines. */
export class CFunction {
  readonly #around: CContext;
  readonly #names: Identifiers = new Identifiers();
  readonly #known: Map<string, string> = new Map();

  constructor(around: CContext) {
    this.#around = around;
  }

  /** The C name of a name. */
  id(name: string): string {
    let id = this.#known.get(name);
    if (id === undefined) this.#known.set(name, (id = this.#names.of(prefix + name)));
    return id;
  }

  /** A value, computed in 64 bits: the sizes of a run are checked to stay far below. */
  dim(dim: Dim): string {
    const text = dimText(dim, this.#style);
    return typeof dim === 'number' || /^\w+$/.test(text) ? text : `(${text})`;
  }

  readonly #style: DimStyle = {
    constant: String,
    symbol: (name) => this.id(name),
    operation: (kind, a, b) => `size_${kind}(${a}, ${b})`,
  };

  lines(body: readonly Statement[]): readonly string[] {
    return body.flatMap((statement) => this.#statement(statement));
  }

  #inside(body: readonly Statement[]): readonly string[] {
    return this.lines(body).map((line) => `  ${line}`);
  }

  #statement(statement: Statement): readonly string[] {
    switch (statement.kind) {
      case 'set':
        return [`int64_t ${this.id(statement.name)} = ${this.dim(statement.value)};`];
      case 'assign':
        return [`${this.id(statement.name)} = ${this.dim(statement.value)};`];
      case 'load':
        return [
          `const int64_t ${this.id(statement.name)} = ${loaded(this.dim(statement.from), statement.dtype)};`,
        ];
      case 'store':
        return [
          `{ const int32_t value = (int32_t)${this.dim(statement.value)}; memcpy(memory + ${this.dim(statement.to)}, &value, sizeof value); }`,
        ];
      case 'require':
        return [`if (!(${this.#test(statement.test)})) return ${this.#around.badData};`];
      case 'reserve':
        return [];
      case 'run':
        return this.#run(statement.main, statement.table, statement.entries);
      case 'move':
        return this.#bytes('memmove', statement.to, statement.bytes, `memory + ${this.dim(statement.from)}`); // prettier-ignore
      case 'clear':
        return this.#bytes('memset', statement.to, statement.bytes, '0');
      case 'declare':
        return [`int64_t ${statement.names.map((name) => this.id(name)).join(', ')};`];
      case 'call': {
        const { routine, values, results } = statement;
        const args = ['memory', ...values.map((value) => this.dim(value)), 'returned'];
        return [
          '{',
          `  int64_t returned[${routine.returns.length}];`,
          `  const int status = ${routine.name}(${args.join(', ')});`,
          '  if (status != 0) return status;',
          ...results.flatMap((name, k) =>
            name === null ? [] : [`  ${this.id(name)} = returned[${k}];`],
          ),
          '}',
        ];
      }
      case 'repeat':
        return ['for (;;) {', ...this.#inside(statement.body), '}'];
      case 'leave':
        return [`if (${this.#test(statement.when)}) break;`];
      case 'choose': {
        const alternate = this.#inside(statement.alternate);
        return [
          `if (${this.#test(statement.when)}) {`,
          ...this.#inside(statement.consequent),
          ...(alternate.length === 0 ? [] : ['} else {', ...alternate]),
          '}',
        ];
      }
    }
  }

  #test({ dim, relation }: Test): string {
    return `${this.dim(dim)} ${relation === '=' ? '==' : '>='} 0`;
  }

  #run(main: string, table: Dim, entries: readonly Dim[]): readonly string[] {
    const at = this.dim(table);
    const call = `${this.#around.call(main, `(int32_t)${at}`)};`;
    if (entries.length === 0) return [call];
    const isStatic = entries.every((entry) => typeof entry === 'number');
    const values = entries.map((entry) => `    ${isStatic ? '' : '(int32_t)'}${this.dim(entry)},`);
    return [
      '{',
      `  ${isStatic ? 'static ' : ''}const int32_t table[] = {`,
      ...values,
      '  };',
      `  memcpy(memory + ${at}, table, sizeof table);`,
      '}',
      call,
    ];
  }

  /** A call on a range of memory, if it is not empty. */
  #bytes(name: string, to: Dim, bytes: Dim, from: string): readonly string[] {
    if (bytes === 0) return [];
    const call = `${name}(memory + ${this.dim(to)}, ${from}, (size_t)${this.dim(bytes)});`;
    return [typeof bytes === 'number' ? call : `if (${this.dim(bytes)} > 0) ${call}`];
  }
}

function loaded(from: string, dtype: Loaded): string {
  return dtype === 'bool' ? `memory[${from}]` : `load_${dtype}(memory + ${from})`;
}

/** A routine as a function that returns 0, or an error code. */
export function routineToC({ name, parameters, body, returns }: Routine, around: CContext): string {
  const scope = new CFunction(around);
  const params = parameters.map((parameter) => scope.id(parameter));
  const lines = [
    ...scope.lines(body),
    ...returns.map((value, k) => `returned[${k}] = ${scope.dim(value)};`),
    'return 0;',
  ];
  const all = lines.join('\n');
  const unused = params.filter((param) => !new RegExp(`\\b${param}\\b`).test(all));
  return [
    `static int ${name}(uint8_t *memory, ${params.map((param) => `int64_t ${param}`).join(', ')}, int64_t *returned) {`,
    ...(all.includes('memory') ? [] : ['  (void)memory;']),
    ...unused.map((param) => `  (void)${param};`),
    ...lines.map((line) => `  ${line}`),
    '}',
  ].join('\n');
}

const operations: Readonly<Record<DimOperation, string>> = {
  floorDiv: 'a / b - (a % b != 0 && (a < 0) != (b < 0))',
  mod: 'a - size_floorDiv(a, b) * b',
  max: 'a > b ? a : b',
  min: 'a < b ? a : b',
};

const realOperations: Readonly<Record<DimOperation, string>> = {
  floorDiv: 'floor(a / b)',
  mod: 'a - floor(a / b) * b',
  max: 'a > b ? a : b',
  min: 'a < b ? a : b',
};

/** The helper functions that a text calls on integers and on doubles, and those that read memory. */
export function driverHelpers(text: string): readonly string[] {
  const helpers: string[] = [];
  const needs = (name: string, found = text): boolean => found.includes(`${name}(`);
  for (const kind of ['floorDiv', 'mod', 'max', 'min'] as const) {
    const name = `size_${kind}`;
    if (needs(name) || (kind === 'floorDiv' && needs('size_mod'))) {
      helpers.push(`static int64_t ${name}(int64_t a, int64_t b) { return ${operations[kind]}; }`);
    }
    if (needs(`${name}d`)) {
      helpers.push(
        `static double ${name}d(double a, double b) { return ${realOperations[kind]}; }`,
      );
    }
  }
  for (const dtype of ['int32', 'int64'] as const) {
    if (!needs(`load_${dtype}`)) continue;
    helpers.push(
      `static int64_t load_${dtype}(const uint8_t *from) {\n  ${dtype}_t value;\n  memcpy(&value, from, sizeof value);\n  return value;\n}`,
    );
  }
  return helpers;
}
