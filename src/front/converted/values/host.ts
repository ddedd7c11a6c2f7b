import { graphDirective } from '../../../base/directive.js';
import { currentSource, TraceError } from '../../../base/errors.js';
import { checkPredicate } from '../../../ops/control/body.js';
import { rowsOf } from '../../arrays/iterate-rows.js';
import { mode } from '../../core/mode.js';
import { NDArray } from '../../core/ndarray.js';

/* Questions that converted code asks about host values and eager arrays. */

/** The truth of a value: JavaScript's own, or the element of an eager array. */
export function test(value: unknown, site: string, construct?: string): unknown {
  return typeof value === 'object' && value instanceof NDArray
    ? truthOf(value, site, construct)
    : value;
}

function truthOf(array: NDArray, site: string, construct = 'a statement with this test'): boolean {
  checkPredicate(graphDirective, 'the test', array.type);
  if (mode.capture !== null) throw undecidable(construct, site);
  return array.item() === true;
}

const generalAdvice =
  'compute it outside of what the array decides, or say it with where, cond, whileLoop or foreach';

/** Advice about what cannot become a graph. */
const advices: Readonly<Record<string, string>> = {
  await: 'wait before the test, const value = await ..., and decide by an array afterwards',
  yield: 'compute an array in the branch or loop, and yield it afterwards',
  try: 'put the branch or loop into the try instead',
  'throw inside of try': 'assign a variable there, and throw after the try',
  'a jump out of try': 'assign a variable there, and jump after the try',
  'a loop that a jump leaves from inside of try': 'assign a variable there, and jump after the try',
  'a switch that a jump leaves from inside of try':
    'assign a variable there, and jump after the try',
  'a switch with declarations of its own': 'declare the variables before the switch',
  'a jump out of for...in': 'write for (const key of Object.keys(object))',
  'a loop whose variables closures keep': keptAdvice(),
  'a jump out of a loop whose variables closures keep': keptAdvice(),
};

function keptAdvice(): string {
  return 'let closures use a copy that the body declares, const own = i';
}

/** The error for what a captured array decides and cannot become a graph. */
export function undecidable(
  construct: string,
  site: string,
  advice: string = advices[construct] ?? generalAdvice,
): TraceError {
  return refusedAnyway(
    new TraceError(`a captured array decides about ${construct}, which cannot become a graph`, {
      op: graphDirective,
      advice,
      ...placeOf(site),
    }),
  );
}

/** The values of a `for...of`: the rows of an eager array, and anything else as it is. */
export function rows(value: unknown, site: string, construct = 'a loop over rows'): unknown {
  if (!(value instanceof NDArray)) return value;
  if (mode.capture !== null) throw undecidable(construct, site);
  return rowsOf(value, graphDirective);
}

/** The value that a `switch` compares: the element of an eager array, and anything else as it is. */
export function subject(value: unknown, site: string, construct = 'a switch'): unknown {
  if (!(value instanceof NDArray)) return value;
  if (mode.capture !== null) throw undecidable(construct, site);
  const element = value.item();
  return typeof element === 'bigint' ? Number(element) : element;
}

/**
 * The place of a construct as an error tells it: the file of the line that runs now, and the line and column as they
 * were written, which a frame has only where source maps are applied. Without a frame of a file, line and column alone.
 */
export function placeOf(site: string): { readonly source: string } {
  const frame = currentSource();
  if (frame === undefined) return { source: site };
  return { source: frame.replace(/(:\d+){1,2}$/, '') + `:${site}` };
}

/*
 * `try` of converted code. What cannot become a graph is no error of the user's code: its handlers must not
 * catch that.
 */

/** The number of blocks of `try` around what runs. */
let guards = 0;

/** The latest refusal inside of them. */
let refused: TraceError | null = null;

/** Enters the block of a `try`, or leaves it. */
export function guard(by: number): void {
  if (guards === 0) refused = null;
  guards += by;
}

/** True inside the block of a `try`. */
export function isGuarded(): boolean {
  return guards > 0;
}

/** Notes a refusal, which handlers pass on. */
function refusedAnyway(error: TraceError): TraceError {
  refused = error;
  return error;
}

/** Starts a handler: it passes on what was refused. */
export function caught(): void {
  if (refused !== null) throw refused;
}
