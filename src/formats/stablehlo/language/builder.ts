import { InternalError, UnsupportedError } from '../../../base/errors.js';
import { type Dim, isStatic, sameShape } from '../../../base/dim/index.js';
import { type HloOrigin, type HloType, type HloValue, typeText } from './types.js';

/** Public function named in errors. */
const stableHloOp = 'toStableHlo';

/** Attributes as text, by name. */
export type HloAttributes = Readonly<Record<string, string>>;

/** A region: a block with arguments, which returns values. */
export interface HloRegion {
  readonly lines: readonly string[];
}

/** Kinds of regions: an isolated one reads no values around it, and one of a loop is repeated. */
export type HloRegionKind = 'isolated' | 'once' | 'repeated';

/** A block being written. */
interface OpenBlock {
  readonly kind: HloRegionKind;
  /** Number of its first name: values with lower ones are defined around it. */
  readonly first: number;
  /** Operations as text. */
  readonly operations: { readonly lines: readonly string[]; readonly result: string | null }[];
  /** Results by the text of their operation, which is written once. */
  readonly known: Map<string, readonly HloValue[]>;
}

/**
 * Builds the text of operations in the generic form, in which every version of the tools reads them. Operations
 * without regions are written once for the same operands.
 */
export class HloBuilder {
  readonly #blocks: OpenBlock[] = [openBlock('isolated', 0)];
  #names = 0;
  #operator = 'graph';
  #source: string | undefined;

  /** The lines of the outermost block, without operations that nothing reads. */
  get lines(): readonly string[] {
    return usedLines(this.#blocks[0]);
  }

  /** An argument of a block. */
  argument(type: HloType): HloValue {
    return { name: `%${this.#names++}`, dtype: type.dtype, shape: type.shape, origin: null };
  }

  /** Names errors after an operator and its line while `build` writes. */
  naming<R>(operator: string, source: string | undefined, build: () => R): R {
    const before = [this.#operator, this.#source] as const;
    this.#operator = operator;
    this.#source = source ?? this.#source;
    try {
      return build();
    } finally {
      [this.#operator, this.#source] = before;
    }
  }

  /** Aborts the export: the current operator cannot be expressed. */
  unsupported(problem: string, advice?: string): never {
    throw new UnsupportedError(`${this.#operator} cannot be written: ${problem}`, {
      op: stableHloOp,
      actual: this.#operator,
      source: this.#source,
      advice,
    });
  }

  /** Appends an operation with one result. */
  op(
    name: string,
    operands: readonly HloValue[],
    type: HloType,
    attributes: HloAttributes = {},
    origin: HloOrigin | null = null,
  ): HloValue {
    return this.ops(name, operands, [type], attributes, [], origin)[0];
  }

  /** Appends an operation. */
  ops(
    name: string,
    operands: readonly HloValue[],
    types: readonly HloType[],
    attributes: HloAttributes = {},
    regions: readonly HloRegion[] = [],
    origin: HloOrigin | null = null,
  ): readonly HloValue[] {
    const entries = Object.entries(attributes).map(([key, value]) => `${key} = ${value}`);
    const inside = regions.map(({ lines }) => `{\n${indented(lines)}\n}`).join(', ');
    const call =
      `"${name}"(${operands.map((operand) => operand.name).join(', ')})` +
      (regions.length === 0 ? '' : ` (${inside})`) +
      (entries.length === 0 ? '' : ` {${entries.join(', ')}}`) +
      ` : (${operands.map(typeText).join(', ')}) -> ${resultText(types)}`;
    // Numbers of equal axes stay apart: one value would have one partition.
    const key = origin?.kind === 'numbers' ? `${call} along ${origin.along}` : call;
    const known = regions.length === 0 ? this.#find(key) : undefined;
    // Sizes that the text writes as `?` may be known by several expressions.
    if (known !== undefined) return known.map((value, i) => ({ ...value, shape: types[i].shape }));
    const base = `%${this.#names++}`;
    const results = types.map(({ dtype, shape }, i) => ({
      name: types.length === 1 ? base : `${base}#${i}`,
      dtype,
      shape,
      origin,
    }));
    const block = this.#blocks[this.#blocks.length - 1];
    const bound = types.length === 0 ? '' : types.length === 1 ? `${base} = ` : `${base}:${types.length} = `; // prettier-ignore
    block.operations.push({ lines: `${bound}${call}`.split('\n'), result: types.length === 0 ? null : base }); // prettier-ignore
    if (regions.length === 0) block.known.set(key, results);
    return results;
  }

  /** True inside of a region that reads no values around it. */
  get isIsolated(): boolean {
    return this.#blocks.slice(1).some(({ kind }) => kind === 'isolated');
  }

  #find(key: string): readonly HloValue[] | undefined {
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const known = this.#blocks[i].known.get(key);
      if (known !== undefined) return known;
      if (this.#blocks[i].kind === 'isolated') return undefined;
    }
    return undefined;
  }

  /**
   * Runs `build` before the outermost loop in which a value is the same in every iteration; undefined where there is
   * no such loop.
   */
  beforeLoops<R>({ name }: HloValue, build: () => R): R | undefined {
    const number = Number.parseInt(name.slice(1), 10);
    const loop = this.#blocks.findIndex(({ kind, first }) => kind === 'repeated' && first > number);
    if (loop === -1) return undefined;
    const inside = this.#blocks.splice(loop);
    try {
      return build();
    } finally {
      this.#blocks.push(...inside);
    }
  }

  /** Writes a region of an operation that allows its kind. */
  region(
    types: readonly HloType[],
    kind: HloRegionKind,
    build: (args: readonly HloValue[]) => readonly HloValue[],
  ): HloRegion {
    const block = openBlock(kind, this.#names);
    const args = types.map((type) => this.argument(type));
    this.#blocks.push(block);
    try {
      const results = build(args);
      this.ops('stablehlo.return', results, []);
    } finally {
      this.#blocks.pop();
    }
    const head = args.map((arg) => `${arg.name}: ${typeText(arg)}`).join(', ');
    const lines = usedLines(block);
    return { lines: args.length === 0 ? lines : [`^bb0(${head}):`, ...lines] };
  }

  /** A result with the type that Kaon inferred, whose numbers it must have. */
  checked(value: HloValue, type: HloType): HloValue {
    const { dtype, shape } = type;
    const isSame = (dim: Dim, axis: number): boolean => {
      const other = value.shape[axis];
      // Symbolic sizes may be equal because a requirement says so.
      return isStatic(dim) && isStatic(other) ? dim === other : true;
    };
    if (value.dtype === dtype && value.shape.length === shape.length && shape.every(isSame)) {
      return sameShape(value.shape, shape) ? value : { ...value, shape };
    }
    throw new InternalError('a result was written with another type', {
      op: this.#operator,
      expected: typeText(type),
      actual: typeText(value),
    });
  }
}

function openBlock(kind: HloRegionKind, first: number): OpenBlock {
  return { kind, first, operations: [], known: new Map() };
}

function resultText(types: readonly HloType[]): string {
  return types.length === 1 ? typeText(types[0]) : `(${types.map(typeText).join(', ')})`;
}

export function indented(lines: readonly string[]): string {
  return lines.map((line) => (line.startsWith('^') ? line : `  ${line}`)).join('\n');
}

/** The lines of a finished block: operations without a use are left out, since none of them has effects. */
function usedLines({ operations }: OpenBlock): readonly string[] {
  const used = new Set<string>();
  return operations
    .toReversed()
    .filter(({ lines, result }) => {
      if (result !== null && !used.has(result)) return false;
      for (const line of lines) for (const [name] of line.matchAll(/%\d+/g)) used.add(name);
      return true;
    })
    .toReversed()
    .flatMap(({ lines }) => lines);
}
