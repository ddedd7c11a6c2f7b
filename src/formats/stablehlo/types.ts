import type { DType } from '../../base/dtype.js';

/** Element type of a value of StableHLO: a dtype, or unsigned integers of which only the bits matter. */
export type HloDType = DType | 'uint32' | 'uint64';

/** Element types by their names in the text. */
const names: Readonly<Record<HloDType, string>> = {
  bool: 'i1',
  int8: 'i8',
  uint8: 'ui8',
  int32: 'i32',
  int64: 'i64',
  uint32: 'ui32',
  uint64: 'ui64',
  float16: 'f16',
  bfloat16: 'bf16',
  float32: 'f32',
  float64: 'f64',
};

/** Type of a value: all sizes are known. */
export interface HloType {
  readonly dtype: HloDType;
  readonly shape: readonly number[];
}

/** Definition of a value, as far as later operations look through it. */
export type HloOrigin =
  | { readonly kind: 'splat'; readonly value: number | bigint }
  | { readonly kind: 'reshape'; readonly of: HloValue }
  | { readonly kind: 'transpose'; readonly of: HloValue; readonly order: readonly number[] };

/** A value of the text. */
export interface HloValue extends HloType {
  /** Such as `%12` or `%7#1`. */
  readonly name: string;
  readonly origin: HloOrigin | null;
}

/** The name of an element type in the text. */
export function elementName(dtype: HloDType): string {
  return names[dtype];
}

/** The type as text: `tensor<2x3xf32>`. */
export function typeText({ dtype, shape }: HloType): string {
  return `tensor<${shape.map((extent) => `${extent}x`).join('')}${names[dtype]}>`;
}

/** Number of elements of a shape of known sizes. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((count, extent) => count * extent, 1);
}

/** True when two lists hold the same numbers. */
export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

/** The numbers from 0 up to `count`. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i);
}
