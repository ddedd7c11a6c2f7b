import { type Dim, isStatic, mulDim, sameDim } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import type { Shape } from '../../../ir/types.js';

/** Element types by their names in the text. */
const names: Readonly<Record<DType, string>> = {
  bool: 'i1',
  int8: 'i8',
  uint8: 'ui8',
  int32: 'i32',
  int64: 'i64',
  float16: 'f16',
  bfloat16: 'bf16',
  float32: 'f32',
  float64: 'f64',
};

/** Type of a value. Sizes are numbers, or known at the start of a run: expressions over sizes of arguments. */
export interface HloType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** Definition of a value, as far as later operations look through it. */
export type HloOrigin =
  | { readonly kind: 'splat'; readonly value: number | bigint }
  | { readonly kind: 'reshape'; readonly of: HloValue }
  | { readonly kind: 'concat'; readonly parts: readonly HloValue[]; readonly axis: number }
  | { readonly kind: 'transpose'; readonly of: HloValue; readonly order: readonly number[] }
  /** Numbers along an axis of some space, whose partition they have. */
  | { readonly kind: 'numbers'; readonly along: number }
  /** Rows that a loop has written; `spent` has the arrays whose rows it was the last to read, until one takes them. */
  | { readonly kind: 'rows'; readonly spent: Set<HloValue> };

/** A value of the text. */
export interface HloValue extends HloType {
  /** Such as `%12` or `%7#1`. */
  readonly name: string;
  readonly origin: HloOrigin | null;
}

/** The type as text: `tensor<2x3xf32>`, with `?` for sizes that are no numbers. */
export function typeText({ dtype, shape }: HloType): string {
  return `tensor<${shape.map((extent) => `${isStatic(extent) ? extent : '?'}x`).join('')}${names[dtype]}>`;
}

/** Number of elements of a shape of known sizes. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((count, extent) => count * extent, 1);
}

/** True when the type has no elements, whatever its other sizes are. */
export function isEmpty({ shape }: { readonly shape: Shape }): boolean {
  return shape.includes(0);
}

/** True when two lists hold the same numbers. */
export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

/** The numbers from 0 up to `count`. */
export function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => i);
}

/** The dtype of an element type, by its name in the text; undefined for others. */
export function dtypeNamed(name: string): DType | undefined {
  return (Object.keys(names) as DType[]).find((dtype) => names[dtype] === name);
}

/** The axes that each axis of a reshaped value merges; null where one is split. */
export function mergedAxes(from: Shape, to: Shape): number[][] | null {
  let next = 0;
  const groups = to.map((extent): number[] => {
    const group: number[] = [];
    let product: Dim = 1;
    while (next < from.length && isShort(product, extent)) {
      product = mulDim(product, from[next]);
      if (from[next] !== 1) group.push(next);
      next++;
    }
    return sameDim(product, extent) ? group : [-1];
  });
  while (next < from.length && from[next] === 1) next++;
  return next === from.length && groups.every((group) => group[0] !== -1) ? groups : null;
}

/** True while a product of sizes may become an extent by further factors. */
function isShort(product: Dim, extent: Dim): boolean {
  if (isStatic(product) && isStatic(extent)) return product < extent;
  return !sameDim(product, extent);
}
