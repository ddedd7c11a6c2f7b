/**
 * Requirements: conditions on sizes that are not known yet. A condition that numbers or the ranges of symbols
 * decide is settled at once; others are kept as data and checked when the sizes of a run are known, with the
 * error that the operator would have thrown for these sizes.
 */
import type { Json } from '../base/attributes/attribute.js';
import {
  boundsOf,
  type Dim,
  DimExpr,
  floorDivDim,
  mulDim,
  sameDim,
  subDim,
  substituteDim,
  symbolsOf,
} from '../base/dim/index.js';
import { ArgumentError, InternalError, type KaonError, ShapeError } from '../base/errors.js';
import type { JsonReader } from '../base/attributes/reader.js';
import type { Shape } from './types.js';

/** A comparison of sizes in normal form: `dim = 0` or `dim >= 0`. */
export interface Comparison {
  readonly relation: '=' | '>=';
  readonly dim: DimExpr;
}

/** A comparison, or its result where that is known. */
export type Condition = boolean | Comparison;

/** Template text: dimensions at the odd positions. */
export type MessageTemplate = readonly (string | Dim)[];

/** Parts of the error for a condition that does not hold. */
export interface Refusal {
  /** `internal` where only a fault in here can be the reason. Default `shape`. */
  readonly error?: 'shape' | 'argument' | 'internal';
  readonly op: string;
  readonly problem: MessageTemplate;
  readonly expected: MessageTemplate;
  readonly actual: MessageTemplate;
  readonly advice?: string;
  /** The user's line; where absent, that of the call whose inference refuses. */
  readonly source?: string | undefined;
}

/** A condition that only the sizes of a run can decide. */
export interface Requirement extends Refusal {
  readonly condition: Comparison;
}

/** States a condition. One that is false throws at once; one that only a run decides is kept. */
export type Require = (condition: Condition, refusal: () => Refusal) => void;

/** `dim >= bound`. */
export function atLeast(dim: Dim, bound: Dim): Condition {
  const difference = subDim(dim, bound);
  if (typeof difference === 'number') return difference >= 0;
  const { min, max } = boundsOf(difference);
  if (min >= 0) return true;
  return max < 0 ? false : { relation: '>=', dim: difference };
}

/** `a = b`. */
export function equalSizes(a: Dim, b: Dim): Condition {
  if (sameDim(a, b)) return true;
  const difference = subDim(a, b);
  if (typeof difference === 'number') return difference === 0;
  const { min, max } = boundsOf(difference);
  if (min > 0 || max < 0) return false;
  const isNegative = difference.terms[0].coefficient < 0;
  // Normalized sign, so that a = b and b = a have the same form.
  return { relation: '=', dim: isNegative ? (mulDim(difference, -1) as DimExpr) : difference };
}

/** Condition that an axis of `dim` broadcasts to `wanted`: it is 1, or the wanted size. */
export function isOneOr(dim: Dim, wanted: Dim): Condition {
  if (dim === 1 || sameDim(dim, wanted)) return true;
  return equalSizes(mulDim(subDim(dim, wanted), subDim(dim, 1)), 0);
}

/** Condition that `dim` is a multiple of `by`, which must be 1 or more. */
export function divisible(dim: Dim, by: Dim): Condition {
  return equalSizes(mulDim(floorDivDim(dim, by), by), dim);
}

/** A template tag: `` words`axis ${axis} of ${shape}` ``. Only symbolic sizes stay dimensions. */
export function words(
  texts: TemplateStringsArray,
  ...holes: readonly (string | Dim | Shape)[]
): MessageTemplate {
  const parts: (string | Dim)[] = [texts[0]];
  const say = (text: string): void => {
    parts[parts.length - 1] += text;
  };
  const put = (dim: Dim): void => {
    if (typeof dim === 'number') say(String(dim));
    else parts.push(dim, '');
  };
  holes.forEach((hole, i) => {
    if (typeof hole === 'string') say(hole);
    else if (typeof hole === 'number' || hole instanceof DimExpr) put(hole);
    else {
      say('[');
      hole.forEach((dim, axis) => {
        if (axis > 0) say(', ');
        put(dim);
      });
      say(']');
    }
    say(texts[i + 1]);
  });
  return parts;
}

/** Several words one after the other. */
export function joinedWords(all: readonly MessageTemplate[], separator: string): MessageTemplate {
  return all.reduce((before, [first, ...rest]) => {
    const seam = `${before.at(-1) as string}${separator}${first as string}`;
    return [...before.slice(0, -1), seam, ...rest];
  });
}

/** Settles the conditions that are decidable, and hands the others to `keep`. */
export function requireOrKeep(keep: (requirement: Requirement) => void): Require {
  return (condition, refusal) => {
    if (condition === true) return;
    if (condition === false) throw refusalError(refusal());
    keep({ ...refusal(), condition });
  };
}

/** Checks conditions at once, for places where sizes are numbers or requirements are collected elsewhere. */
export const requireNow: Require = (condition, refusal) => {
  if (condition === false) throw refusalError(refusal());
};

/** Equal for requirements of the same condition. */
export function conditionKey({ condition: { relation, dim } }: Requirement): string {
  return `${dim.key} ${relation} 0`;
}

/** States a requirement after replacing its symbols. */
export function requireAt(
  requirement: Requirement,
  sizes: ReadonlyMap<string, Dim>,
  require: Require,
): void {
  const { relation, dim } = requirement.condition;
  if (sizes.size === 0) return require(requirement.condition, () => requirement);
  const value = substituteDim(dim, sizes);
  require(relation === '=' ? equalSizes(value, 0) : atLeast(value, 0), () => {
    const { condition: _, ...refusal } = requirement;
    return refusalAt(refusal, sizes);
  });
}

/** A refusal with its symbols replaced. */
export function refusalAt(refusal: Refusal, sizes: ReadonlyMap<string, Dim>): Refusal {
  return refusalOver(refusal, (dim) => substituteDim(dim, sizes));
}

/** A refusal inside of a loop or branch, told by the call that owns it, as `inContext` tells errors. */
export function refusalWithin<R extends Refusal>(
  refusal: R,
  where: MessageTemplate,
  { op, source }: { readonly op: { readonly name: string }; readonly source: string | undefined },
): R {
  const problem =
    refusal.op === op.name ? refusal.problem : joinedWords([[refusal.op], refusal.problem], ': ');
  return {
    ...refusal,
    op: op.name,
    problem: joinedWords([where, problem], ': '),
    source: source ?? refusal.source,
  };
}

/** A refusal with each dimension in its words replaced. */
export function refusalOver(refusal: Refusal, map: (dim: Dim) => Dim): Refusal {
  return {
    ...refusal,
    problem: wordsOver(refusal.problem, map),
    expected: wordsOver(refusal.expected, map),
    actual: wordsOver(refusal.actual, map),
  };
}

/** MessageTemplate as text. */
export function textOfWords(parts: MessageTemplate): string {
  return parts.map(String).join('');
}

/** A requirement as JSON, without its source. */
export function requirementToJSON(requirement: Requirement): { readonly [key: string]: Json } {
  const { condition } = requirement;
  return {
    dim: condition.dim.key,
    is: condition.relation === '=' ? 'zero' : 'natural',
    ...refusalToJSON(requirement),
  };
}

/** A refusal as JSON, without its source. */
export function refusalToJSON({
  error = 'shape',
  op,
  problem,
  expected,
  actual,
  advice,
}: Refusal): { readonly [key: string]: Json } {
  const json = (parts: MessageTemplate): Json => parts.map(String);
  return {
    error,
    op,
    problem: json(problem),
    expected: json(expected),
    actual: json(actual),
    ...(advice !== undefined && { advice }),
  };
}

/** Reads what `requirementToJSON` wrote; `dimOf` reads dimensions. */
export function requirementFromJSON(
  json: JsonReader,
  dimOf: (json: JsonReader) => Dim,
): Requirement {
  const dim = dimOf(json.field('dim'));
  const is = json.field('is').string();
  if (typeof dim === 'number') return json.field('dim').fail('a size that a symbol decides');
  if (is !== 'zero' && is !== 'natural') return json.field('is').fail('zero or natural');
  return {
    condition: { relation: is === 'zero' ? '=' : '>=', dim },
    ...refusalFromJSON(json, dimOf),
  };
}

/** Reads what `refusalToJSON` wrote; `dimOf` reads dimensions. */
export function refusalFromJSON(json: JsonReader, dimOf: (json: JsonReader) => Dim): Refusal {
  const read = (name: string): MessageTemplate =>
    json
      .field(name)
      .list()
      .map((part, i) => (i % 2 === 0 ? part.string() : dimOf(part)));
  const error = json.field('error').string();
  if (error !== 'shape' && error !== 'argument') {
    return json.field('error').fail('shape or argument');
  }
  const advice = json.optional('advice')?.string();
  return {
    ...(error !== 'shape' && { error }),
    op: json.field('op').string(),
    problem: read('problem'),
    expected: read('expected'),
    actual: read('actual'),
    ...(advice !== undefined && { advice }),
  };
}

/** The dimensions that occur in a requirement. */
export function dimsOf({ condition, problem, expected, actual }: Requirement): readonly Dim[] {
  return [condition.dim, ...[problem, expected, actual].flatMap(dimsOfWords)];
}

/** The dimensions in a template. */
export function dimsOfWords(parts: MessageTemplate): readonly Dim[] {
  return parts.filter((_, i) => i % 2 === 1) as readonly Dim[];
}

/** True when all symbols of a requirement are among those of some names. */
export function speaksOnlyOf(
  requirement: Requirement,
  names: { has(name: string): boolean },
): boolean {
  return dimsOf(requirement).every((dim) => [...symbolsOf(dim)].every((name) => names.has(name)));
}

/** MessageTemplate with each dimension in them replaced; numbers become text. */
export function wordsOver(parts: MessageTemplate, map: (dim: Dim) => Dim): MessageTemplate {
  const result: (string | Dim)[] = [parts[0]];
  for (let i = 1; i + 1 < parts.length; i += 2) {
    const dim = map(parts[i] as Dim);
    if (typeof dim === 'number') result[result.length - 1] += `${dim}${parts[i + 1] as string}`;
    else result.push(dim, parts[i + 1]);
  }
  return result;
}

const errors = { shape: ShapeError, argument: ArgumentError, internal: InternalError } as const;

/** The error that a refusal is. */
export function refusalError({
  error = 'shape',
  op,
  problem,
  source,
  ...said
}: Refusal): KaonError {
  return new errors[error](textOfWords(problem), {
    op,
    expected: textOfWords(said.expected),
    actual: textOfWords(said.actual),
    advice: said.advice,
    source,
  });
}
