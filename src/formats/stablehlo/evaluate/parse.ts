import type { DType } from '../../../base/dtype.js';
import { FormatError } from '../../../base/errors.js';
import { dtypeNamed } from '../language/types.js';

/** Type of a parsed value. Sizes that the text leaves open are null. */
export interface ParsedType {
  readonly dtype: DType;
  readonly shape: readonly (number | null)[];
}

/** An operation of a parsed module. */
export interface HloOperation {
  /** Without `stablehlo.`. */
  readonly name: string;
  readonly results: readonly string[];
  readonly operands: readonly string[];
  readonly operandTypes: readonly ParsedType[];
  readonly types: readonly ParsedType[];
  /** Attributes as text. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly regions: readonly HloBlock[];
}

/** A parsed block: its last operation returns. */
export interface HloBlock {
  readonly args: readonly { readonly name: string; readonly type: ParsedType }[];
  readonly operations: readonly HloOperation[];
}

/**
 * Parses a module in the form that `HloWriter` writes: one function, operations in the generic form.
 * @throws FormatError for other text.
 */
export function parseHlo(text: string): HloBlock {
  const reader = new Reader(text);
  reader.take('module {');
  reader.take('func.func public @main(');
  const args = reader.args(')');
  reader.take('-> (');
  reader.types(')');
  reader.take('{');
  const operations = reader.operations();
  reader.take('}');
  return { args, operations };
}

const openers = new Map([
  ['{', '}'],
  ['[', ']'],
  ['(', ')'],
  ['<', '>'],
]);

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #skip(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  /** True, and skipped, where the text goes on with a word. */
  has(word: string): boolean {
    this.#skip();
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  take(word: string): void {
    if (this.has(word)) return;
    throw new FormatError('this is not the StableHLO that toStableHlo writes', {
      op: 'toStableHlo',
      expected: JSON.stringify(word),
      actual: JSON.stringify(this.#text.slice(this.#at, this.#at + 40)),
    });
  }

  /** The text up to a delimiter, which is skipped; brackets and strings inside are whole. */
  #until(...ends: readonly string[]): string {
    const start = this.#at;
    const open: string[] = [];
    for (; ; this.#at++) {
      const next = this.#text[this.#at];
      if (next === undefined) this.take(ends[0]);
      if (next === '"') {
        this.#at = this.#text.indexOf('"', this.#at + 1);
      } else if (open.length === 0 && ends.includes(next)) {
        return this.#text.slice(start, this.#at).trim();
      } else if (this.#text.startsWith('->', this.#at)) {
        this.#at++;
      } else if (openers.has(next)) {
        open.push(openers.get(next)!);
      } else if (next === open[open.length - 1]) {
        open.pop();
      }
    }
  }

  /** Entries up to the end of a list, which is skipped. */
  #list(end: string): readonly string[] {
    const entries: string[] = [];
    while (!this.has(end)) {
      entries.push(this.#until(',', end));
      if (this.#text[this.#at] === ',') this.#at++;
    }
    return entries;
  }

  types(end: string): readonly ParsedType[] {
    return this.#list(end).map(parseType);
  }

  args(end: string): HloBlock['args'] {
    return this.#list(end).map((entry) => {
      const [name, type] = entry.split(': ');
      return { name, type: parseType(type) };
    });
  }

  operations(): readonly HloOperation[] {
    const operations: HloOperation[] = [];
    for (;;) {
      this.#skip();
      const next = this.#text[this.#at];
      if (next !== '%' && next !== '"') return operations;
      operations.push(this.#operation());
    }
  }

  #operation(): HloOperation {
    const bound = this.#text[this.#at] === '%' ? this.#until('=') : '';
    this.has('=');
    this.take('"');
    const name = this.#text.slice(this.#at, this.#text.indexOf('"', this.#at));
    this.#at += name.length + 1;
    this.take('(');
    const operands = this.#list(')');
    const regions: HloBlock[] = [];
    if (this.has('(')) {
      while (!this.has(')')) {
        this.has(',');
        regions.push(this.#region());
      }
    }
    const attributes = new Map<string, string>();
    if (this.has('{')) {
      for (const entry of this.#list('}')) {
        const [, key, value] = /^(\w+) = ([^]*)$/.exec(entry)!;
        attributes.set(key, value);
      }
    }
    this.take(': (');
    const operandTypes = this.types(')');
    this.take('->');
    this.#skip();
    const types = this.has('(') ? this.types(')') : [parseType(this.#line())];
    const [base, count] = bound.split(':');
    const results = count === undefined ? [base] : types.map((_, i) => `${base}#${i}`);
    return { name: name.replace('stablehlo.', ''), results, operands, operandTypes, types, attributes, regions }; // prettier-ignore
  }

  #region(): HloBlock {
    this.take('{');
    const args = this.has('^bb0(') ? this.args(')') : [];
    this.has(':');
    const operations = this.operations();
    this.take('}');
    return { args, operations };
  }

  #line(): string {
    const end = this.#text.indexOf('\n', this.#at);
    const line = this.#text.slice(this.#at, end);
    this.#at = end;
    return line;
  }
}

function parseType(text: string): ParsedType {
  const inside = /^tensor<(.*)>$/.exec(text.trim())?.[1].split('x') ?? [];
  const dtype = dtypeNamed(inside[inside.length - 1] ?? '');
  if (dtype === undefined) {
    throw new FormatError('this is no type of a tensor', { op: 'toStableHlo', actual: text });
  }
  return { dtype, shape: inside.slice(0, -1).map((size) => (size === '?' ? null : Number(size))) };
}
