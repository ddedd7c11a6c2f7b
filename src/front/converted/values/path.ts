import { graphDirective } from '../../../base/directive.js';
import { KaonError, TraceError } from '../../../base/errors.js';
import type { Capture } from '../../core/capture.js';
import { mode } from '../../core/mode.js';
import { guard, undecidable } from './host.js';
import type { NDArray } from '../../core/ndarray.js';
import type { Moment } from './moments.js';
import { endsPath, noteThrown } from './throws.js';

/* The path that is traced now: what may be done on it, and how it ends where a statement throws. */

/** The number of branches and loops that arrays decide around the code that runs now. */
let depth = 0;

/** Rows along a first axis. */
export interface Rows {
  readonly rows: NDArray;
  /** One bool a row: true if it was pushed. Null where all were. */
  readonly flags: NDArray | null;
  /** The row, where there is one that was pushed. */
  readonly single?: NDArray;
}

/** Rows by the list that they were pushed to. */
export type PushedRows = ReadonlyMap<object, readonly Rows[]>;

/** A use of a list of rows: of their number, of the last one, or of any. */
export type RowUse = 'count' | 'last' | 'rows';

/** Rows of a list before an iteration. A member that the loop does not carry yet has the loop traced again. */
export interface EarlierRows {
  /** True if there is a row, whatever the data is. */
  readonly isNeverEmpty: boolean;
  readonly count: () => NDArray;
  readonly last: () => NDArray;
  readonly rows: () => Rows;
}

/** A path or an iteration that is traced. */
export interface TracedPath {
  readonly around: TracedPath | null;
  /** Rows that it pushes to lists made outside of it. */
  readonly pushed: Map<object, readonly Rows[]>;
  /** Uses of such lists. */
  readonly used: Map<object, ReadonlySet<RowUse>>;
  /** True where it has read a row of a list that has had none in the trace so far. */
  readsNoRow: boolean;
  /** Rows before an iteration, by lists to which the loop pushes and which its iterations use. */
  readonly earlier: ReadonlyMap<object, EarlierRows>;
  /** Flags of values that may be absent, where the path is known to have them or not. */
  readonly present: Map<NDArray, boolean>;
  /** Objects from outside of it whose members it may change; null for code that no array decides about. */
  readonly objects: PathObjects | null;
  /** The capture of the function that is captured for itself. */
  readonly root: Capture | null;
}

/** A member that only syntax can name: a private one. */
export interface SyntacticMember {
  readonly read: (object: never) => unknown;
  readonly write: (object: never, value: unknown) => unknown;
  /** Its name and its class. */
  readonly slot: string;
}

export type MemberKey = PropertyKey | SyntacticMember;

/** Text of an error about a change that cannot become a graph. */
export interface ChangeRefusal {
  readonly construct: string;
  readonly advice: string;
}

/** Objects whose members a path changes. */
export interface PathObjects {
  /** True for an object that variables of the construct hold. */
  readonly isHeld: (object: object) => boolean;
  /** True for a member that goes through the construct: variables of it hold the object, or it is known to change. */
  readonly isCarried: (object: object, key: MemberKey) => boolean;
  /**
   * Sees to a member of another one: false for an object that was made on the path. `isFromBefore`: it is known to have
   * been there before. A change of the whole object (`key`: null) is refused if it was.
   */
  readonly track: (object: object, key: MemberKey | null, site: string, isFromBefore: boolean, refusal?: ChangeRefusal) => boolean; // prettier-ignore
  /**
   * Ends the path. `isReached`: its end is reached.
   * @throws Retrace where it has changed members that were not known.
   */
  readonly end: (isReached: boolean) => void;
}

function pathIn(
  around: TracedPath | null,
  objects: PathObjects | null,
  earlier: TracedPath['earlier'] = new Map(),
): TracedPath {
  const root = outermost(mode.capture);
  const own = { pushed: new Map(), used: new Map(), present: new Map(), readsNoRow: false };
  return { around, earlier, objects, root, ...own };
}

/** The innermost one around the code that runs now. */
let path: TracedPath = pathIn(null, null);

export function currentPath(): TracedPath {
  return path;
}

/** Changes that code makes from a point on. */
export interface ChangeLog {
  readonly changed: Set<object>;
  /** Objects among them whose changes cannot be taken back. */
  readonly lasting: Set<object>;
  /** Parts of the others as they were before they changed first: whole objects, or single members. */
  readonly parts: Map<object, Map<unknown, { readonly moment: Moment; readonly goBack: () => void }>>; // prettier-ignore
  /** Objects that are made meanwhile. */
  readonly made: Set<object>;
  /** The entries and rows of lists before they were pushed to. */
  readonly lists: Map<PushedList, readonly [entries: readonly unknown[], rows: readonly Rows[]]>;
}

/** The parts of a list that pushes change. */
interface PushedList {
  readonly entries: unknown[];
  readonly rows: Rows[];
}

/** The logs that are kept now, the innermost last. */
const logs: ChangeLog[] = [];

/** Runs code and logs the changes that it makes. */
export function logging<R>(run: (log: ChangeLog) => R): {
  readonly result: R;
  readonly log: ChangeLog;
} {
  const log: ChangeLog = { changed: new Set(), lasting: new Set(), parts: new Map(), made: new Set(), lists: new Map() }; // prettier-ignore
  logs.push(log);
  try {
    return { result: run(log), log };
  } finally {
    logs.pop();
  }
}

/** Logs that an object is about to change: a part of it, which `moment` takes; null where that cannot be taken back. */
export function logChange(object: object, moment: Moment | null, part?: string): void {
  for (const { changed, lasting, parts } of logs) {
    changed.add(object);
    if (moment === null) lasting.add(object);
    const own = parts.get(object) ?? new Map<unknown, { moment: Moment; goBack: () => void }>();
    if (moment === null || own.has(part)) continue;
    parts.set(object, own.set(part, { moment, goBack: moment() }));
  }
}

/** Logs that a list is about to be pushed to. */
export function logPush(list: PushedList): void {
  for (const { lists } of logs)
    if (!lists.has(list)) lists.set(list, [[...list.entries], [...list.rows]]);
}

/** Objects by the path they were made on, and how many had been made by then. */
const makers = new WeakMap<object, { readonly maker: TracedPath; readonly place: number }>();

let made = 0;

/** The number of objects that were made so far. */
export function objectsMade(): number {
  return made;
}

/** Stretches of that number: the objects were made in traces that were given up. */
const givenUp: (readonly [from: number, to: number])[] = [];

/** Notes that a trace is given up, and with it all objects that were made since it began. */
export function giveUp(since: number): void {
  while (givenUp.length > 0 && givenUp[givenUp.length - 1][0] >= since) givenUp.pop();
  givenUp.push([since, made]);
}

/** Forgets the traces that were given up, where no construct is traced any more. */
export function forgetGivenUp(): void {
  givenUp.length = 0;
}

/** True for an object that was made in a trace that was given up; null for one of which nothing is known. */
export function isGivenUp(object: object): boolean | null {
  const place = makers.get(object)?.place;
  return place === undefined ? null : givenUp.some(([from, to]) => from < place && place <= to);
}

/** Notes that an object is made now. */
export function noteMaker(object: object): void {
  makers.set(object, { maker: path, place: ++made });
  for (const log of logs) log.made.add(object);
}

export function makerOf(object: object): TracedPath | undefined {
  return makers.get(object)?.maker;
}

/** Deeper ones are a recursion that only an array would end. */
const deepest = 200;
/** As deep as that, it is such a recursion that has used up the stack. */
const deep = 32;
/** Number of paths, one in the other, of the outermost one that runs now. */
let deepestNow = 0;

function endless(cause?: unknown): TraceError {
  return new TraceError('branches that arrays decide are nested without end', {
    op: graphDirective,
    expected: `at most ${deepest}, one in the other`,
    actual: 'a function that calls itself until an array says no',
    advice: 'write a loop',
    ...(cause !== undefined && { cause }),
  });
}

/** True for the error of engines for a full stack: a RangeError, or in Firefox an error of its own. */
function isOverflow(error: unknown): boolean {
  return (
    error instanceof Error &&
    /call stack|recursion/i.test(error.message) &&
    !(error instanceof KaonError)
  );
}

/** The capture of the innermost path or iteration. */
let pathCapture: Capture | null = null;

/**
 * Runs code that an array decides about. @param dead The result where a statement of the code throws: the program
 * throws that where it comes there. @param earlier Of an iteration: the rows before it.
 */
export function decided<R>(
  run: () => R,
  dead: () => R,
  objects: PathObjects,
  earlier?: TracedPath['earlier'],
): { readonly result: R; readonly traced: TracedPath } {
  if (depth >= deepest) throw endless();
  if (depth === 0) deepestNow = 0;
  const around = { path, pathCapture };
  deepestNow = Math.max(deepestNow, ++depth);
  path = pathIn(path, objects, earlier);
  pathCapture = mode.capture;
  try {
    const result = run();
    objects.end(true);
    return { result, traced: path };
  } catch (error) {
    objects.end(false);
    // The stack may end first. Where there is room again, this is an error like the other.
    if (depth === 1 && deepestNow >= deep && isOverflow(error)) throw endless(error);
    // A push that is traced later may give the list rows. Where none does, the path throws what eager code throws.
    const isOfList = path.readsNoRow && (error instanceof KaonError || error instanceof TypeError);
    if (isOfList && earlier === undefined) noteThrown(error, null);
    if (!endsPath(error)) throw error;
    return { result: dead(), traced: pathIn(null, null) };
  } finally {
    depth--;
    ({ path, pathCapture } = around);
  }
}

/** True on a path that an array decides; a function that is captured for itself starts anew. */
export function isDecided(): boolean {
  return depth > 0 && outermost(mode.capture) === outermost(pathCapture);
}

/** The capture of the whole function that is captured. */
export function outermost(capture: Capture | null): Capture | null {
  let found = capture;
  while (found !== null && found.parent !== null) found = found.parent;
  return found;
}

/** Refuses what an array decides about. */
export function undecided(construct: string, site: string, advice?: string): void {
  if (isDecided()) throw undecidable(construct, site, advice);
}

/** The value that a statement throws. */
export function thrown(value: unknown, site: string): unknown {
  return noteThrown(value, site);
}

/** Record of a call of an async function or generator. */
interface Suspensions {
  /** The path on which it began: on another one it would go on from where the first has left it. */
  readonly home: TracedPath;
  /** The number of blocks of `try` that it is in. */
  guards: number;
  isSuspended: boolean;
}

export function suspensions(): Suspensions {
  return { home: path, guards: 0, isSuspended: false };
}

/** Suspends: the code that runs meanwhile is in none of its blocks of `try`. */
export function suspended<T>(record: Suspensions, value: T): T {
  record.isSuspended = true;
  guard(-record.guards);
  return value;
}

/** Goes on with the value that it was resumed with. */
export function resumed<T>(record: Suspensions, site: string, value: T): T {
  goOn(record);
  if (path !== record.home) undecided('yield in a generator that began on another path', site); // prettier-ignore
  return value;
}

function goOn(record: Suspensions): void {
  if (record.isSuspended) guard(record.guards);
  record.isSuspended = false;
}

/** Enters the block of a `try`, or leaves it, also where an error or the end of a generator resumes it. */
export function guardWith(record: Suspensions, by: 1 | -1): void {
  goOn(record);
  record.guards += by;
  guard(by);
}
