import { type Dim, fold, isStatic, symbolsOf } from '../../../base/dim/index.js';
import type { DType, HostArray } from '../../../base/dtype.js';
import type { Shape } from '../../../ir/types.js';
import { linearSize } from '../../linear-size.js';
import { HloBuilder } from './builder.js';
import { literalText } from './literals.js';
import { type HloType, type HloValue, typeText } from './types.js';

export type { HloAttributes } from './builder.js';

/** An argument that reveals a symbol: `extent = coefficient * symbol + offset` along an axis. */
interface Source {
  readonly value: HloValue;
  readonly axis: number;
  readonly coefficient: number;
  readonly offset: number;
}

/** A list of integers as an attribute. */
export function integerList(values: readonly number[]): string {
  return values.length === 0 ? 'array<i64>' : `array<i64: ${values.join(', ')}>`;
}

/** Computes sizes from those of the module's arguments. */
export class HloSizes extends HloBuilder {
  readonly #sources: Map<string, Source> = new Map();

  /** An argument of the module, whose symbolic sizes become known by it. */
  moduleArgument(type: HloType): HloValue {
    const value = this.argument(type);
    type.shape.forEach((dim, axis) => {
      const form = linearSize(dim);
      if (form === null || this.#sources.has(form.name)) return;
      this.#sources.set(form.name, { value, axis, ...form });
    });
    return value;
  }

  /** True for sizes that follow from those of the module's arguments. */
  knows(shape: Shape): boolean {
    return shape.every(
      (dim) => isStatic(dim) || [...symbolsOf(dim)].every((name) => this.#sources.has(name)),
    );
  }

  /** A size as an int32 scalar. */
  size(dim: Dim): HloValue {
    return fold<HloValue>(dim, {
      constant: (value) => this.#number(value),
      symbol: (name) => this.#symbol(name),
      add: (a, b) => this.#join('add', a, b),
      mul: (a, b) => this.#join('multiply', a, b),
      operation: (kind, a, b) => {
        if (kind === 'max') return this.#join('maximum', a, b);
        if (kind === 'min') return this.#join('minimum', a, b);
        // remainder has the sign of the dividend, and divide truncates.
        const rest = this.#join('remainder', this.#join('add', this.#join('remainder', a, b), b), b); // prettier-ignore
        return kind === 'mod' ? rest : this.#join('divide', this.#join('subtract', a, rest), b);
      },
    });
  }

  /** Sizes as a vector of int32. */
  sizes(shape: Shape): HloValue {
    if (shape.every(isStatic)) return this.vector(shape);
    const parts = shape.map((dim) => {
      if (isStatic(dim)) return this.vector([dim]);
      return this.op('stablehlo.reshape', [this.size(dim)], { dtype: 'int32', shape: [1] });
    });
    if (parts.length === 1) return parts[0];
    const type: HloType = { dtype: 'int32', shape: [parts.length] };
    return this.op('stablehlo.concatenate', parts, type, { dimension: '0 : i64' });
  }

  /** A vector of int32. */
  vector(values: readonly number[]): HloValue {
    return this.constant('int32', Int32Array.from(values), [values.length]);
  }

  /** A constant tensor, row-major. */
  constant(dtype: DType, data: HostArray, shape: readonly number[]): HloValue {
    const type = { dtype, shape };
    const value = `dense<${literalText(dtype, data, shape)}> : ${typeText(type)}`;
    return this.op('stablehlo.constant', [], type, { value });
  }

  #number(value: number): HloValue {
    return this.constant('int32', Int32Array.of(value), []);
  }

  #join(name: string, a: HloValue, b: HloValue): HloValue {
    return this.op(`stablehlo.${name}`, [a, b], { dtype: 'int32', shape: [] });
  }

  #symbol(name: string): HloValue {
    const source = this.#sources.get(name);
    if (source === undefined) return this.unsupported(`the size ${name} is that of no input`);
    if (this.isIsolated) return this.unsupported(`its elements are joined by means of the size ${name}`); // prettier-ignore
    const { value, axis, coefficient, offset } = source;
    const type: HloType = { dtype: 'int32', shape: [] };
    const extent = this.op('stablehlo.get_dimension_size', [value], type, { dimension: `${axis} : i64` }); // prettier-ignore
    const multiple = offset === 0 ? extent : this.#join('subtract', extent, this.#number(offset));
    return coefficient === 1 ? multiple : this.#join('divide', multiple, this.#number(coefficient));
  }
}
