import type { Attribute, Json } from '../../base/attributes/attribute.js';
import { JsonReader } from '../../base/attributes/reader.js';
import { DimExpr, parseDim } from '../../base/dim/index.js';
import {
  type MessageTemplate,
  type Refusal,
  refusalFromJSON,
  refusalOver,
  refusalToJSON,
  words,
} from '../../ir/requirement.js';

const isTemplate = (value: unknown): value is MessageTemplate =>
  Array.isArray(value) &&
  value.length % 2 === 1 &&
  value.every((part, i) => (i % 2 === 0 ? typeof part === 'string' : part instanceof DimExpr));

const isOneOf = (value: unknown, ...options: readonly unknown[]): boolean =>
  options.includes(value);

/** The error of an operator for sizes that do not fit; its source is that of the call. */
export const refusalAttribute: Attribute<Refusal> = {
  expected: 'the error for sizes that do not fit',
  accepts: (value): value is Refusal => {
    if (typeof value !== 'object' || value === null) return false;
    const { error, op, problem, expected, actual, advice } = value as {
      [K in keyof Refusal]: unknown;
    };
    return (
      isOneOf(error, undefined, 'shape', 'argument') &&
      typeof op === 'string' &&
      [problem, expected, actual].every(isTemplate) &&
      isOneOf(typeof advice, 'undefined', 'string')
    );
  },
  encode: refusalToJSON,
  decode: (json: Json) => {
    const dimOf = (part: JsonReader): ReturnType<typeof parseDim> =>
      part.guard(() => parseDim(part.string()));
    return refusalFromJSON(new JsonReader(json, 'refusal'), dimOf);
  },
  mapDims: refusalOver,
  isMessage: true,
};

/** An error for samples and laws. */
export const sampleRefusal: Refusal = {
  op: 'sample',
  problem: words`the sizes do not fit`,
  expected: words`others`,
  actual: words`these`,
};
