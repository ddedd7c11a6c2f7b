import { messageText } from './message-text.js';

/** Details of an error. All fields are optional except the message. */
export interface ErrorDetails {
  /** The operator or function that refused, as the user spells it. */
  readonly op?: string;
  /** Accepted values. */
  readonly expected?: string;
  /** The value that was refused. */
  readonly actual?: string;
  /** Remedy, as one imperative sentence. */
  readonly advice?: string;
  /** The user's source line, `file:line:column`; found from the stack when absent. */
  readonly source?: string;
  /** The error behind this one. */
  readonly cause?: unknown;
}

/** Frames of the stack that are searched for user frames, and user frames that are shown. */
const deepest = 40;
const mostShown = 12;

/**
 * Base class of every error that Kaon throws on purpose. Its stack has the user's frames only, unless
 * `KAON_DEBUG=stacks` asks for all, or the error is Kaon's own fault.
 */
export abstract class KaonError extends Error {
  /** Stable code of the kind of error: `KAON_SHAPE` and the like. */
  abstract readonly code: string;
  // Private fields, so that printing the error does not repeat what the message says.
  readonly #problem: string;
  readonly #details: ErrorDetails;
  #innermost: object | undefined;
  #block: string | undefined;

  constructor(problem: string, details: ErrorDetails = {}) {
    const { cause, ...facts } = details ?? {};
    // The user's frame may lie deeper than the ten that are kept by default.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = Math.max(limit, deepest);
    super('', cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = limit;
    this.name = new.target.name; // every class states its own: minifiers change those of classes
    this.#problem = textOf(problem) ?? 'an unknown problem';
    this.#details = { ...facts, source: facts.source ?? userFrame(this.stack) };
    if (cause instanceof KaonError) {
      this.#innermost = cause.#innermost;
      this.#block = cause.#block;
    }
    this.#tell(cause instanceof KaonError ? cause.#handOver() : this.#frames());
  }

  /** The problem without details; `message` has both. */
  get problem(): string {
    return this.#problem;
  }

  /** See `ErrorDetails` for this and the others. */
  get op(): string | undefined {
    return textOf(this.#details.op);
  }

  get expected(): string | undefined {
    return textOf(this.#details.expected);
  }

  get actual(): string | undefined {
    return textOf(this.#details.actual);
  }

  get advice(): string | undefined {
    return textOf(this.#details.advice);
  }

  get source(): string | undefined {
    return textOf(this.#details.source);
  }

  /**
   * The block in which the error occurred, by its path in the outermost block that was called: `items.1
   * (Dense)`.
   */
  get block(): string | undefined {
    return this.#block;
  }

  /**
   * @internal Records that the error left a block, the innermost first. Each outer block reports the path of
   * the innermost in it; undefined keeps the path so far.
   */
  comeOutOf(block: object, placeOf: (innermost: object) => string | undefined): void {
    this.#innermost ??= block;
    this.#block = placeOf(this.#innermost) ?? this.#block;
    this.#tell(framesOf(this.stack));
  }

  #tell(frames: string): void {
    this.message = messageText(this);
    this.stack = `${this.name}: ${this.message}${frames}`;
  }

  /**
   * Hands the stack to an error that wraps this one. Consoles print causes as well, and would otherwise print
   * the stack twice.
   */
  #handOver(): string {
    const frames = framesOf(this.stack);
    const [first] = this.message.split('\n', 1);
    if (!showsWholeStacks()) this.stack = `${this.name}: ${first}`;
    return frames;
  }

  /** The frames of the stack that belong to user code. */
  #frames(): string {
    const all = framesOf(this.stack);
    if (this instanceof InternalError || showsWholeStacks()) return all;
    const lines = all.split('\n').slice(1);
    const users = lines.filter((line) => {
      const place = placeIn(line);
      return place !== undefined && !isHome(place);
    });
    const shown = users.length > 0 ? users : lines;
    return shown
      .slice(0, mostShown)
      .map((line) => `\n${line}`)
      .join('');
  }
}

/** A stack without its first lines, which repeat the message. */
function framesOf(stack: string | undefined): string {
  const start = stack?.search(/\n {4}at /) ?? -1;
  return start < 0 ? '' : stack!.slice(start);
}

/** Text of a value that was thrown, which may be anything. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  try {
    return String(value);
  } catch {
    return 'something that has no text';
  }
}

let asksForWholeStacks: () => boolean = () => false;

/** @internal Installs the flag that asks for complete stacks. */
export function installWholeStacks(asks: () => boolean): void {
  asksForWholeStacks = asks;
}

function showsWholeStacks(): boolean {
  const asks = asksForWholeStacks;
  // The callback threw an error of this class, which would call it again.
  asksForWholeStacks = () => false;
  try {
    return asks();
  } catch {
    return false;
  } finally {
    asksForWholeStacks = asks;
  }
}

/** Wrong size or rank. */
export class ShapeError extends KaonError {
  static override readonly name: string = 'ShapeError';
  readonly code = 'KAON_SHAPE';
}

/** Wrong dtype. */
export class DTypeError extends KaonError {
  static override readonly name: string = 'DTypeError';
  readonly code = 'KAON_DTYPE';
}

/** Any other fault in the arguments of a call. */
export class ArgumentError extends KaonError {
  static override readonly name: string = 'ArgumentError';
  readonly code = 'KAON_ARGUMENT';
}

/** Code that cannot be captured, or whose captures differ. */
export class TraceError extends KaonError {
  static override readonly name: string = 'TraceError';
  readonly code = 'KAON_TRACE';
}

/** Ill-formed graph, or ill-formed file of one. */
export class GraphError extends KaonError {
  static override readonly name: string = 'GraphError';
  readonly code = 'KAON_GRAPH';
}

/** Damaged or foreign file. */
export class FormatError extends KaonError {
  static override readonly name: string = 'FormatError';
  readonly code = 'KAON_FORMAT';
}

/** Valid request that is not available here; the message names what would be needed. */
export class UnsupportedError extends KaonError {
  static override readonly name: string = 'UnsupportedError';
  readonly code = 'KAON_UNSUPPORTED';
}

/** A condition that the user's code states with `check` does not hold. */
export class CheckError extends KaonError {
  static override readonly name: string = 'CheckError';
  readonly code = 'KAON_CHECK';
}

/** Failure while a program runs on a device. */
export class DeviceError extends KaonError {
  static override readonly name: string = 'DeviceError';
  readonly code = 'KAON_DEVICE';
}

/** Broken invariant: a bug in Kaon, never the user's mistake. */
export class InternalError extends KaonError {
  static override readonly name: string = 'InternalError';
  readonly code = 'KAON_INTERNAL';
}

type KaonErrorConstructor = new (problem: string, details: ErrorDetails) => KaonError;

/**
 * The same kind of error with the context of an outer call: `context` is put before the problem, `op` and
 * `source` are the outer ones. An error that was not thrown on purpose becomes an `InternalError`.
 */
export function inContext(
  error: unknown,
  context: string,
  details: Pick<ErrorDetails, 'op' | 'source'> = {},
): KaonError {
  const where = textOf(context) ?? '';
  if (!(error instanceof KaonError)) {
    return new InternalError(`${where}: ${textOf(error) ?? 'undefined'}`, {
      ...details,
      cause: error,
    });
  }
  const { op, problem } = error;
  const inner = op === undefined || op === details.op ? problem : `${op}: ${problem}`;
  return again(error, `${where}: ${inner}`, details);
}

/**
 * Adds the name of the public function to an error thrown where it was not known, such as by a file reader or
 * a device. Errors that have a name, and foreign errors, are returned unchanged.
 */
export function named(error: unknown, op: string): unknown {
  if (!(error instanceof KaonError) || error.op !== undefined) return error;
  return again(error, error.problem, { op });
}

/** Gives an error the user's line of a call that has returned before it was made; undefined for none. */
export function located(error: unknown, source: string | undefined): unknown {
  if (!(error instanceof KaonError) || source === undefined) return error;
  return again(error, error.problem, { op: error.op, source });
}

function again(
  error: KaonError,
  problem: string,
  { op, source = error.source }: Pick<ErrorDetails, 'op' | 'source'>,
): KaonError {
  const { expected, actual, advice } = error;
  const details = { op, expected, actual, advice, source, cause: error };
  return new (error.constructor as KaonErrorConstructor)(problem, details);
}

/** Prefixes of file names other than the runtime's own: bundlers have schemes of their own, such as `webpack://`. */
const prefix = String.raw`(?:(?!wasm:)[a-z][a-z0-9+.-]*:\/\/|\/|[A-Za-z]:\\)`;
const filePattern = new RegExp(`^${prefix}`);
const linePattern = new RegExp(String.raw`(?:\(|at |async |@)(${prefix}[^()]*:\d+:\d+)\)?$`);

/** The file, line and column that a line of a stack names; undefined for the runtime's own. */
function placeIn(line: string): string | undefined {
  return linePattern.exec(line)?.[1];
}

function hrefOf(place: string): string {
  if (/^[A-Za-z]:\\/.test(place)) return `file:///${place.replaceAll('\\', '/')}`;
  return place.startsWith('/') ? `file://${place}` : place;
}

/**
 * Locations of Kaon's own frames: the folder above this file, or the bundle it is in, as it was loaded and,
 * when the runtime applies source maps to stacks, as it was written.
 */
const homes: readonly string[] = [import.meta.url, placeIn(new Error().stack?.split('\n')[1] ?? '')]
  .filter((place) => place !== undefined)
  .map((place) => {
    const file = hrefOf(place).replace(/(:\d+){2}$/, '');
    return /\/base\/errors\.[jt]s$/.test(file) ? new URL('../', file).href : file;
  });

function isHome(place: string): boolean {
  const href = hrefOf(place);
  return homes.some((home) => href.startsWith(home));
}

/**
 * The innermost frame of a stack that is the user's own: neither Kaon's nor the runtime's.
 * Returns `file:line:column`, or undefined when the stack holds no such frame.
 */
export function userFrame(stack: string | undefined): string | undefined {
  if (typeof stack !== 'string') return undefined;
  for (const line of stack.split('\n')) {
    const place = placeIn(line);
    if (place === undefined) continue;
    if (isHome(place)) continue;
    return place.replace(/^file:\/\//, '');
  }
  return undefined;
}

/** The part of V8's CallSite that is used. */
interface CallSite {
  getFileName(): string | null | undefined;
  /** From 1; null when unknown. */
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
}

/** True when file names tell user frames from Kaon's: false if one bundle holds both and stacks are mapped. */
const filesTell = new Set(homes).size === 1 || homes.every((home) => home.endsWith('/'));

/** Frames that are examined first: about as deep as user frames were found recently. */
let reach = 16;

/** Cache: true for files of the user. */
const usersFiles: Map<string, boolean> = new Map();

/**
 * Multiplier that combines line and column into one key. Exceeds the length of any line except in a bundle on
 * one line; lines below 2 ** 25 stay distinct.
 */
const columns = 2 ** 28;

/** Cache of sources by file and position: printing a stack costs many times more than looking at it. */
const knownSources: Map<string, Map<number, string | undefined>> = new Map();

/**
 * The user's line that is executing now; undefined where the innermost frames are none of the user's. Costs a few
 * microseconds, more for a new line: meant for tracing, not for eager calls.
 */
export function currentSource(): string | undefined {
  let site = filesTell ? userSite(reach) : null;
  if (site === undefined) site = userSite(deepest);
  if (!site) return site === null ? printedSource() : undefined;
  const file = site.getFileName()!;
  let sources = knownSources.get(file);
  if (sources === undefined) knownSources.set(file, (sources = new Map()));
  // Not `getPosition`, which the frames of Bun and Deno lack.
  const position = (site.getLineNumber() ?? 0) * columns + (site.getColumnNumber() ?? 0);
  let source = sources.get(position);
  if (source === undefined) sources.set(position, (source = printedSource()));
  return source;
}

/** The source from the printed stack, where the runtime applies source maps. */
function printedSource(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = deepest;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  return userFrame(stack);
}

/** The innermost user frame among the first `depth`; null where the runtime does not give frames as data. */
function userSite(depth: number): CallSite | null | undefined {
  const { stackTraceLimit, prepareStackTrace } = Error;
  let sites: readonly CallSite[] | undefined;
  Error.stackTraceLimit = depth;
  Error.prepareStackTrace = (_, frames) => (sites = frames);
  // The frames are handed over when the stack is first read.
  void new Error().stack;
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  if (sites === undefined) return null;
  const at = sites.findIndex((site) => isUsers(site.getFileName()));
  if (at < 0) return undefined;
  reach = Math.max(at + 2, reach - 1);
  return sites[at];
}

function isUsers(file: string | null | undefined): boolean {
  if (typeof file !== 'string') return false;
  let isKnown = usersFiles.get(file);
  if (isKnown === undefined) {
    isKnown = filePattern.test(file) && !isHome(file);
    usersFiles.set(file, isKnown);
  }
  return isKnown;
}
