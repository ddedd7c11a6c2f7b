import { createContext, runInContext } from 'node:vm';
import * as runtime from '../../src/front/converted/index.js';
import { transform } from '../../src/source/index.js';

/** A test of Test262, the test suite of ECMAScript. */
export interface LanguageTest {
  readonly path: string;
  readonly code: string;
}

/** What a test asks for in its front matter. */
export interface Demands {
  readonly flags: ReadonlySet<string>;
  /** Files of the harness. */
  readonly includes: readonly string[];
  /** Whether the test is to fail as a whole. */
  readonly isNegative: boolean;
}

/** The front matter of a test, as far as it matters here. */
export function demandsOf({ code }: LanguageTest): Demands {
  const front = /\/\*---(.*?)---\*\//s.exec(code)?.[1] ?? '';
  const list = (key: string): readonly string[] => {
    const [, inline, lines] =
      new RegExp(`^${key}:(?: *\\[([^\\]]*)\\]|((?:\\r?\\n *- .*)+))`, 'm').exec(front) ?? [];
    const entries = inline?.split(',') ?? lines?.split('\n').map((line) => line.replace('-', ''));
    return (entries ?? []).map((entry) => entry.trim()).filter((entry) => entry !== '');
  };
  return {
    flags: new Set(list('flags')),
    includes: list('includes'),
    isNegative: /^negative:/m.test(front),
  };
}

class Test262Error extends Error {}

/** What tests assert with, as its documentation describes it. */
const harness = Object.assign(
  (value: unknown, message?: string): void => {
    if (value !== true) throw new Test262Error(message ?? 'not true');
  },
  {
    sameValue(actual: unknown, expected: unknown, message?: string): void {
      if (Object.is(actual, expected)) return;
      throw new Test262Error(`${message ?? ''}: ${String(actual)} is not ${String(expected)}`);
    },
    notSameValue(actual: unknown, unexpected: unknown, message?: string): void {
      if (!Object.is(actual, unexpected)) return;
      throw new Test262Error(`${message ?? ''}: ${String(actual)}`);
    },
    compareArray(actual: readonly unknown[], expected: readonly unknown[], message?: string): void {
      const isEqual = (value: unknown, k: number): boolean => Object.is(value, actual[k]);
      if (actual.length === expected.length && Array.from(expected).every(isEqual)) return;
      throw new Test262Error(`${message ?? ''}: other elements`);
    },
    throws(kind: new (...args: never[]) => unknown, run: () => unknown, message?: string): void {
      try {
        run();
      } catch (error) {
        // The runtime is of another realm than the test.
        if ((error as Error).constructor.name === kind.name) return;
        throw new Test262Error(`${message ?? ''}: ${String(error)} is no ${kind.name}`);
      }
      throw new Test262Error(`${message ?? ''}: nothing was thrown`);
    },
  },
);

/** A test as a function in the code of a script, strict where it asks for that. */
export function wrapped(test: LanguageTest): string {
  return asFunction(test, '');
}

/** The same function as the converter makes it of one with the directive. */
export function converted(test: LanguageTest): string {
  return transform(asFunction(test, "'use graph';"), {
    filename: test.path,
    sourceType: 'commonjs',
  })!.code;
}

function asFunction(test: LanguageTest, directive: string): string {
  const isStrict = demandsOf(test).flags.has('onlyStrict');
  return `${isStrict ? "'use strict';" : ''} return function main() { ${directive}\n${test.code}\n};`;
}

/** Turns of the event loop after which an asynchronous test that has not told of its end never will. */
const mostTurns = 1_000;

/**
 * What becomes of a test's code: `passes`, or the error. `around` calls the test; `includes` are the texts of
 * further files of the harness; with `isAsync` the test ends when it calls `$DONE`.
 */
export async function outcomeOf(
  code: string,
  {
    around = (run) => run(),
    includes = [],
    isAsync = false,
  }: {
    readonly around?: (run: () => unknown) => unknown;
    readonly includes?: readonly string[];
    readonly isAsync?: boolean;
  } = {},
): Promise<string> {
  const ends: unknown[] = [];
  try {
    // A realm of its own, since sloppy code assigns globals.
    const globals = createContext({
      assert: harness,
      Test262Error,
      require: () => runtime,
      $DONE: (error: unknown) => ends.push(error),
    });
    for (const kind of errorKinds) acceptOwn(runInContext(kind.name, globals) as ErrorKind, kind);
    for (const text of includes) runInContext(text, globals);
    const main = runInContext(`(function () {${code}\n})()`, globals) as () => unknown;
    around(() => main.call(undefined));
    if (!isAsync) return 'passes';
    for (let turn = 0; ends.length === 0 && turn < mostTurns; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (ends.length !== 1) return `ends ${ends.length} times`;
    return ends[0] === undefined ? 'passes' : `fails with ${shown(ends[0])}`;
  } catch (error) {
    return `throws ${shown(error)}`;
  }
}

type ErrorKind = abstract new (...args: never[]) => Error;

const errorKinds: readonly ErrorKind[] = [
  Error,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
];

/** To a test, errors that the runtime's operators throw in this realm are those of its own. */
function acceptOwn(kind: ErrorKind, own: ErrorKind): void {
  Object.defineProperty(kind, Symbol.hasInstance, {
    value(this: unknown, value: unknown) {
      const isOrdinary = Function.prototype[Symbol.hasInstance].call(this as never, value);
      return isOrdinary || (this === kind && value instanceof own);
    },
  });
}

/** A value that a test throws, whatever it is. */
function shown(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'what cannot be shown';
  }
}
