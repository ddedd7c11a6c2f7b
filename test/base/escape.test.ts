import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { array, assert as check, constantFrom, oneof, property, string } from 'fast-check';
import {
  commentedLiteral,
  commentText,
  dotString,
  identifierFrom,
  jsonLiteral,
  printable,
  printableLines,
  quoted,
  templateText,
} from '../../src/base/escape.js';

/** Text with what any target could take for more than text. */
const nasty = array(
  oneof(
    constantFrom('*/', '/*', '//', '*', '/', '\\', '`', '${', '$', '{', '"', "'", '\n', '\r'),
    constantFrom('\u2028', '\u2029', '\0', '\u001b[31m', '\u009b', '\u202e', '\ufeff', '\ud800', '\udc00', '&', '<', '__proto__', '😀', 'é'), // prettier-ignore
    string({ maxLength: 3 }),
  ),
  { maxLength: 8 },
).map((parts) => parts.join(''));

const holds = (test: (text: string) => void): void =>
  check(property(nasty, test), { seed: 7, numRuns: 2000 });

/** By code points, beside the classes of Unicode in the implementation. */
const shiftyRanges = [
  [0, 0x1f], [0x7f, 0x9f], [0x61c, 0x61c], [0x200e, 0x200f], [0x2028, 0x202e], [0x2066, 0x2069], [0xd800, 0xdfff], [0xfeff, 0xfeff],
]; // prettier-ignore

const isShifty = (text: string): boolean =>
  [...text].some((character) => {
    const code = character.codePointAt(0)!;
    return shiftyRanges.some(([first, last]) => code >= first && code <= last);
  });

const evaluated = (expression: string): unknown =>
  runInNewContext(`"use strict"; (${expression})`) as unknown;

test('printable text has no character that ends a line, moves a cursor or turns the order', () => {
  holds((text) => {
    assert.ok(!isShifty(printable(text)));
    assert.ok(!isShifty(printableLines(text).replaceAll(/[\n\t]/g, '')));
  });
  assert.equal(printable('größe 😀 数'), 'größe 😀 数');
  assert.equal(printable('a\u001b[0m\n'), 'a\\u001b[0m\\u000a');
  assert.equal(printableLines('a\n\tb\r'), 'a\n\tb\\u000d');
});

test('literals are the text again, in JavaScript and in JSON', () => {
  holds((text) => {
    for (const literal of [quoted(text), jsonLiteral(text)]) {
      assert.equal(evaluated(literal), text);
      assert.equal(JSON.parse(literal), text);
      assert.ok(!isShifty(literal));
    }
    assert.equal(evaluated(commentedLiteral(text)), text);
    assert.equal(evaluated(`\`${templateText(text)}\``), text);
    assert.ok(!isShifty(templateText(text)));
  });
});

test('nothing ends a comment, whatever stands around it', () => {
  holds((text) => {
    for (const inside of [commentText(text), commentedLiteral(text)]) {
      assert.ok(!inside.includes('*/'), inside);
      assert.ok(!isShifty(inside));
    }
    // Compilers of C warn of a comment that seems to begin in a comment.
    assert.doesNotMatch(commentText(text), /\/\*|[*/\\]$/);
    assert.equal(evaluated(`/* ${commentText(text)}*/ 1`), 1);
    assert.equal(evaluated(`/* ${commentedLiteral(text)}*/ 1`), 1);
  });
});

test('a string of DOT ends where it should and shows the text', () => {
  holds((text) => {
    const written = dotString(text);
    assert.match(written, /^"(?:[^"\\\n]|\\.)*"$/);
    const shown = written.slice(1, -1).replaceAll(/\\(.)|&amp;/g, (_, escaped: string | undefined) =>
      escaped === undefined ? '&' : escaped === 'n' ? '\n' : escaped,
    ); // prettier-ignore
    assert.equal(shown, text.split('\n').map(printable).join('\n'));
  });
});

test('identifiers are identifiers', () => {
  holds((text) => assert.match(identifierFrom(text), /^[A-Za-z][A-Za-z0-9_]{0,200}$/));
  assert.equal(identifierFrom('layers.0.weight'), 'layers_0_weight');
  assert.equal(identifierFrom('0'), 'x0');
});
