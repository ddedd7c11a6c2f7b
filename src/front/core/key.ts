import type { Attribute } from '../../base/attributes/attribute.js';
import { checkArgument } from '../../base/attributes/options.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Declaration } from '../../ops/declare/declare.js';

const fieldsOf = new WeakMap<Declaration, readonly (readonly [string, Attribute<unknown>])[]>();

/**
 * Attributes as text: equal for two calls of one operator exactly when their attributes are equal. Plain
 * numbers and lists of them, nearly all attributes, take a fast path.
 */
export function attributeKey(declaration: Declaration, attributes: Attributes): string {
  let fields = fieldsOf.get(declaration);
  if (fields === undefined) {
    fields = Object.entries(declaration.attributes);
    fieldsOf.set(declaration, fields);
  }
  let key = '';
  for (const [name] of fields) {
    const value = attributes[name];
    key += ';';
    key += isPlain(value)
      ? `${value}`
      : isPlainList(value)
        ? `[${value.join()}]`
        : encoded(declaration, name, value);
  }
  return key;
}

/** `-0` prints as 0, so it takes the slow path; so do strings, whose text could be mistaken for anything. */
function isPlain(value: unknown): value is number | boolean | null {
  if (typeof value === 'number') return value !== 0 || !Object.is(value, -0);
  return typeof value === 'boolean' || value === null;
}

function isPlainList(value: unknown): value is readonly (number | boolean)[] {
  if (!Array.isArray(value)) return false;
  for (const entry of value) if (entry === null || !isPlain(entry)) return false;
  return true;
}

/**
 * The encoding is injective by contract, but for valid values only: others are refused before. A prefix
 * distinguishes it from the fast forms.
 */
function encoded({ name: op, attributes }: Declaration, name: string, value: unknown): string {
  const kind = attributes[name];
  checkArgument(op, name, value, kind);
  return `=${JSON.stringify(kind.encode(value))}`;
}
