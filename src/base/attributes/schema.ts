import { type Attribute, type Json } from './attribute.js';
import { type Bounds, type Dim, symbolTable } from '../dim/index.js';
import { ArgumentError } from '../errors.js';
import { checkArgument, unknownName } from './options.js';

export type AttributeSchema = Readonly<Record<string, Attribute<unknown>>>;
export type AttributesOf<S extends AttributeSchema> = {
  readonly [K in keyof S]: S[K] extends Attribute<infer T> ? T : never;
};
/** The attributes of an operator whose schema is not known statically. */
export type Attributes = Readonly<Record<string, unknown>>;

type Entries = readonly (readonly [name: string, kind: Attribute<unknown>])[];

const knownEntries = new WeakMap<AttributeSchema, Entries>();

/** The entries of a schema. Schemas are few and live as long as their operators; calls are many. */
export function schemaEntries(schema: AttributeSchema): Entries {
  let entries = knownEntries.get(schema);
  if (entries === undefined) knownEntries.set(schema, (entries = Object.entries(schema)));
  return entries;
}

/** Refuses attributes that a schema does not describe; `op` names the operator in the error. */
export function checkAttributes(op: string, schema: AttributeSchema, attributes: Attributes): void {
  const entries = schemaEntries(schema);
  for (let i = 0; i < entries.length; i++) {
    const name = entries[i][0];
    const kind = entries[i][1];
    if (!kind.accepts(attributes[name])) checkArgument(op, name, attributes[name], kind);
  }
  for (const name in attributes) {
    if (Object.hasOwn(attributes, name) && !Object.hasOwn(schema, name)) {
      throw unknownName(op, 'option', name, Object.keys(schema));
    }
  }
}

/** The attributes as JSON, in the order of the schema. */
export function encodeAttributes(
  schema: AttributeSchema,
  attributes: Attributes,
): Record<string, Json> {
  const encoded: Record<string, Json> = {};
  for (const [name, kind] of schemaEntries(schema)) {
    const json = kind.encode(attributes[name]);
    if (!isAbsent(kind, json)) encoded[name] = json;
  }
  return encoded;
}

function isAbsent(kind: Attribute<unknown>, json: Json): boolean {
  if (kind.absent === undefined) return false;
  return JSON.stringify(json) === JSON.stringify(kind.encode(kind.absent));
}

/** Attributes as text for people; `attributesKey` tells calls apart. */
export function attributesText(schema: AttributeSchema, attributes: Attributes): string {
  return JSON.stringify(encodeAttributes(schema, attributes));
}

export function decodeAttributes(
  schema: AttributeSchema,
  json: Readonly<Record<string, Json>>,
): Attributes {
  for (const name of Object.keys(json)) {
    if (!Object.hasOwn(schema, name)) {
      throw new ArgumentError(`there is no attribute ${name}`, {
        expected: Object.keys(schema).join(', ') || 'no attributes',
        actual: name,
      });
    }
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, kind]) => {
      if (!Object.hasOwn(json, name)) {
        if (kind.absent !== undefined) return [name, kind.absent];
        throw new ArgumentError(`attribute ${name} is missing`, {
          expected: kind.expected,
          actual: 'nothing',
        });
      }
      return [name, kind.decode(json[name])];
    }),
  );
}

/** The attributes with every dimension in them replaced; the same object when there is none. */
export function mapAttributeDims(
  schema: AttributeSchema,
  attributes: Attributes,
  map: (dim: Dim) => Dim,
): Attributes {
  let mapped: Record<string, unknown> | undefined;
  const entries = schemaEntries(schema);
  for (let i = 0; i < entries.length; i++) {
    const name = entries[i][0];
    const kind = entries[i][1];
    if (kind.mapDims === undefined) continue;
    mapped ??= { ...attributes };
    mapped[name] = kind.mapDims(attributes[name], map);
  }
  return mapped ?? attributes;
}

/** The symbols in the attributes with their ranges, added to `table`. */
export function symbolsOfAttributes(
  schema: AttributeSchema,
  attributes: Attributes,
  table: Map<string, Bounds> = new Map(),
): Map<string, Bounds> {
  mapAttributeDims(schema, attributes, (dim) => {
    symbolTable(dim, table);
    return dim;
  });
  return table;
}
