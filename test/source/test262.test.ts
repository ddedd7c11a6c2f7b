import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import * as runtime from '../../src/front/converted/index.js';
import * as kn from '../../src/index.js';
import { transform } from '../../src/source/index.js';
import { checkout } from '../support/sources.js';

/* Law 1 on tests of the language itself: with the directive, each still passes. */

interface LanguageTest {
  readonly path: string;
  readonly code: string;
}

const folder = join(checkout, 'test/source/test262');
const all = JSON.parse(
  readFileSync(join(folder, 'selection.json'), 'utf8'),
) as readonly LanguageTest[];

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
    compareArray(actual: unknown, expected: unknown, message?: string): void {
      if (!isDeepStrictEqual(actual, expected)) throw new Test262Error(message ?? 'other elements');
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
function asFunction({ code }: LanguageTest, directive: string): string {
  const isStrict = /flags: \[[^\]]*onlyStrict/.test(code);
  return `${isStrict ? "'use strict';" : ''} return function main() { ${directive}\n${code}\n};`;
}

/** The outcome of a test's code: `passes`, or the error. */
function outcomeOf(code: string, around: (run: () => unknown) => unknown = (run) => run()): string {
  try {
    // A realm of its own, since sloppy code assigns globals.
    const globals = createContext({ assert: harness, Test262Error, require: () => runtime });
    const main = runInContext(`(function () {${code}\n})()`, globals) as () => unknown;
    around(() => main.call(undefined));
    return 'passes';
  } catch (error) {
    return `throws ${String(error)}`;
  }
}

test('tests of control flow pass with the directive, as they are and in captured code', () => {
  const failed: string[] = [];
  for (const each of all) {
    const original = outcomeOf(asFunction(each, ''));
    if (original !== 'passes') {
      failed.push(`${each.path} as written ${original}`);
      continue;
    }
    const { code } = transform(asFunction(each, "'use graph';"), {
      filename: each.path,
      sourceType: 'commonjs',
    })!;
    for (const outcome of [
      outcomeOf(code),
      outcomeOf(code, (run) => kn.deferredCompute(() => run())),
    ]) {
      if (outcome !== 'passes') failed.push(`${each.path} ${outcome}`);
    }
  }
  assert.deepEqual(failed, []);
  assert.ok(all.length > 250);
});
