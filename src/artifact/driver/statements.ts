import { type Dim, symbolsOf, substituteDim } from '../../base/dim/index.js';
import type { MessageTemplate } from '../../ir/requirement.js';

/**
 * What runs around the kernels of a graph whose data decides sizes, or whose loops no kernel can run: a
 * few kinds of statements, so that each language of artifacts has one small printer. All values are
 * integers, written as dimensions: sizes, counts and byte addresses alike are polynomials of names.
 */
export type Statement =
  | { readonly kind: 'set'; readonly name: string; readonly value: Dim }
  | { readonly kind: 'assign'; readonly name: string; readonly value: Dim }
  /** A name for an element in memory. */
  | { readonly kind: 'load'; readonly name: string; readonly from: Dim; readonly dtype: Loaded }
  /** An int32 in memory. */
  | { readonly kind: 'store'; readonly to: Dim; readonly value: Dim }
  /** Where the test fails, the run ends with an error. */
  | { readonly kind: 'require'; readonly test: Test; readonly problem: MessageTemplate }
  /** Memory is used up to this address from here on. */
  | { readonly kind: 'reserve'; readonly end: Dim }
  /** Writes the table of a `main` and runs it. */
  | {
      readonly kind: 'run';
      readonly main: string;
      readonly table: Dim;
      readonly entries: readonly Dim[];
    }
  /** Copies bytes, which may overlap. */
  | { readonly kind: 'move'; readonly to: Dim; readonly from: Dim; readonly bytes: Dim }
  | { readonly kind: 'clear'; readonly to: Dim; readonly bytes: Dim }
  /** Names that calls give values to. */
  | { readonly kind: 'declare'; readonly names: readonly string[] }
  | {
      readonly kind: 'call';
      readonly routine: Routine;
      /** In the order of its parameters. */
      readonly values: readonly Dim[];
      /** Who receives what it returns; null for nobody. */
      readonly results: readonly (string | null)[];
    }
  | { readonly kind: 'repeat'; readonly body: readonly Statement[] }
  /** Ends the innermost repetition. */
  | { readonly kind: 'leave'; readonly when: Test }
  | {
      readonly kind: 'choose';
      readonly when: Test;
      readonly consequent: readonly Statement[];
      readonly alternate: readonly Statement[];
    };

export type Loaded = 'bool' | 'int32' | 'int64';

/** A comparison with zero. */
export interface Test {
  readonly dim: Dim;
  readonly relation: '=' | '>=';
}

/** A program among those that an artifact runs: a function of sizes and addresses. */
export interface Routine {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: readonly Statement[];
  readonly returns: readonly Dim[];
}

/** A statement with all values in it replaced. */
function mapValues(statement: Statement, map: (value: Dim) => Dim): Statement {
  const all = (values: readonly Dim[]): readonly Dim[] => values.map(map);
  const test = ({ dim, relation }: Test): Test => ({ dim: map(dim), relation });
  const inside = (body: readonly Statement[]): readonly Statement[] =>
    body.map((each) => mapValues(each, map));
  switch (statement.kind) {
    case 'set':
    case 'assign':
      return { ...statement, value: map(statement.value) };
    case 'load':
      return { ...statement, from: map(statement.from) };
    case 'store':
      return { ...statement, to: map(statement.to), value: map(statement.value) };
    case 'require':
      return {
        ...statement,
        test: test(statement.test),
        problem: statement.problem.map((part, i) => (i % 2 === 1 ? map(part as Dim) : part)),
      };
    case 'reserve':
      return { ...statement, end: map(statement.end) };
    case 'run':
      return { ...statement, table: map(statement.table), entries: all(statement.entries) };
    case 'move':
      return {
        ...statement,
        to: map(statement.to),
        from: map(statement.from),
        bytes: map(statement.bytes),
      };
    case 'clear':
      return { ...statement, to: map(statement.to), bytes: map(statement.bytes) };
    case 'declare':
      return statement;
    case 'call':
      return { ...statement, values: all(statement.values) };
    case 'repeat':
      return { ...statement, body: inside(statement.body) };
    case 'leave':
      return { ...statement, when: test(statement.when) };
    case 'choose':
      return {
        ...statement,
        when: test(statement.when),
        consequent: inside(statement.consequent),
        alternate: inside(statement.alternate),
      };
  }
}

/** The same with names replaced by values. */
export function substituteValues(
  body: readonly Statement[],
  values: ReadonlyMap<string, Dim>,
): readonly Statement[] {
  return body.map((statement) => mapValues(statement, (dim) => substituteDim(dim, values)));
}

/** Without names that nobody asks for, which compilers would warn of; `wanted` are those asked for behind it. */
export function withoutUnused(
  body: readonly Statement[],
  wanted: Iterable<Dim>,
): readonly Statement[] {
  const used = new Set<string>();
  for (const dim of wanted) symbolsOf(dim, used);
  for (const statement of body) usedBy(statement, used);
  const isUsed = (name: string): boolean => used.has(name);
  let changed = false;
  const kept = (statements: readonly Statement[]): readonly Statement[] =>
    statements.flatMap((statement): readonly Statement[] => {
      switch (statement.kind) {
        case 'set':
        case 'assign':
        case 'load':
          if (isUsed(statement.name)) return [statement];
          changed = true;
          return [];
        case 'declare': {
          const names = statement.names.filter(isUsed);
          return names.length === 0 ? [] : [{ ...statement, names }];
        }
        case 'call': {
          const results = statement.results.map((name) =>
            name !== null && isUsed(name) ? name : null,
          );
          return [{ ...statement, results }];
        }
        case 'repeat':
          return [{ ...statement, body: kept(statement.body) }];
        case 'choose':
          return [
            {
              ...statement,
              consequent: kept(statement.consequent),
              alternate: kept(statement.alternate),
            },
          ];
        default:
          return [statement];
      }
    });
  const rest = kept(body);
  return changed ? withoutUnused(rest, wanted) : rest;
}

/** The names that a statement asks for; one that only its own next value asks for is not asked for. */
function usedBy(statement: Statement, used: Set<string>): void {
  if (statement.kind === 'assign') {
    for (const name of symbolsOf(statement.value)) if (name !== statement.name) used.add(name);
  } else if (statement.kind === 'repeat') statement.body.forEach((each) => usedBy(each, used));
  else if (statement.kind === 'choose') {
    symbolsOf(statement.when.dim, used);
    for (const each of [...statement.consequent, ...statement.alternate]) usedBy(each, used);
  } else {
    mapValues(statement, (value) => {
      symbolsOf(value, used);
      return value;
    });
  }
}
