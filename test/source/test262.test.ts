import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { dealt, settings } from '../support/settings.js';
import { checkout } from '../support/sources.js';
import { converted, demandsOf, type LanguageTest, outcomeOf, wrapped } from './language.js';

/* Law 1 on tests of the language itself: what passes in a function passes with the directive. */

const captured = (run: () => unknown): unknown => kn.deferredCompute(() => run());

test('tests of control flow pass with the directive, as they are and in captured code', async () => {
  const all = JSON.parse(
    readFileSync(join(checkout, 'test/source/test262/selection.json'), 'utf8'),
  ) as readonly LanguageTest[];
  const failed: string[] = [];
  for (const each of all) {
    const original = await outcomeOf(wrapped(each));
    if (original !== 'passes') {
      failed.push(`${each.path} as written ${original}`);
      continue;
    }
    const code = converted(each);
    for (const outcome of [await outcomeOf(code), await outcomeOf(code, { around: captured })]) {
      if (outcome !== 'passes') failed.push(`${each.path} ${outcome}`);
    }
  }
  assert.deepEqual(failed, []);
  assert.ok(all.length > 250);
});

/** Calls `run` while rejections that nobody handles, which tests leave behind, are nobody's failure. */
async function withRejections(run: () => Promise<void>): Promise<void> {
  const listeners = process.listeners('unhandledRejection');
  const none = (): void => {};
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', none);
  try {
    await run();
  } finally {
    process.off('unhandledRejection', none);
    for (const each of listeners) process.on('unhandledRejection', each);
  }
}

/** What a function cannot hold, or this harness does not have. */
const leftOut = /\beval\b|\$262\b|\bimport\b/;

test(
  'all tests of statements and expressions',
  { skip: settings.test262 === null && 'KAON_TEST262 names no checkout of tc39/test262' },
  async (context) => {
    const root = settings.test262!;
    const includes = new Map<string, string>();
    const include = (name: string): string => {
      if (!includes.has(name))
        includes.set(name, readFileSync(join(root, 'harness', name), 'utf8'));
      return includes.get(name)!;
    };
    const failed: string[] = [];
    let compared = 0;
    await withRejections(async () => {
      for (const path of dealt(languageTests(root))) {
        const each = { path, code: readFileSync(join(root, path), 'utf8') };
        const demands = demandsOf(each);
        if (demands.isNegative || leftOut.test(each.code)) continue;
        if (['module', 'raw', 'CanBlockIsFalse'].some((flag) => demands.flags.has(flag))) continue;
        const options = {
          includes: demands.includes.map(include),
          isAsync: demands.flags.has('async'),
        };
        if ((await outcomeOf(wrapped(each), options)) !== 'passes') continue;
        compared++;
        const outcome = await convertedOutcome(each, options);
        if (outcome !== 'passes') failed.push(`${path} ${outcome}`);
      }
    });
    context.diagnostic(`${compared} tests compared`);
    assert.deepEqual(failed, []);
  },
);

async function convertedOutcome(
  each: LanguageTest,
  options: { readonly includes: readonly string[]; readonly isAsync: boolean },
): Promise<string> {
  let code: string;
  try {
    code = converted(each);
  } catch (error) {
    return `is refused: ${String(error)}`;
  }
  const alone = await outcomeOf(code, options);
  return alone !== 'passes' || options.isAsync
    ? alone
    : outcomeOf(code, { ...options, around: captured });
}

/** The tests of statements and expressions in a checkout, in order. */
function languageTests(root: string): readonly string[] {
  return ['statements', 'expressions'].flatMap((kind) => {
    const folder = join('test/language', kind);
    assert.ok(existsSync(join(root, folder)), `${root} has no ${folder}`);
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js') && !file.endsWith('_FIXTURE.js'))
      .map((file) => join(folder, file))
      .sort();
  });
}
