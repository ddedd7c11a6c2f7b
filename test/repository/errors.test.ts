import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from '../support/sources.js';

/*
 * Every error names who refuses: `op`. Where the code that throws cannot know, its callers add the name,
 * by `named` or `inContext`; these places are listed here with the reason.
 */
const namedByCallers: Readonly<Record<string, string>> = {
  'src/base/attributes/attribute.ts':
    'attributes are decoded by readers of programs, which name themselves',
  'src/base/base64.ts': 'read by readers of programs, which name themselves',
  'src/base/attributes/reader.ts': 'a reader of JSON is named by what it reads',
  'src/base/attributes/schema.ts':
    'attributes are decoded by readers of programs, which name themselves',
  'src/base/dim/text.ts: not a dimension': 'read by readers of programs and by inferTypes',
  'src/base/dtype.ts: there is no memory for this array': 'the operator that makes the array',
  'src/ir/formats/constants.ts': 'read by readers of programs, which name themselves',
  'src/ir/formats/tokens.ts': 'words are read by parseProgram, which names itself',
  'src/ir/verify.ts': 'verify names itself, or the reader of a program that calls it',
  'src/runtime/memory/linear.ts': 'the operator or graph that needs the memory',
};

/** The text of a call from its opening parenthesis to the one that closes it. */
function argumentsAt(text: string, open: number): string {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '(') depth++;
    else if (text[i] === ')' && --depth === 0) return text.slice(open, i + 1);
  }
  return text.slice(open);
}

interface Thrown {
  readonly path: string;
  readonly text: string;
}

/** Every error of a class of ours that is made in the source; `Kind` is what a chosen class is called. */
function thrownErrors(): Thrown[] {
  const made =
    /\bnew (?:(?:Shape|DType|Argument|Trace|Graph|Format|Unsupported|Device)Error|Kind)\(/g;
  return sourceFiles('src').flatMap(({ path, text }) =>
    [...text.matchAll(made)].map(({ index, 0: found }) => ({
      path,
      text: argumentsAt(text, index + found.length - 1),
    })),
  );
}

const hasName = ({ text }: Thrown): boolean => /\bop\b/.test(text);

test('every error names the operator or function that refuses', () => {
  const thrown = thrownErrors();
  assert.ok(thrown.length > 200);
  const excuses = new Map(
    Object.keys(namedByCallers).map((entry) => [entry, entry.split(': ') as [string, string?]]),
  );
  const used = new Set<string>();
  const nameless = thrown.filter((error) => {
    if (hasName(error)) return false;
    for (const [entry, [path, problem = '']] of excuses) {
      if (error.path !== path || !error.text.includes(problem)) continue;
      used.add(entry);
      return false;
    }
    return true;
  });
  assert.deepEqual(nameless, []);
  assert.deepEqual([...used].sort(), Object.keys(namedByCallers).sort(), 'an excuse is left over');
});
