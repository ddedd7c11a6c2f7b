import type { DType, HostArray } from '../../../base/dtype.js';
import { InternalError, UnsupportedError } from '../../../base/errors.js';
import { literalText, numberText } from './literals.js';
import {
  countOf,
  type HloOrigin,
  type HloType,
  type HloValue,
  mergedAxes,
  sameNumbers,
  typeText,
  upTo,
} from './types.js';

/** Public function named in errors. */
export const stableHloOp = 'toStableHlo';

/** Attributes as text, by name. */
export type HloAttributes = Readonly<Record<string, string>>;

/** A region: a block with arguments, which returns values. */
export interface HloRegion {
  readonly lines: readonly string[];
}

/** A block being written. */
interface OpenBlock {
  /** Operations as text. */
  readonly operations: { readonly lines: readonly string[]; readonly result: string | null }[];
  /** Results by the text of their operation, which is written once. */
  readonly known: Map<string, readonly HloValue[]>;
  /** True when the block reads no values of the blocks around it. */
  readonly isIsolated: boolean;
}

/** A list of integers as an attribute. */
export function integerList(values: readonly number[]): string {
  return values.length === 0 ? 'array<i64>' : `array<i64: ${values.join(', ')}>`;
}

/**
 * Writes operations of StableHLO in the generic form, in which every version of the tools reads them. Operations
 * without regions are written once for the same operands.
 */
export class HloWriter {
  readonly #blocks: OpenBlock[] = [{ operations: [], known: new Map(), isIsolated: true }];
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
      ...(this.#source !== undefined && { source: this.#source }),
      ...(advice !== undefined && { advice }),
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
    const known = regions.length === 0 ? this.#find(call) : undefined;
    if (known !== undefined) return known;
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
    if (regions.length === 0) block.known.set(call, results);
    return results;
  }

  #find(call: string): readonly HloValue[] | undefined {
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const known = this.#blocks[i].known.get(call);
      if (known !== undefined) return known;
      if (this.#blocks[i].isIsolated) return undefined;
    }
    return undefined;
  }

  /**
   * Writes a region. Only where the operation allows it, the region reads values around it; otherwise it is
   * `isolated`.
   */
  region(
    types: readonly HloType[],
    isIsolated: boolean,
    build: (args: readonly HloValue[]) => readonly HloValue[],
  ): HloRegion {
    const args = types.map((type) => this.argument(type));
    const block: OpenBlock = { operations: [], known: new Map(), isIsolated };
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

  /** A tensor of one value. */
  splat(dtype: DType, value: number | bigint, shape: readonly number[] = []): HloValue {
    const type = { dtype, shape };
    const content = countOf(shape) === 0 ? '' : numberText(dtype, value);
    return this.op(
      'stablehlo.constant',
      [],
      type,
      { value: `dense<${content}> : ${typeText(type)}` },
      { kind: 'splat', value },
    );
  }

  /** A constant tensor, row-major. */
  constant(dtype: DType, data: HostArray, shape: readonly number[]): HloValue {
    const type = { dtype, shape };
    const value = `dense<${literalText(dtype, data, shape)}> : ${typeText(type)}`;
    return this.op('stablehlo.constant', [], type, { value });
  }

  /** A vector of int32. */
  vector(values: readonly number[]): HloValue {
    return this.constant('int32', Int32Array.from(values), [values.length]);
  }

  /** 0, 1, 2 and so on along an axis. */
  iota(dtype: DType, shape: readonly number[], axis: number): HloValue {
    return this.op('stablehlo.iota', [], { dtype, shape }, { iota_dimension: `${axis} : i64` });
  }

  /** An elementwise operation on operands of one shape. */
  map(name: string, operands: readonly HloValue[], dtype: DType = operands[0].dtype): HloValue {
    return this.op(`stablehlo.${name}`, operands, { dtype, shape: operands[0].shape });
  }

  compare(direction: 'EQ' | 'NE' | 'LT' | 'LE' | 'GT' | 'GE', a: HloValue, b: HloValue): HloValue {
    return this.op(
      'stablehlo.compare',
      [a, b],
      { dtype: 'bool', shape: a.shape },
      { comparison_direction: `#stablehlo<comparison_direction ${direction}>` },
    );
  }

  /** Conversion as StableHLO defines it: of floats to integers only where the value fits. */
  convert(x: HloValue, dtype: DType): HloValue {
    if (x.dtype === dtype) return x;
    return this.op('stablehlo.convert', [x], { dtype, shape: x.shape });
  }

  reshape(x: HloValue, shape: readonly number[]): HloValue {
    if (sameNumbers(x.shape, shape)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    if (x.origin?.kind === 'reshape') return this.reshape(x.origin.of, shape);
    return this.op('stablehlo.reshape', [x], { dtype: x.dtype, shape }, {}, { kind: 'reshape', of: x }); // prettier-ignore
  }

  transpose(x: HloValue, order: readonly number[]): HloValue {
    if (order.every((axis, i) => axis === i)) return x;
    const shape = order.map((axis) => x.shape[axis]);
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    if (x.origin?.kind === 'transpose') {
      const { of, order: first } = x.origin;
      return this.transpose(of, order.map((axis) => first[axis])); // prettier-ignore
    }
    const permutation = { permutation: integerList(order) };
    const origin: HloOrigin = { kind: 'transpose', of: x, order };
    return this.op('stablehlo.transpose', [x], { dtype: x.dtype, shape }, permutation, origin);
  }

  /** Broadcast to a shape, whose axis for each axis of `x` is given. Extents of 1 repeat. */
  broadcast(x: HloValue, shape: readonly number[], axes: readonly number[]): HloValue {
    if (sameNumbers(x.shape, shape) && axes.every((axis, i) => axis === i)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    const attributes = { broadcast_dimensions: integerList(axes) };
    return this.op('stablehlo.broadcast_in_dim', [x], { dtype: x.dtype, shape }, attributes);
  }

  /** The elements from `start` on, `step` apart, up to `stop`, along each axis. */
  slice(
    x: HloValue,
    start: readonly number[],
    stop: readonly number[],
    step: readonly number[] = start.map(() => 1),
  ): HloValue {
    const shape = start.map((first, axis) => Math.ceil((stop[axis] - first) / step[axis]));
    if (sameNumbers(x.shape, shape) && step.every((distance) => distance === 1)) return x;
    if (x.origin?.kind === 'splat') return this.splat(x.dtype, x.origin.value, shape);
    const whole = this.#sliceOfMerged(x, start, stop, step);
    if (whole !== null) return whole;
    return this.op(
      'stablehlo.slice',
      [x],
      { dtype: x.dtype, shape },
      {
        start_indices: integerList(start),
        limit_indices: integerList(stop),
        strides: integerList(step),
      },
    );
  }

  /** A slice of merged axes that takes whole entries of the first of them, as a slice of that one. */
  #sliceOfMerged(
    { shape, origin }: HloValue,
    start: readonly number[],
    stop: readonly number[],
    step: readonly number[],
  ): HloValue | null {
    if (origin?.kind !== 'reshape' || step.some((distance) => distance !== 1)) return null;
    const { of } = origin;
    const groups = mergedAxes(of.shape, shape);
    if (groups === null) return null;
    const [from, to] = [[...of.shape].fill(0), [...of.shape]];
    for (const [axis, group] of groups.entries()) {
      if (stop[axis] - start[axis] === shape[axis]) continue;
      if (group.length === 0) return null;
      const inner = shape[axis] / of.shape[group[0]];
      if (start[axis] % inner !== 0 || stop[axis] % inner !== 0) return null;
      [from[group[0]], to[group[0]]] = [start[axis] / inner, stop[axis] / inner];
    }
    return this.reshape(this.slice(of, from, to), shape.map((_, axis) => stop[axis] - start[axis])); // prettier-ignore
  }

  /** A border of one value, of a scalar, also between elements; negative widths at the ends crop. */
  pad(
    x: HloValue,
    value: HloValue,
    low: readonly number[],
    high: readonly number[],
    between: readonly number[] = low.map(() => 0),
  ): HloValue {
    if ([...low, ...high, ...between].every((width) => width === 0)) return x;
    const shape = x.shape.map((extent, axis) => low[axis] + extent + (extent - 1) * between[axis] + high[axis]); // prettier-ignore
    return this.op(
      'stablehlo.pad',
      [x, value],
      { dtype: x.dtype, shape },
      {
        edge_padding_low: integerList(low),
        edge_padding_high: integerList(high),
        interior_padding: integerList(between),
      },
    );
  }

  concat(parts: readonly HloValue[], axis: number): HloValue {
    if (parts.length === 1) return parts[0];
    const total = parts.reduce((sum, { shape }) => sum + shape[axis], 0);
    const shape = parts[0].shape.with(axis, total);
    const type = { dtype: parts[0].dtype, shape };
    const origin: HloOrigin = { kind: 'concat', parts, axis };
    return this.op('stablehlo.concatenate', parts, type, { dimension: `${axis} : i64` }, origin);
  }

  /** Reverses axes. */
  reverse(x: HloValue, axes: readonly number[]): HloValue {
    if (axes.length === 0) return x;
    return this.op('stablehlo.reverse', [x], x, { dimensions: integerList(axes) });
  }

  /** The block of given sizes whose first index is given by scalars; moved until it lies within `x`. */
  dynamicSlice(x: HloValue, start: readonly HloValue[], sizes: readonly number[]): HloValue {
    return this.op(
      'stablehlo.dynamic_slice',
      [x, ...start],
      { dtype: x.dtype, shape: sizes },
      { slice_sizes: integerList(sizes) },
    );
  }

  /** `x` with a block written at an index of scalars. */
  updateSlice(x: HloValue, update: HloValue, start: readonly HloValue[]): HloValue {
    return this.op('stablehlo.dynamic_update_slice', [x, update, ...start], x);
  }

  /** A row of `x` along its first axis, without that axis. */
  row(x: HloValue, at: HloValue): HloValue {
    const [, ...rest] = x.shape;
    const zeros = rest.map(() => this.splat(at.dtype, 0));
    return this.reshape(this.dynamicSlice(x, [at, ...zeros], [1, ...rest]), rest);
  }

  /** `x` with a row written along its first axis. */
  withRow(x: HloValue, row: HloValue, at: HloValue): HloValue {
    const [, ...rest] = x.shape;
    const zeros = rest.map(() => this.splat(at.dtype, 0));
    return this.updateSlice(x, this.reshape(row, [1, ...rest]), [at, ...zeros]);
  }

  /** Asserts that a result has the type that Kaon inferred. */
  checked(value: HloValue, type: HloType): HloValue {
    if (value.dtype === type.dtype && sameNumbers(value.shape, type.shape)) return value;
    throw new InternalError('a result was written with another type', {
      op: this.#operator,
      expected: typeText(type),
      actual: typeText(value),
    });
  }

  /** The axes of `x` in their order. */
  axesOf(x: HloValue): readonly number[] {
    return upTo(x.shape.length);
  }
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
