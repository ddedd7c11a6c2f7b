import type { TierReport } from '../../runtime/execution/executable.js';
import { adviceFor, type Guard } from './guards.js';
import { type Column, table } from './text-table.js';

/** What is known of one trace of a hybridized function. */
export interface TraceReport {
  /** Counts the traces of the function, from 0 on. */
  readonly id: number;
  /** The arguments and the mode it was made for; symbolic sizes stand for every size. */
  readonly signature: string;
  /** The names of the symbolic sizes. */
  readonly symbols: readonly string[];
  /** Operator calls in the graph. */
  readonly operators: number;
  /** The names of the arrays from outside that it reads. */
  readonly captured: readonly string[];
  /** How many calls it has served. */
  readonly calls: number;
  /** What tracing cost. */
  readonly milliseconds: number;
  /** What compiling and the first run cost together; null before the first run. */
  readonly firstRunMilliseconds: number | null;
  /** The code that it runs as, part by part; empty before the first run. */
  readonly tiers: readonly TierReport[];
}

/** A call that found no trace, and so made one. */
export interface Miss {
  /** The id of the trace that was made. */
  readonly trace: number;
  /**
   * Where the call differs from the trace that is most like it: in this guard, and in `others` more.
   * Null where there was nothing to compare with: for the first call, and for one that an evicted trace
   * would have served.
   */
  readonly guard: Guard | null;
  readonly others: number;
  /** The user's line that made the call. */
  readonly source: string | undefined;
  /** The sizes that became symbols. */
  readonly symbols: readonly string[];
  /** Why sizes that have changed could not become symbols; null where nothing of the kind happened. */
  readonly obstacle: string | null;
  readonly milliseconds: number;
  readonly firstRunMilliseconds: number | null;
}

/** What a hybridized function has captured so far, and why. */
export interface Explanation {
  readonly name: string;
  /** Those that are kept, oldest first. */
  readonly traces: readonly TraceReport[];
  /** Traces that had to go, since only so many are kept. */
  readonly evicted: number;
  /** Calls that found their trace. */
  readonly hits: number;
  /** Calls that had to trace, oldest first. */
  readonly misses: readonly Miss[];
  /** Older misses that are no longer listed. */
  readonly forgotten: number;
  /** What to change where one guard fails again and again. */
  readonly advice: readonly string[];
  /** All of it as tables. */
  toString(): string;
}

export function explanation(fields: Omit<Explanation, 'toString'>): Explanation {
  return { ...fields, toString: () => render(fields) };
}

/** The explanations of one function that was captured for several objects, as one. */
export function mergeExplanations(all: readonly Explanation[]): Explanation {
  const sum = (of: (each: Explanation) => number): number =>
    all.reduce((total, each) => total + of(each), 0);
  return explanation({
    name: all[0].name,
    traces: all.flatMap(({ traces }) => traces),
    evicted: sum(({ evicted }) => evicted),
    hits: sum(({ hits }) => hits),
    misses: all.flatMap(({ misses }) => misses),
    forgotten: sum(({ forgotten }) => forgotten),
    advice: all.flatMap(({ advice }) => advice),
  });
}

const traceColumns: readonly Column<TraceReport>[] = [
  { title: 'trace', align: 'right', show: ({ id }) => String(id) },
  { title: 'signature', align: 'left', show: ({ signature }) => signature },
  { title: 'operators', align: 'right', show: ({ operators }) => String(operators) },
  { title: 'captured', align: 'right', show: ({ captured }) => String(captured.length) },
  { title: 'calls', align: 'right', show: ({ calls }) => String(calls) },
  { title: 'trace ms', align: 'right', show: ({ milliseconds }) => milliseconds.toFixed(1) },
  { title: 'first run ms', align: 'right', show: firstRun },
  { title: 'tier', align: 'left', show: tiersInShort },
];

const missColumns: readonly Column<Miss>[] = [
  { title: 'miss', align: 'right', show: ({ trace }) => String(trace) },
  { title: 'because of', align: 'left', show: reason },
  { title: 'from', align: 'left', show: ({ guard }) => guard?.expected ?? '' },
  { title: 'to', align: 'left', show: ({ guard }) => guard?.actual ?? '' },
  { title: 'trace ms', align: 'right', show: ({ milliseconds }) => milliseconds.toFixed(1) },
  { title: 'first run ms', align: 'right', show: firstRun },
  { title: 'at', align: 'left', show: ({ source }) => nearby(source) },
];

/** A source line as seen from the working directory, in browsers from the site: as short as it can be. */
function nearby(source: string | undefined): string {
  if (source === undefined) return 'an unknown line';
  const { process, location } = globalThis as {
    readonly process?: { cwd?(): string };
    readonly location?: { readonly origin: string };
  };
  const home = process?.cwd?.() ?? location?.origin;
  if (home === undefined) return source;
  // Windows has paths with and without a slash before the drive, and slashes of both kinds.
  const [place, folder] = [source, `${home}/`].map((path) =>
    path.replaceAll('\\', '/').replace(/^\/(?=[A-Za-z]:)/, ''),
  );
  return place.startsWith(folder) ? place.slice(folder.length) : source;
}

function render({
  name,
  traces,
  evicted,
  hits,
  misses,
  forgotten,
  advice,
}: Omit<Explanation, 'toString'>): string {
  const total = misses.length + forgotten;
  const gone = evicted > 0 ? `, ${evicted} evicted` : '';
  const lines = [
    `${name}: ${count(traces.length, 'trace')}${gone}, ${count(hits, 'hit')}, ${count(total, 'miss')}`,
  ];
  if (traces.length > 0) lines.push('', ...table(traceColumns, traces));
  if (misses.length > 0) lines.push('', ...table(missColumns, misses));
  if (forgotten > 0) lines.push(`${count(forgotten, 'older miss')} not shown`);
  const obstacles = new Set(misses.flatMap(({ obstacle }) => obstacle ?? []));
  if (obstacles.size > 0) lines.push('', 'sizes that stay numbers:');
  for (const obstacle of obstacles) lines.push(`  ${obstacle}`);
  if (advice.length > 0) lines.push('', ...advice.map((text) => `advice: ${text}`));
  return [...lines, ...tierLines(traces)].join('\n');
}

function count(number: number, noun: string): string {
  const plural = noun.endsWith('s') ? 'es' : 's';
  return `${number} ${noun}${number === 1 ? '' : plural}`;
}

/** `native`, or `wasm and native` while parts differ. */
function tiersInShort({ tiers }: TraceReport): string {
  return [...new Set(tiers.map(({ tier }) => tier))].sort().reverse().join(' and ');
}

/** Since when code is native, or why it is not. What is the same for several parts is said once. */
function tierLines(traces: readonly TraceReport[]): readonly string[] {
  const lines = new Set<string>();
  const notes = new Set<string>();
  for (const { id, tiers } of traces) {
    for (const { part, tier, since, reason, note } of tiers) {
      const what = `trace ${id}${part === '' ? '' : `, ${part}`}`;
      const why = since === null ? reason : `since run ${since}`;
      lines.add(`${what}: ${tier}${why === null ? '' : `, ${why}`}`);
      if (note !== null) notes.add(`note: ${note}`);
    }
  }
  return lines.size === 0 ? [] : ['', ...lines, ...notes];
}

function firstRun({ firstRunMilliseconds }: Miss | TraceReport): string {
  return firstRunMilliseconds === null ? '' : firstRunMilliseconds.toFixed(1);
}

function reason({ guard, others, symbols }: Miss): string {
  const what = guard === null ? 'nothing alike' : describeGuard(guard);
  const more = others > 0 ? ` and ${others} more` : '';
  return `${what}${more}${symbols.length > 0 ? `, now any size: ${symbols.join(', ')}` : ''}`;
}

/** `dtype of argument 0`; a flag or a field speaks for itself. */
export function describeGuard({ kind, path }: Guard): string {
  return kind === path || kind === 'field' ? path : `${kind} of ${path}`;
}

/** After so many misses for one reason, there is something to say about it. */
const often = 4;

/** How often each guard failed, also in misses that are forgotten. */
export class GuardCounts {
  readonly #counts: Map<string, { guard: Guard; times: number }> = new Map();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  note(guard: Guard): void {
    const key = `${guard.kind} ${guard.path}`;
    const times = (this.#counts.get(key)?.times ?? 0) + 1;
    // Again at the end: what has not failed for the longest time goes first.
    this.#counts.delete(key);
    this.#counts.set(key, { guard, times });
    if (this.#counts.size > this.#capacity) {
      this.#counts.delete(this.#counts.keys().next().value!);
    }
  }

  advice(): readonly string[] {
    return [...this.#counts.values()]
      .filter(({ times }) => times >= often)
      .map(({ guard, times }) => {
        return `${describeGuard(guard)} was new ${times} times: ${adviceFor(guard)}`;
      });
  }
}
