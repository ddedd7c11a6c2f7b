import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';

/* Values that paths disagree about: eager code has one of them, captured code tells which variable, and where. */

Object.assign(globalThis, { kn });

interface Case {
  readonly code: string;
  readonly error: string;
  readonly problem: RegExp;
  readonly advice?: RegExp;
  /** What eager code gives for 3. */
  readonly eager: number;
}

const cases: Readonly<Record<string, Case>> = {
  'null and then a text': {
    code: `let best = null; for (const r of kn.stack([a, a.mul(2)])) { if (best === null || r.greater(9)) best = 'ab'; } return a.mul(best.length);`,
    error: 'KAON_TRACE',
    problem: /\bbest differs after an iteration of the loop/,
    advice: /let arrays, numbers and booleans depend on arrays only/,
    eager: 6,
  },
  'a number and a truth value': {
    code: `let n = 5; if (a.greater(4)) n = a.greater(7); return a.mul(n);`,
    error: 'KAON_DTYPE',
    problem: /\bn has another dtype where the test in line 1 is false/,
    eager: 15,
  },
  'a truth value and a number by &&': {
    code: `return a.mul(a.greater(1) && 5);`,
    error: 'KAON_DTYPE',
    problem: /another dtype where the test in line 1 is/,
    eager: 15,
  },
  'a number and a truth value in a list': {
    code: `const l = [a.greater(7), a]; if (a.greater(1)) l[0] = 7; return a.mul(l[0]);`,
    error: 'KAON_TRACE',
    problem: /\bl\[0\] differs where the test in line 1 is false/,
    eager: 21,
  },
};

for (const [what, { code, error, problem, advice, eager }] of Object.entries(cases)) {
  test(`${what}: an error with the variable and the place`, () => {
    const f = converted(`function main(a) { 'use graph'; ${code} }`) as unknown as (a: kn.NDArray) => kn.NDArray; // prettier-ignore
    assert.equal(f(kn.array(3)).item(), eager);
    assert.throws(
      () => kn.hybridize(f)(kn.array(3)),
      (thrown: unknown) => {
        assert.ok(thrown instanceof kn.KaonError, String(thrown));
        assert.equal(thrown.code, error, thrown.message);
        assert.match(thrown.problem, problem);
        assert.match(thrown.source ?? '', /1:\d+$/);
        if (advice !== undefined) assert.match(thrown.advice ?? '', advice);
        return true;
      },
    );
  });
}
