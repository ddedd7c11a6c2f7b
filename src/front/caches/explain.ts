import { BoundedCache } from '../../base/bounded-cache.js';
import type { IslandReport, PartReport } from '../../runtime/execution/backends.js';
import type { TierReport } from '../../runtime/execution/executable.js';
import { adviceFor, type Guard } from './guards.js';
import { type Column, table } from '../../base/text-table.js';

/** Report on one trace of a hybridized function. */
export interface TraceReport {
  /** Index of the trace, counted from 0. */
  readonly id: number;
  /** The arguments and the mode of the trace; symbolic sizes match every size. */
  readonly signature: string;
  /** The names of the symbolic sizes. */
  readonly symbols: readonly string[];
  /** Operator calls in the graph. */
  readonly operators: number;
  /** The names of the arrays from outside that it reads. */
  readonly captured: readonly string[];
  /** Number of calls it has served. */
  readonly calls: number;
  /** Time of tracing. */
  readonly milliseconds: number;
  /** Time of compiling and the first run; null before the first run. */
  readonly firstRunMilliseconds: number | null;
  /** The execution tiers of its parts; empty before the first run. */
  readonly tiers: readonly TierReport[];
  /** Operators that run on the CPU because the device of the arrays lacks them. */
  readonly islands: readonly IslandReport[];
  /**
   * Parts of a graph of which a backend runs some, in order; empty before the first run, and without a backend. Parts
   * of the bodies of loops and branches are listed once they have run.
   */
  readonly parts: readonly PartReport[];
}

/** A cache miss: a call that created a trace. */
export interface Miss {
  /** The id of the created trace. */
  readonly trace: number;
  /**
   * First difference between the call and the closest trace, with the number of `others`. Null without a
   * closest trace: for the first call, and for one that an evicted trace would have served.
   */
  readonly guard: Guard | null;
  readonly others: number;
  /** The user's line of the call. */
  readonly source: string | undefined;
  /** Names of the sizes that became symbols. */
  readonly symbols: readonly string[];
  /** Reason why changed sizes did not become symbols; null when there is none. */
  readonly obstacle: string | null;
  readonly milliseconds: number;
  readonly firstRunMilliseconds: number | null;
}

/** Report on the captures of a hybridized function. */
export interface Explanation {
  readonly name: string;
  /** Cached traces, oldest first. */
  readonly traces: readonly TraceReport[];
  /** Number of evicted traces. */
  readonly evicted: number;
  /** Number of cache hits. */
  readonly hits: number;
  /** Cache misses, oldest first. */
  readonly misses: readonly Miss[];
  /** Number of older misses that are no longer listed. */
  readonly forgotten: number;
  /** Advice for guards that fail repeatedly. */
  readonly advice: readonly string[];
  /** True for a function with `'use graph'`, of whose branches and loops `explainSource` tells. */
  readonly isConverted: boolean;
  /** The report as tables. */
  toString(): string;
}

export function explanation(fields: Omit<Explanation, 'toString'>): Explanation {
  return { ...fields, toString: () => render(fields) };
}

/** Merges the explanations of one function that was captured for several objects. */
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
    isConverted: all[0].isConverted,
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

/** A source line relative to the working directory, in browsers to the site. */
function nearby(source: string | undefined): string {
  if (source === undefined) return 'an unknown line';
  const { process, location } = globalThis as {
    readonly process?: { cwd?(): string };
    readonly location?: { readonly origin: string };
  };
  const home = process?.cwd?.() ?? location?.origin;
  if (home === undefined) return source;
  // Windows has paths with and without a slash before the drive, and both kinds of slashes.
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
  isConverted,
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
  if (isConverted) lines.push('', 'explainSource tells of its branches and loops');
  return [...lines, ...tierLines(traces), ...islandLines(traces), ...partLines(traces)].join('\n');
}

function count(number: number, noun: string): string {
  const plural = noun.endsWith('s') ? 'es' : 's';
  return `${number} ${noun}${number === 1 ? '' : plural}`;
}

/** `native`, or `wasm and native` while parts differ. */
function tiersInShort({ tiers }: TraceReport): string {
  return [...new Set(tiers.map(({ tier }) => tier))].sort().reverse().join(' and ');
}

/**
 * Time of the switch to native code, or the reason against it. Lines shared by several parts are printed
 * once.
 */
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

/** `dtype of argument 0`; flags and fields have no kind. */
export function describeGuard({ kind, path }: Guard): string {
  return kind === path || kind === 'field' ? path : `${kind} of ${path}`;
}

/** Number of misses with the same guard that triggers advice. */
const often = 4;

/** Counts of guard failures, including those of misses that are no longer listed. */
export class GuardCounts {
  readonly #counts: BoundedCache<string, { readonly guard: Guard; readonly times: number }>;

  constructor(capacity: number) {
    this.#counts = new BoundedCache({ capacity });
  }

  note(guard: Guard): void {
    const key = `${guard.kind} ${guard.path}`;
    const times = (this.#counts.get(key)?.times ?? 0) + 1;
    this.#counts.set(key, { guard, times });
  }

  advice(): readonly string[] {
    return [...this.#counts.values()]
      .filter(({ times }) => times >= often)
      .map(({ guard, times }) => {
        return `${describeGuard(guard)} was new ${times} times: ${adviceFor(guard)}`;
      });
  }
}

/** Lines about calls that run on the CPU because a device lacks them. */
function islandLines(traces: readonly TraceReport[]): readonly string[] {
  return traces.flatMap(({ id, islands }) =>
    islands.map(({ device, calls, bytes }) => {
      const moved = bytes === null ? 'not run yet' : `${bytes} bytes moved`;
      return `trace ${id}, on the CPU instead of ${device}: ${calls.join(', ')}; ${moved}`;
    }),
  );
}

/** Lines about the parts of graphs that are divided between a backend and this library. */
function partLines(traces: readonly TraceReport[]): readonly string[] {
  return traces.flatMap(({ id, parts }) =>
    parts.map(({ backend, calls, runs, bytes, milliseconds, problem }) => {
      const what = calls.length === 0 ? 'no operators' : calls.join(', ');
      const facts = [`${count(runs, 'run')} in ${milliseconds.toFixed(1)} ms`];
      if (bytes !== null) facts.push(`${bytes} bytes moved`);
      if (problem !== null) facts.push(`not compiled elsewhere: ${problem}`);
      return `trace ${id}, on ${backend}: ${what}; ${facts.join(', ')}`;
    }),
  );
}
