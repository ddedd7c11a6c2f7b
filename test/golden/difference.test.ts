import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refit } from './brackets.js';
import { difference } from './difference.js';

const text = (...lines: readonly string[]): string => lines.join('\n');

test('equal texts do not differ', () => {
  assert.equal(difference('a\nb', 'a\nb'), '');
  assert.equal(difference('', ''), '');
});

test('a change is shown among the lines around it', () => {
  const before = text('1', '2', '3', '4', '5', '6', '7', '8', '9');
  const after = text('1', '2', '3', '4', 'five', '6', '7', '8', '9');
  assert.equal(
    difference(before, after),
    text('@ line 2', '  2', '  3', '  4', '- 5', '+ five', '  6', '  7', '  8'),
  );
});

test('changes far from each other are shown apart', () => {
  const before = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const after = before.filter((_, i) => i !== 3);
  after.splice(20, 0, 'new');
  const shown = difference(before.join('\n'), after.join('\n')).split('\n');
  assert.deepEqual(
    shown.filter((line) => !line.startsWith('  ')),
    ['@ line 1', '- line 3', '@ line 18', '+ new'],
  );
});

test('marks turn one text into the other, as few as can be', () => {
  let state = 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 300; round++) {
    const make = (): string[] => Array.from({ length: random(9) }, () => 'abc'[random(3)]);
    const [before, after] = [make(), make()];
    const shown = difference(before.join('\n'), after.join('\n')).split('\n');
    const marks = shown.filter((line) => /^[-+]/.test(line));
    assert.equal(marks.length, distance(before, after), `${before.join()} ${after.join()}`);
    const side = (mark: string): string[] =>
      shown
        .filter((line) => line.startsWith(mark) || line.startsWith('  '))
        .map((line) => line.slice(2));
    // Texts this short are shown whole once they differ in the middle; only equal ends can be missing.
    const [gone, come] = [side('-').join(''), side('+').join('')];
    assert.ok(before.join('').includes(gone), `${gone} of ${before.join('')}`);
    assert.ok(after.join('').includes(come), `${come} of ${after.join('')}`);
  }
});

/** How many lines must go or come, by the textbook's table; an empty text is one empty line. */
function distance(before: readonly string[], after: readonly string[]): number {
  const [a, b] = [before, after].map((lines) => (lines.length === 0 ? [''] : lines));
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(a[i - 1] === b[j - 1] ? row[j - 1] : Math.min(row[j], next[j - 1]) + 1);
    }
    row = next;
  }
  return row[b.length];
}

test('brackets are broken where they do not fit, and nowhere else', () => {
  const long = 'word '.repeat(12).trim();
  assert.equal(refit('(a\n  (b\n    "x ) y")\n  c)'), '(a (b "x ) y") c)');
  assert.equal(refit(`(a (b ${long}) (c ${long}))`), `(a\n  (b ${long})\n  (c ${long}))`);
});
