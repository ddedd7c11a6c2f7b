/** A branch or loop of a converted function, and the variables that matter to it. */
export interface SourceConstruct {
  /** Keyword or operator: `if`, `?:`, `&&`, `||`, `switch`, `while`, `do`, `for`, `for...of`. */
  readonly kind: string;
  /** Place in the code as it was written; both from 1. */
  readonly line: number;
  readonly column: number;
  /** Number of branches and loops around it. */
  readonly depth: number;
  /** Variables from outside whose values it uses. */
  readonly reads: readonly string[];
  /** Variables that an iteration hands to the next one; none for branches. */
  readonly carries: readonly string[];
  /** Variables that it may change and that are used afterwards. */
  readonly returns: readonly string[];
  /** Variables that it assigns and that matter nowhere else. */
  readonly local: readonly string[];
  /** Jumps that may lead out of it: `return`, `break`, `continue`. */
  readonly leavesBy: readonly string[];
}

/** Code that cannot become a graph: an error where a captured array decides about it. */
export interface SourceRefusal {
  /** The construct in words. */
  readonly construct: string;
  readonly line: number;
  readonly column: number;
}

const lists = ['reads', 'carries', 'returns', 'local', 'leavesBy'] as const;

/**
 * Constructs as text of one line without quotes, as converted functions have it in their directive:
 * `while 4:3 0 reads=x,limit carries=x,n returns=n; if 5:5 1 reads=x`.
 */
export function encodeConstructs(constructs: readonly SourceConstruct[]): string {
  return constructs
    .map(({ kind, line, column, depth, ...rest }) =>
      [
        `${kind} ${line}:${column} ${depth}`,
        ...lists.flatMap((name) => (rest[name].length > 0 ? `${name}=${rest[name].join()}` : [])),
      ].join(' '),
    )
    .join('; ');
}

/** The constructs of such a text. */
export function decodeConstructs(text: string): readonly SourceConstruct[] {
  if (text === '') return [];
  return text.split('; ').map((each) => {
    const [kind, place, depth, ...fields] = each.split(' ');
    const [line, column] = place.split(':').map(Number);
    const names = new Map(fields.map((field) => field.split('=', 2) as [string, string]));
    const [reads, carries, returns, local, leavesBy] = lists.map(
      (name) => names.get(name)?.split(',') ?? [],
    );
    return { kind, line, column, depth: Number(depth), reads, carries, returns, local, leavesBy };
  });
}

/** Lines about constructs, indented by their depth. */
export function constructLines(constructs: readonly SourceConstruct[]): readonly string[] {
  return constructs.flatMap(({ kind, line, column, depth, ...rest }) => {
    const margin = '  '.repeat(depth);
    const tell = (verb: string, names: readonly string[], after = ''): readonly string[] =>
      names.length === 0 ? [] : [`${margin}  ${verb} ${names.join(', ')}${after}`];
    return [
      `${margin}${kind} at ${line}:${column}`,
      ...tell('reads', rest.reads),
      ...tell('carries', rest.carries),
      ...tell('returns', rest.returns),
      ...tell('keeps', rest.local, ' local'),
      ...tell('is left by', rest.leavesBy),
    ];
  });
}
