import assert from 'node:assert/strict';
import { test } from 'node:test';
import { milliseconds, percent, Progress } from '../../examples/support/progress.js';

function shown(isTTY: boolean, total: number): string[] {
  const written: string[] = [];
  const stream = { isTTY, write: (text: string) => void written.push(text) };
  const progress = new Progress('work', total, stream);
  for (let done = 1; done <= total; done++) progress.update(done, `step ${done}`);
  return written;
}

test('without a terminal there are a few plain lines, the last at the end', () => {
  const lines = shown(false, 14);
  assert.equal(lines.length, 4);
  for (const line of lines) assert.match(line, /^  work \d+ %  step \d+\n$/);
  assert.match(lines[3], /100 %  step 14/);
});

test('on a terminal one line redraws itself', () => {
  const drawn = shown(true, 4);
  assert.ok(drawn.slice(0, 4).every((text) => text.startsWith('\r') && !text.includes('\n')));
  assert.equal(drawn.at(-1), '\n');
});

test('figures are short', () => {
  assert.deepEqual(
    [milliseconds(1.234), milliseconds(123.4), percent(0.9917)],
    ['1.23 ms', '123.4 ms', '99.2 %'],
  );
});
