import type { Json } from '../../base/attributes/attribute.js';
import {
  type Bounds,
  type Dim,
  type DimExpr,
  parseDim,
  substituteDim,
  symbol,
} from '../../base/dim/index.js';
import { isDType } from '../../base/dtype.js';
import { GraphError, KaonError, named } from '../../base/errors.js';
import { JsonReader } from '../../base/attributes/reader.js';
import {
  type Attributes,
  decodeAttributes,
  mapAttributeDims,
} from '../../base/attributes/schema.js';
import { symbolsOfTypes } from '../bind.js';
import { findDecided } from './decided.js';
import { fromBytes, fromWords } from './constants.js';
import type { Operator } from '../operator.js';
import { type CallNode, type DecidedSize, type Output, Program, type Value } from '../program.js';
import { type Requirement, requirementFromJSON } from '../requirement.js';
import { Tokens } from './tokens.js';
import type { ConstantData, TensorType } from '../types.js';
import { verifyAndRequire } from '../verify.js';

/** Finds the operators that text and files name. */
export type OperatorLookup = (name: string) => Operator | undefined;

/** Limit of nesting of regions and lists: a deeper program was not printed by `printProgram`. */
const deepest = 200;

/**
 * Parses the text of `printProgram`.
 *
 * @throws FormatError, naming the line, for ill-formed text; GraphError for an unknown operator or a program
 * that does not verify.
 */
export function parseProgram(text: string, lookup: OperatorLookup): Program {
  try {
    return readProgram(text, lookup);
  } catch (error) {
    throw named(error, reader);
  }
}

const reader = 'parseProgram';

function readProgram(text: string, lookup: OperatorLookup): Program {
  const tokens = new Tokens(text);
  tokens.expect('program');
  const program = new Block({ tokens, lookup, regions: new Map() }, 0).read();
  if (tokens.word !== '') throw tokens.error('the end of the text');
  verifyAndRequire(program);
  return program;
}

interface Context {
  readonly tokens: Tokens;
  readonly lookup: OperatorLookup;
  readonly regions: Map<number, Program>;
}

/** Parser of one program or region. */
class Block {
  readonly #context: Context;
  readonly #tokens: Tokens;
  readonly #depth: number;
  readonly #program: Program = new Program();
  /** By name, or by `%` and a number. */
  readonly #values: Map<string, Value> = new Map();
  readonly #symbols: Map<string, Dim> = new Map();
  readonly #ranges: Map<string, Bounds> = new Map();
  /** Cache of parsed dimensions: the extents of a program repeat. */
  readonly #dims: Map<string, Dim> = new Map();

  constructor(context: Context, depth: number) {
    this.#context = context;
    this.#tokens = context.tokens;
    this.#depth = depth;
    if (depth > deepest) throw this.#tokens.error(`regions at most ${deepest} deep`);
  }

  read(): Program {
    const tokens = this.#tokens;
    const outputs: Output[] = [];
    tokens.expect('{');
    while (!tokens.accept('}')) {
      if (tokens.accept('dim')) this.#dim();
      else if (tokens.accept('size')) this.#passedSize();
      else if (tokens.accept('input')) this.#input();
      else if (tokens.accept('require')) this.#program.require(this.#requirement());
      else if (tokens.accept('output')) {
        const name = tokens.name();
        tokens.expect('=');
        outputs.push({ name, value: this.#reference() });
      } else this.#statement();
    }
    this.#program.setOutputs(outputs);
    return this.#program;
  }

  #dim(): void {
    const min = this.#size();
    this.#tokens.expect('<=');
    if (!/^[A-Za-z_]/.test(this.#tokens.word)) throw this.#tokens.error('a dimension');
    const name = this.#tokens.next();
    const max = this.#tokens.accept('<=') ? this.#size() : Infinity;
    if (max < min) throw this.#tokens.error('a range of sizes');
    this.#ranges.set(name, { min, max });
    this.#symbols.set(name, symbol(name, { min, max }));
  }

  #passedSize(): void {
    if (!/^[A-Za-z_]/.test(this.#tokens.word)) throw this.#tokens.error('a dimension');
    this.#program.takeSize(this.#dimOf(this.#tokens.next()) as DimExpr);
  }

  #input(): void {
    const name = this.#tokens.name();
    this.#tokens.expect(':');
    this.#values.set(name, this.#program.variable(name, this.#type()));
  }

  #requirement(): Requirement {
    const tokens = this.#tokens;
    const dim = this.#dimUntil(() => tokens.word === '=' || tokens.word === '>');
    const is = tokens.accept('>') ? 'natural' : 'zero';
    tokens.expect('=');
    tokens.expect('0');
    const said = this.#json(0) as { readonly [key: string]: Json };
    const source = tokens.comment();
    const json = new JsonReader({ ...said, dim: String(dim), is }, 'requirement');
    const requirement = requirementFromJSON(json, (part) => this.#dimOf(part.string()));
    return source === undefined ? requirement : { ...requirement, source };
  }

  #statement(): void {
    const tokens = this.#tokens;
    const names: string[] = [];
    if (!tokens.accept('_')) {
      do names.push(`%${tokens.numbered('%')}`);
      while (tokens.accept(','));
    }
    tokens.expect('=');
    const name = tokens.name();
    const values =
      name === 'constant' && tokens.word !== '('
        ? [this.#program.constant(this.#constant())]
        : this.#call(name);
    if (values.length !== names.length)
      throw tokens.error(`${values.length} names for the results`);
    names.forEach((result, k) => {
      if (this.#values.has(result)) throw tokens.error(`${result} only once`);
      this.#values.set(result, values[k]);
    });
  }

  #constant(): ConstantData {
    const { dtype, shape } = this.#type();
    const sizes = shape.map((dim) => {
      if (typeof dim !== 'number') throw this.#tokens.error('a constant of static shape');
      return dim;
    });
    if (this.#tokens.word.startsWith('"')) return fromBytes(dtype, sizes, this.#tokens.string());
    const words = this.#list(
      '[',
      ']',
      () => (this.#tokens.accept('-') ? '-' : '') + this.#tokens.next(),
    );
    return fromWords(dtype, sizes, words);
  }

  #call(name: string): readonly Value[] {
    const op = this.#context.lookup(name);
    if (op === undefined)
      throw new GraphError(`there is no operator ${JSON.stringify(name)} here`, { op: reader });
    const operands = this.#list('(', ')', () => this.#reference());
    const json = this.#tokens.word === '{' ? this.#json(0) : {};
    const attributes = this.#attributes(op, json);
    const regions = this.#tokens.word === '[' ? this.#list('[', ']', () => this.#region()) : [];
    this.#tokens.expect(':');
    const types: TensorType[] = [];
    if (isDType(this.#tokens.word)) {
      do types.push(this.#type());
      while (this.#tokens.accept(','));
    }
    const decides = this.#tokens.accept('decides')
      ? this.#list('[', ']', () => this.#decided())
      : undefined;
    const source = this.#tokens.comment();
    const call = { op, attributes, regions, types, source };
    return this.#program.appendTyped(op, operands, attributes, types, {
      ...call,
      decides: decides ?? this.#undeclared(call, operands),
    });
  }

  /** Sizes decided by a call that states none: its results must be the first to speak of one. */
  #undeclared(
    call: Omit<CallNode, 'kind' | 'decides'>,
    operands: readonly Value[],
  ): readonly DecidedSize[] {
    const isKnown = (name: string): boolean => this.#program.knowsSize(name);
    if ([...symbolsOfTypes(call.types).keys()].every(isKnown)) return [];
    return findDecided(this.#program, call, operands);
  }

  #decided(): DecidedSize {
    const isEnd = (): boolean => [',', ']', '<='].includes(this.#tokens.word);
    const size = this.#dimUntil(isEnd);
    return { size, most: this.#tokens.accept('<=') ? this.#dimUntil(isEnd) : null };
  }

  #attributes(op: Operator, json: Json): Attributes {
    try {
      const attributes = decodeAttributes(op.attributes, json as Record<string, Json>);
      return mapAttributeDims(op.attributes, attributes, (dim) =>
        substituteDim(dim, this.#symbols),
      );
    } catch (error) {
      if (!(error instanceof KaonError)) throw error;
      throw this.#tokens.error(`attributes of ${op.name} (${error.problem})`);
    }
  }

  #region(): Program {
    const number = this.#tokens.numbered('@');
    const known = this.#context.regions.get(number);
    if (this.#tokens.word !== '{') {
      if (known === undefined) throw this.#tokens.error('the program of the region');
      return known;
    }
    const region = new Block(this.#context, this.#depth + 1).read();
    this.#context.regions.set(number, region);
    return region;
  }

  #reference(): Value {
    const tokens = this.#tokens;
    const name = tokens.word.startsWith('%') ? `%${tokens.numbered('%')}` : tokens.name();
    const value = this.#values.get(name);
    if (value === undefined) throw tokens.error(`a value that is known, not ${name},`);
    return value;
  }

  #type(): TensorType {
    const dtype = this.#tokens.next();
    if (!isDType(dtype)) throw this.#tokens.error(`a dtype, not ${dtype},`);
    return { dtype, shape: this.#list('[', ']', () => this.#extent()) };
  }

  #extent(): Dim {
    return this.#dimUntil(() => this.#tokens.word === ',' || this.#tokens.word === ']');
  }

  /** A dimension: everything up to an end that is not inside its own parentheses. */
  #dimUntil(isEnd: () => boolean): Dim {
    const words: string[] = [];
    for (let open = 0; open > 0 || !isEnd();) {
      const word = this.#tokens.next();
      if (word === '(') open++;
      if (word === ')') open--;
      words.push(word);
    }
    return this.#dimOf(words.join(' '));
  }

  #dimOf(text: string): Dim {
    let dim = this.#dims.get(text);
    if (dim === undefined) this.#dims.set(text, (dim = parseDim(text, this.#ranges)));
    return dim;
  }

  #json(depth: number): Json {
    const tokens = this.#tokens;
    if (depth > deepest) throw tokens.error(`lists at most ${deepest} deep`);
    const { word } = tokens;
    if (word === '[') return this.#list('[', ']', () => this.#json(depth + 1));
    if (word === '{') {
      const entries = this.#list('{', '}', (): [string, Json] => {
        const key = tokens.name();
        tokens.expect(':');
        return [key, this.#json(depth + 1)];
      });
      return Object.fromEntries(entries);
    }
    if (word.startsWith('"')) return tokens.string();
    if (tokens.accept('true')) return true;
    if (tokens.accept('false')) return false;
    if (tokens.accept('null')) return null;
    const sign = tokens.accept('-') ? -1 : 1;
    if (!/^\d/.test(tokens.word)) throw tokens.error('a value; sizes are quoted');
    return sign * Number(tokens.next());
  }

  #list<T>(open: string, close: string, entry: () => T): T[] {
    const entries: T[] = [];
    this.#tokens.expect(open);
    if (this.#tokens.accept(close)) return entries;
    do entries.push(entry());
    while (this.#tokens.accept(','));
    this.#tokens.expect(close);
    return entries;
  }

  #size(): number {
    if (!/^\d+$/.test(this.#tokens.word)) throw this.#tokens.error('a size');
    return Number(this.#tokens.next());
  }
}
