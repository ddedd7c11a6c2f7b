import type { Program } from '../../ir/program.js';
import type { HostStatement, HostRoutine, HostStatementOf } from './statements.js';

type Body = readonly HostStatement[];

/** Statements without a body. */
type Leaf<S = HostStatement> = S extends HostStatement
  ? Body extends S[keyof S]
    ? never
    : S
  : never;

const noBodies = (_leaf: Leaf): readonly Body[] => [];

function bodiesOf(statement: HostStatement): readonly Body[] {
  switch (statement.kind) {
    case 'repeat':
      return [statement.body];
    case 'choose':
      return [statement.consequent, statement.alternate];
    default:
      return noBodies(statement); // does not compile when a statement with a body has no case
  }
}

/** Visits statements in order, those inside of others behind these. */
export function forEachStatement(body: Body, visit: (statement: HostStatement) => void): void {
  for (const statement of body) {
    visit(statement);
    for (const inside of bodiesOf(statement)) forEachStatement(inside, visit);
  }
}

/** Names in texts of the programs that statements run: `island 0`, `region 0`, `chunk 0`. */
export function programNames(body: readonly HostStatement[]): ReadonlyMap<Program, string> {
  const names = new Map<Program, string>();
  const counts = { region: 0, chunk: 0 };
  forEachStatement(body, (statement) => {
    if (statement.kind === 'run') names.set(statement.part.program, statement.part.name);
    if (statement.kind !== 'call') return;
    const { program, kind } = statement.callee;
    if (!names.has(program)) names.set(program, `${kind} ${counts[kind]++}`);
  });
  return names;
}

/** The names that get another value than their first. */
export function changingNames(body: readonly HostStatement[]): ReadonlySet<string> {
  const names = new Set<string>();
  forEachStatement(body, (statement) => {
    if (statement.kind === 'assign') names.add(statement.name);
    else if (statement.kind === 'grow') names.add(statement.rows);
  });
  return names;
}

/** By output of a part, the input that it is to overwrite, given those that outputs of the program are to. */
export function replacedIn(
  { reads, gives }: HostStatementOf<'run'>,
  { inputs, outputs }: HostRoutine,
  replaced: readonly (number | null)[],
): readonly (number | null)[] {
  return gives.map((handle) => {
    const k = outputs.findIndex(({ of }, i) => of === handle && typeof replaced[i] === 'number');
    const at = k < 0 ? -1 : reads.findIndex(({ of }) => of === inputs[replaced[k]!]);
    return at < 0 ? null : at;
  });
}
