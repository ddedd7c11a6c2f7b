import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { fn, table } from './programs.js';

/*
 * Loops that are left at the start of their body: the graph asks the tests there together with that of the loop, and
 * computes what eager code computes. `copies`: how often the graph has the `exp` of the body.
 */

interface Loop {
  readonly code: string;
  readonly copies: number;
  readonly inputs?: readonly number[];
}

const loops: Readonly<Record<string, Loop>> = {
  'several breaks, and a constant of the body': {
    code: 'for (let i = 0; i < 6; i++) { const s = a.square(); if (s.greater(30)) break; if (a.less(i * -2)) { break; } a = a.mul(0.3).exp().add(i); } return a;',
    copies: 1,
  },
  'a constant that the rest of the body reads, too': {
    code: 'for (let i = 0; i < 6; i++) { const s = a.mul(0.3).exp(); if (s.greater(3)) break; a = s.add(i); } return a;',
    copies: 1,
  },
  'a return of a constant of the body': {
    code: 'for (let i = 0; i < 4; i++) { const s = a.mul(2); if (s.greater(3)) return s.sub(a.square()); a = a.mul(0.3).exp(); } return a.neg();',
    copies: 1,
  },
  'a break with an assignment, behind which more follows': {
    code: 'let n = 0; while (a.less(9)) { if (a.greater(2.5)) { n = 5; a = a.neg(); break; } a = a.mul(0.9).exp(); n++; } if (a.less(0)) return a.mul(n); return a.add(n);',
    copies: 1,
  },
  'a jump out of two loops': {
    code: 'out: for (let i = 0; i < 3; i++) { while (true) { if (a.greater(4)) break out; if (a.greater(i + 1)) break; a = a.mul(0.3).exp().add(0.9); } a = a.add(0.25); } return a;',
    copies: 1,
  },
  'a loop that tests at its end': {
    code: 'do { if (a.greater(2)) break; a = a.mul(0.3).exp(); } while (a.less(1.2)); return a;',
    copies: 1,
  },
  'continue in the rest of the body': {
    code: 'for (let i = 0; i < 6; i++) { if (a.greater(5)) break; if (a.less(1)) { a = a.add(1); continue; } a = a.mul(0.3).exp().add(i); } return a;',
    copies: 1,
    // Away from the jump where an iteration more has a below 1.
    inputs: [0.3, -2.2, 1.7, 7],
  },
  'an index that is beyond the rows where the counter has come to its limit': {
    code: 'let s = a; for (let i = 0; i < rows.shape[0]; i++) { if (rows.take(i, { axis: 0 }).sum().greater(50)) break; s = s.mul(0.1).exp().add(rows.take(i, { axis: 0 }).sum()); } return s;',
    copies: 1,
  },
  'rows that only the data counts': {
    code: 'for (let i = 0; i < 6; i++) { if (kn.booleanMask(rows, rows.sum(1).greater(a)).sum().less(9)) break; a = a.mul(0.1).exp().add(i); } return a;',
    copies: 1,
  },
  'a throw behind the break, which would refuse what the break leaves': {
    code: "for (let i = 0; i < 6; i++) { if (a.greater(4)) break; if (a.greater(4.5)) throw new RangeError('large'); a = a.mul(0.5).exp().add(i); } return a;",
    copies: 1,
  },
  'rows of a list, one before and one behind a break': {
    code: 'const l = [], m = [a]; for (let i = 0; i < 6; i++) { if (a.greater(4)) break; l.push(a); a = a.mul(0.3).exp().add(i); m.push(a); } return kn.stack(m).sum().sub(kn.stack([a, ...[a]]).sum()).add(m.length);',
    copies: 1,
  },
  'a test that changes what the loop computes': {
    code: 'const o = { n: a }; const next = () => (o.n = o.n.add(0.5)); for (let i = 0; i < 5; i++) { const s = next(); if (s.greater(2)) break; a = a.mul(0.3).exp().add(o.n); } return a.add(o.n);',
    copies: 1,
  },
  'the length of a list to which the loop pushes': {
    code: 'const l = [a]; while (l.length < 5 && a.less(9)) { if (l.length > 3) break; a = a.mul(0.3).exp(); l.push(a); } return kn.stack(l).sum();',
    copies: 1,
  },
};

const scalar = (value: number): kn.NDArray => kn.array(value, { dtype: 'float64' });

/** The value, and the first and second derivative. */
function derivatives(f: (a: kn.NDArray) => kn.NDArray, at: number): readonly number[] {
  const gradient = (x: kn.NDArray): kn.NDArray => kn.grad(f)(x);
  return [f(scalar(at)), gradient(scalar(at)), kn.grad(gradient)(scalar(at))].map((each) =>
    Number(each.item()),
  );
}

for (const [name, { code, copies, inputs = [0.3, -2, 1.7, 7] }] of Object.entries(loops)) {
  test(`${name}: the values and derivatives of eager code`, () => {
    const f = fn(code);
    const rows = table.astype('float64');
    const eager = (a: kn.NDArray): kn.NDArray => f(a, rows);
    const graph = kn.hybridize((a: kn.NDArray) => f(a, rows));
    for (const input of inputs) {
      assertClose(derivatives(graph, input), derivatives(eager, input), 1e-9, `at ${input}`);
      // Nothing of the first input is in the graph.
      const [h, expected] = [1e-5, derivatives(eager, input)[1]];
      const [more, less] = [input + h, input - h].map((x) => Number(eager(scalar(x)).item()));
      assertClose([expected], [(more - less) / (2 * h)], 1e-4, `the derivative at ${input}`);
    }
    const text = String(graph.graphFor(scalar(1)));
    assert.equal(text.split(' = exp(').length - 1, copies, text);
  });
}

for (const loopTest of ['true', 'a.less(9)']) {
  test(`random numbers before an exit are drawn once an iteration, while ${loopTest}`, () => {
    const f = fn(
      `while (${loopTest}) { const r = kn.random.uniform([]); if (r.greater(0.8)) break; a = a.add(kn.random.uniform([])); } return a.add(kn.random.uniform([]));`,
    );
    const graph = kn.hybridize(f);
    for (let seed = 1; seed <= 6; seed++) {
      const [found, expected] = [graph, f].map((run) => {
        kn.random.seed(seed);
        return [run(kn.array(0), table), kn.random.uniform([])].map((each) => Number(each.item()));
      });
      assertClose(found, expected, 1e-6, `seed ${seed}`);
    }
  });
}

test('checks before an exit are made, in each iteration that comes to it', () => {
  const f = fn(
    "for (let i = 0; i < 6; i++) { const s = rows.take(a.astype('int32'), { axis: 0 }).sum(); if (s.greater(50)) break; a = a.add(1); } return a;",
  );
  const graph = kn.hybridize(f);
  assert.throws(() => graph(kn.array(1), table), /5/);
  assert.equal(graph(kn.array(-1), table).item(), 5);
});
