import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { checkout } from '../../support/sources.js';
import { casesIn, unpackSuite } from './backend.js';
import { operatorsOf, type Outcome, runCase, scoreboard } from './scoreboard.js';

/*
 * The whole of ONNX's test suite. KAON_WRITE_SCOREBOARD=1 writes the scoreboard into docs/onnx.md; without
 * it the page must say what the run gives.
 */
const page = join(checkout, 'docs', 'onnx.md');
const [begin, end] = ['<!-- scoreboard -->', '<!-- end of the scoreboard -->'];

const suite = unpackSuite();
after(() => {
  rmSync(dirname(suite), { recursive: true, force: true });
});

/**
 * Where the suite's own data is off: it holds the rounding errors of a transform in float32, 1.9e-7 in place
 * of the exact 0, and the comparison allows for 1e-7.
 */
const noisy: ReadonlySet<string> = new Set(['test_dft_inverse']);

test('models of the suite compute what it says, or are refused by name', () => {
  const cases = casesIn(suite);
  assert.ok(cases.length >= 1329, `there are ${cases.length} cases`);
  const operators = operatorsOf(cases);
  const outcomes: readonly Outcome[] = cases.map((each) => runCase(each, operators));
  const wrong = outcomes.filter(({ kind, case: { name } }) => kind === 'wrong' && !noisy.has(name));
  assert.deepEqual(wrong.map(({ case: { name }, why }) => `${name}: ${why}`), []); // prettier-ignore
  // A refusal says which operator of which version it is.
  for (const { kind, why, case: { name } } of outcomes) {
    if (kind === 'unsupported') assert.match(why, /\(opset \d+\)/, name);
  } // prettier-ignore
  const passed = outcomes.filter(({ kind }) => kind === 'plain' || kind === 'given').length;
  assert.ok(passed >= 0.97 * outcomes.length, `${passed} of ${outcomes.length} pass`);
  compareBoard(scoreboard(outcomes));
});

function compareBoard(board: string): void {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  assert.ok(start >= 0 && stop > start, 'docs/onnx.md has a place for the scoreboard');
  const written = `${text.slice(0, start)}${begin}\n\n${board}\n\n${text.slice(stop)}`;
  if (process.env['KAON_WRITE_SCOREBOARD'] === '1') {
    writeFileSync(page, written);
    console.log(board);
  }
  assert.equal(readFileSync(page, 'utf8'), written);
}
