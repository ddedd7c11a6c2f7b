import type { HloOperation } from './parse.js';

/** The integers in an attribute. */
export function integersOf({ attributes }: HloOperation, name: string): readonly number[] {
  const text = (attributes.get(name) ?? '').replace(/^array<i64:?|: \S+$/g, '');
  return (text.match(/-?\d+/g) ?? []).map(Number);
}

/** A list, or a number, among the dimension numbers of an operation. */
export function dimensionsOf(text: string, name: string): readonly number[] {
  const found = new RegExp(`\\b${name} = (\\[[^\\]]*\\]|\\d+)`).exec(text)?.[1] ?? '';
  return (found.match(/\d+/g) ?? []).map(Number);
}
