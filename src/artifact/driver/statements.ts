import { type Dim, substituteDim, symbolsOf } from '../../base/dim/index.js';
import { refusalOver, wordsOver } from '../../ir/requirement.js';
import type { ChooseStatement, HostSite, IntegerStatement, RepeatStatement, ZeroTest } from '../../passes/host/statements.js'; // prettier-ignore

/** A statement of the host program whose arrays have addresses. Addresses are integers like sizes and counts. */
export type PlacedStatement =
  | IntegerStatement<Dim>
  | RepeatStatement<PlacedStatement>
  | ChooseStatement<PlacedStatement>
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
      readonly routine: PlacedRoutine;
      /** In the order of its parameters. */
      readonly values: readonly Dim[];
      /** Names for what it returns; null where nobody asks. */
      readonly results: readonly (string | null)[];
      readonly site: HostSite;
    };

/** A program among those that an artifact runs: a function of sizes and addresses. */
export interface PlacedRoutine {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly body: readonly PlacedStatement[];
  readonly returns: readonly Dim[];
}

/** True if statements may end a run with an error. */
export function mayRefuse(body: readonly PlacedStatement[]): boolean {
  return body.some((statement) => {
    switch (statement.kind) {
      case 'require':
        return true;
      case 'call':
        return mayRefuse(statement.routine.body);
      case 'repeat':
        return mayRefuse(statement.body);
      case 'choose':
        return mayRefuse(statement.consequent) || mayRefuse(statement.alternate);
      default:
        return false;
    }
  });
}

/** A statement with all values in it replaced. */
function mapValues(statement: PlacedStatement, map: (value: Dim) => Dim): PlacedStatement {
  const all = (values: readonly Dim[]): readonly Dim[] => values.map(map);
  const test = ({ dim, relation }: ZeroTest): ZeroTest => ({ dim: map(dim), relation });
  const inside = (body: readonly PlacedStatement[]): readonly PlacedStatement[] =>
    body.map((each) => mapValues(each, map));
  switch (statement.kind) {
    case 'set':
    case 'assign':
      return { ...statement, value: map(statement.value) };
    case 'load':
      return { ...statement, from: map(statement.from) };
    case 'store':
      return { ...statement, to: map(statement.to), value: map(statement.value) };
    case 'require': {
      const { refusal } = statement;
      return { ...statement, test: test(statement.test), refusal: refusalOver(refusal, map) };
    }
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
      return {
        ...statement,
        values: all(statement.values),
        site: { ...statement.site, where: wordsOver(statement.site.where, map) },
      };
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
  body: readonly PlacedStatement[],
  values: ReadonlyMap<string, Dim>,
): readonly PlacedStatement[] {
  return body.map((statement) => mapValues(statement, (dim) => substituteDim(dim, values)));
}

/** Without names that nobody asks for, which compilers would warn of; `wanted` are those asked for behind it. */
export function withoutUnused(
  body: readonly PlacedStatement[],
  wanted: Iterable<Dim>,
): readonly PlacedStatement[] {
  const used = new Set<string>();
  for (const dim of wanted) symbolsOf(dim, used);
  for (const statement of body) usedBy(statement, used);
  const isUsed = (name: string): boolean => used.has(name);
  let changed = false;
  const kept = (statements: readonly PlacedStatement[]): readonly PlacedStatement[] =>
    statements.flatMap((statement): readonly PlacedStatement[] => {
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
function usedBy(statement: PlacedStatement, used: Set<string>): void {
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
