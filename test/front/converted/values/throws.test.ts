import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toModule } from '../../../../src/artifact/index.js';
import * as kn from '../../../../src/index.js';
import { converted } from '../../../source/convert.js';

/* `throw` where a captured array decides: the program throws what eager code throws, and nothing otherwise. */

class Refused extends Error {
  readonly #secret = 1;
  get secret(): number {
    return this.#secret;
  }
}

Object.assign(globalThis, { kn, Refused });

type Fn = (...args: kn.NDArray[]) => kn.NDArray;
const fn = (text: string, parameters = 'a'): Fn =>
  converted(`function main(${parameters}) { 'use graph';\n${text} }`) as Fn;

interface Outcome {
  readonly value?: unknown;
  readonly grad?: unknown;
  readonly kind?: unknown;
  readonly message?: unknown;
}

function outcome(f: Fn, values: readonly number[]): Outcome {
  const x = kn.array([...values]);
  x.attachGrad();
  try {
    const [y, sum] = kn.autograd.record(() => {
      const result = f(x);
      return [result, result.sum()];
    });
    sum.backward();
    return { value: y.tolist(), grad: x.grad!.tolist() };
  } catch (error) {
    if (!(error instanceof Error)) return { kind: typeof error, message: error };
    return { kind: error.constructor, message: error.message };
  }
}

/** A static graph with side-effect code, up to which the first call runs step by step. */
const cut = (f: Fn): Fn => {
  const code = kn.staticCode(() => undefined);
  return kn.staticGraph((a: kn.NDArray) => {
    const y = f(a);
    code();
    return y;
  });
};

const programs: Readonly<Record<string, string>> = {
  'a branch that throws': `if (a.sum().less(0)) throw new RangeError('negative'); return a.mul(2);`,
  'a branch that throws, and another one': `if (a.sum().greater(0)) return a.exp(); else throw new Refused('not positive');`,
  'a first branch that throws, and a second with a value': `let y; if (a.sum().less(0)) throw new TypeError('no'); else y = a.mul(3); return y;`,
  'an expression that throws': `const f = () => { throw new RangeError('inside'); }; return a.sum().less(0) ? f() : a.mul(a);`,
  'the right of a logical operator': `const f = () => { throw new RangeError('right'); }; if (a.sum().less(0) && f()) return a; return a.add(1);`,
  'a loop': `let s = a; let n = 0; while (s.sum().less(20)) { s = s.mul(2); n++; if (s.sum().less(0.5)) throw new Refused('too small'); } return s.add(n);`,
  'a loop whose body always throws': `let s = a; while (s.sum().less(0)) { throw new RangeError('negative'); } return s.mul(2);`,
  'an endless loop that only throwing or returning ends': `let s = a; for (;;) { s = s.mul(2).add(0.5); if (s.sum().greater(50)) return s; if (s.sum().less(-50)) throw new RangeError('down'); }`,
  'rows': `let s = kn.zeros([]); for (const row of a) { if (row.less(0)) throw new RangeError('a row is negative'); s = s.add(row.mul(row)); } return s;`,
  'a branch of a branch': `if (a.sum().greater(1)) { if (a.sum().greater(9)) throw new RangeError('nine'); return a; } if (a.sum().less(-9)) throw new RangeError('minus nine'); return a.neg();`,
  'both branches of a branch': `if (a.sum().less(0)) { if (a.sum().less(-9)) throw new RangeError('low'); else throw new TypeError('negative'); } return a.mul(2);`,
  'a text': `if (a.sum().less(0)) throw 'a text'; return a;`,
  'a switch': `switch (a.sum()) { case 6: throw new RangeError('six'); case 3: return a.mul(3); default: return a; }`,
  'what is after it does not matter': `let i = a.sum(); if (i.less(0)) throw new RangeError('before'); return a.take(i.astype('int32').mod(3));`,
  'a position that would be refused': `if (a.sum().exp().less(1)) throw new RangeError('before'); return a.take(a.sum().astype('int32').minimum(2));`,
  'a function of cond': `return kn.cond(a.sum().less(0), () => { throw new RangeError('negative'); }, () => a.mul(3));`,
  'the second function of cond': `return kn.cond(a.sum().greater(0), () => ({ y: a.exp() }), () => { throw new Refused('not positive'); }).y;`,
  'both functions of a cond in another one': `return kn.cond(a.sum().less(0), () => kn.cond(a.sum().less(-9), () => { throw new RangeError('low'); }, () => { throw new TypeError('negative'); }), () => a.mul(2));`,
  'a branch with a cond of which both functions throw': `if (a.sum().less(0)) return kn.cond(a.sum().less(-9), () => { throw new RangeError('low'); }, () => { throw new TypeError('negative'); }); return a.mul(2);`,
  'a function of cond with a size that the data decides': `const mask = a.greater(0); return kn.cond(a.sum().less(0), () => { throw new RangeError('negative'); }, () => kn.booleanMask(a, mask).mul(2)).sum();`,
  'a function of whileLoop with a branch': `const [, [s]] = kn.whileLoop((s) => s.sum().less(20), (s) => { if (s.sum().less(0.5)) throw new Refused('too small'); return [[], [s.mul(2)]]; }, [a]); return s;`,
  'a function of foreach with a cond': `const [y] = kn.foreach((row) => [kn.cond(row.less(0), () => { throw new RangeError('a row is negative'); }, () => row.mul(2)), []], a, []); return y;`,
  'the whole function of foreach in a branch': `if (a.sum().less(0)) kn.foreach(() => { throw new RangeError('negative'); }, a, []); return a.mul(2);`,
  'a value that only a path without it returns': `if (a.sum().less(0)) throw new RangeError('none'); if (a.sum().greater(5)) return a.mul(2); return a;`,
}; // prettier-ignore

for (const [name, code] of Object.entries(programs)) {
  test(`${name}: captured as eagerly`, () => {
    const f = fn(code);
    const captured = kn.hybridize(f, { verify: 'always' });
    const all = [[1, 2, 3], [1, 1, 1], [-1, -2, -3], [0.1, 0, 0], [-1, 1, 0.01], [4, 5, -6], [-8, 1, -9]]; // prettier-ignore
    const expected = all.map((values) => outcome(f, values));
    assert.ok(expected.some(({ kind }) => kind !== undefined) && expected.some(({ value }) => value !== undefined)); // prettier-ignore
    assert.ok(expected.every(({ kind }) => kind !== kn.ArgumentError && kind !== kn.TraceError));
    assert.deepEqual(all.map((values) => outcome(captured, values)), expected); // prettier-ignore
    const forms = {
      deferred: (a: kn.NDArray) => kn.deferredCompute(() => f(a).mul(1)),
      cut: cut(f),
    };
    for (const [form, run] of Object.entries(forms)) {
      assert.deepEqual(all.map((values) => outcome(run, values)), expected, form); // prettier-ignore
    }
    // Without a recording it is another program.
    for (const [i, values] of all.entries()) {
      const { kind, value } = expected[i];
      if (kind === undefined) assert.deepEqual(captured(kn.array(values)).tolist(), value);
      else assert.throws(() => captured(kn.array(values)));
    }
  });
}

test('the error has the iteration as its cause, each time anew', () => {
  const f = kn.hybridize(fn(`for (const row of a) if (row.less(0)) throw new RangeError('negative'); return a;`)); // prettier-ignore
  const causeOf = (...values: number[]): string => {
    try {
      f(kn.array(values));
    } catch (error) {
      assert.ok(error instanceof RangeError && error.cause instanceof kn.CheckError);
      return error.cause.problem;
    }
    assert.fail('nothing was thrown');
  };
  assert.equal(causeOf(1, -1, 1), 'in captured code, iteration 1 of foreach: negative');
  assert.equal(causeOf(1, 1, -1), 'in captured code, iteration 2 of foreach: negative');
});

test('the error has the line of the statement as its cause', () => {
  const f = kn.hybridize(
    fn(`\n  if (a.sum().less(0)) throw new RangeError('negative'); return a;`),
  );
  assert.throws(() => f(kn.array([-1])), (error) => {
    assert.ok(error instanceof RangeError && error.cause instanceof kn.CheckError);
    assert.match(error.cause.source!, /\b3:24$/);
    return true;
  }); // prettier-ignore
});

test('modules throw the message', async () => {
  const f = kn.hybridize(fn(programs['a branch that throws']));
  const url = `data:text/javascript,${encodeURIComponent(toModule(f.graphFor(kn.array([1, 2]))))}`;
  const { run } = (await import(url)) as { run(given: object): Record<string, { data: unknown }> };
  run({ input: { data: Float32Array.of(1, 2), shape: [2] } });
  assert.throws(() => run({ input: { data: Float32Array.of(-1, -2), shape: [2] } }), /negative/);
});

test('inside of try, and with captured numbers in the text it is refused', () => {
  const codes = {
    'throw inside of try': `try { if (a.sum().less(0)) throw new Error('x'); } catch {} return a;`,
  };
  for (const [construct, code] of Object.entries(codes)) {
    const f = fn(code);
    assert.deepEqual(f(kn.array([1])).tolist(), [1]);
    assert.throws(() => kn.hybridize(f)(kn.array([1])), {
      name: 'TraceError',
      problem: `a captured array decides about ${construct}, which cannot become a graph`,
    });
  }
  const text = fn(`let n = 0; while (a.sum().less(9)) { a = a.mul(2); n++; if (a.sum().less(0)) throw new Error(\`after \${n}\`); } return a;`); // prettier-ignore
  assert.throws(() => text(kn.array([-1])), /after 1/);
  assert.throws(() => kn.hybridize(text)(kn.array([1])), {
    name: 'TraceError',
    problem: /is an index or a part of a text/,
  });
});

test('an earlier iteration is refused before a statement above that a later one refuses', () => {
  const bodies = {
    'in the same loop': `if (row.greater(1)) throw new RangeError('above'); if (row.less(0)) throw new TypeError('below');`,
    'in a loop inside of it': `for (const each of kn.stack([row, row])) { if (each.greater(1)) throw new RangeError('above'); } if (row.less(0)) throw new TypeError('below');`,
    'in two loops inside of it': `for (const each of kn.stack([row, row])) { if (each.greater(1)) throw new RangeError('above'); } for (const each of kn.stack([row, row])) { if (each.less(0)) throw new TypeError('below'); }`,
  }; // prettier-ignore
  for (const [name, body] of Object.entries(bodies)) {
    const f = kn.hybridize(fn(`for (const row of a) { ${body} } return a;`));
    assert.throws(() => f(kn.array([0, -1, 2])), new TypeError('below'), name);
    assert.throws(() => f(kn.array([0, 2, -1])), new RangeError('above'), name);
  }
});

test('a function of a loop that always throws does so while it is captured', () => {
  for (const [code, kind] of [
    [`kn.foreach(() => { throw new RangeError('x'); }, a, []); return a;`, RangeError],
    [`kn.whileLoop((s) => s.sum().less(9), () => { throw new TypeError('x'); }, [a]); return a;`, TypeError],
  ] as const) {
    assert.throws(() => fn(code)(kn.array([1])), kind);
    assert.throws(() => kn.hybridize(fn(code))(kn.array([1])), kind);
  }
}); // prettier-ignore

test('a throw in the function of an operator inside of try is refused', () => {
  const f = fn(`try { a = kn.cond(a.sum().less(0), () => { throw new Error('x'); }, () => a); } catch {} return a;`); // prettier-ignore
  assert.throws(() => kn.hybridize(f)(kn.array([1])), { name: 'TraceError', problem: /throw inside of try/ }); // prettier-ignore
});

test('where every path throws there is nothing to capture', () => {
  const f = fn(`if (a.sum().less(0)) throw new RangeError('x'); else throw new TypeError('y');`);
  const both = fn(`return kn.cond(a.sum().less(0), () => { throw new RangeError('x'); }, () => { throw new TypeError('y'); });`); // prettier-ignore
  for (const each of [f, both]) {
    assert.throws(() => kn.hybridize(each)(kn.array([1])), {
      name: 'TraceError',
      problem: 'every path throws',
    });
  }
});

test('a function that is captured for itself throws to the path that calls it', () => {
  const inner = kn.hybridize(
    converted(`function main(n) { 'use graph'; if (n > 3) throw new RangeError('more than 3'); return kn.array(n); }`) as (n: number) => kn.NDArray,
  ); // prettier-ignore
  Object.assign(globalThis, { inner });
  const f = fn(`if (a.sum().less(0)) return inner(5).add(a); return inner(2).add(a);`);
  const captured = kn.hybridize(f);
  assert.deepEqual(captured(kn.array([1])).tolist(), [3]);
  assert.throws(() => captured(kn.array([-1])), { name: 'RangeError', message: 'more than 3' });
});
