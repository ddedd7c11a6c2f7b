import type { Attribute } from './attribute.js';
import { checkArgument } from './options.js';
import { type Attributes, type AttributeSchema, schemaEntries } from './schema.js';

/** An operator, as far as its attributes are concerned. */
interface Attributed {
  readonly name: string;
  readonly attributes: AttributeSchema;
}

/**
 * Text of attributes: equal for two calls of one operator exactly when their attributes are equal. Empty
 * without attributes. Plain numbers and lists of them, nearly all attributes, take a fast path.
 *
 * @throws ArgumentError for attributes that the operator does not accept, as far as that matters here.
 */
export function attributesKey(op: Attributed, attributes: Attributes): string {
  const entries = schemaEntries(op.attributes);
  let key = '';
  for (let i = 0; i < entries.length; i++) {
    const name = entries[i][0];
    const value = attributes[name];
    key += ';';
    key += isPlain(value)
      ? `${value}`
      : isPlainList(value)
        ? `[${value.join()}]`
        : encoded(op.name, name, value, entries[i][1]);
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
  for (let i = 0; i < value.length; i++) {
    const entry: unknown = value[i];
    if (entry === null || !isPlain(entry)) return false;
  }
  return true;
}

/**
 * The encoding is injective by contract, but for valid values only: others are refused before. A prefix
 * distinguishes it from the fast forms.
 */
function encoded(op: string, name: string, value: unknown, kind: Attribute<unknown>): string {
  if (!kind.accepts(value)) checkArgument(op, name, value, kind);
  return `=${JSON.stringify(kind.encode(value))}`;
}
