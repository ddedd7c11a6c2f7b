import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { refuses } from './support.js';

/** What untyped code, or a cast, lets through to the language's operators. */
type Loose = never;
const loose = (x: kn.NDArray): Loose => x as Loose;

/** Every way in which JavaScript asks an object for a primitive value that is not its text. */
const conversions: Readonly<Record<string, (a: Loose, b: Loose) => unknown>> = {
  'a + b': (a, b) => a + b,
  'a + 1': (a) => a + 1,
  "a + ''": (a) => `${'' + a}`,
  'a - 1': (a) => a - 1,
  'a * b': (a, b) => a * b,
  '2 / a': (a) => 2 / a,
  'a % 2': (a) => a % 2,
  'a ** 2': (a) => (a as number) ** 2,
  'a & b': (a, b) => a & b,
  'a << 1': (a) => a << 1,
  'a < b': (a, b) => a < b,
  'a <= 1': (a) => a <= 1,
  'a > b': (a, b) => a > b,
  '1 >= a': (a) => 1 >= a,
  // oxlint-disable-next-line eqeqeq -- this is about that operator
  'a == 1': (a) => a == 1,
  // oxlint-disable-next-line eqeqeq -- as above
  "a != ''": (a) => a != '',
  '-a': (a) => -a,
  '+a': (a) => +a,
  '~a': (a) => ~a,
  'a++': (a) => {
    let counter: number = a;
    return counter++;
  },
  'a += 1': (a) => {
    let sum: number = a;
    sum += 1;
    return sum;
  },
  'Number(a)': (a) => Number(a),
  'BigInt(a)': (a) => BigInt(a),
  'Math.max(a, 1)': (a) => Math.max(a, 1),
  'isNaN(a)': (a) => Number.isNaN(Math.abs(a)),
  'new Date(a)': (a) => new Date(a),
};

/** Runs code on arrays eagerly, in a hybridized function, and in deferred compute. */
const modes: Readonly<Record<string, (code: (x: kn.NDArray, y: kn.NDArray) => void) => void>> = {
  eagerly: (code) => code(kn.array([1, 2]), kn.array([1, 2])),
  'on rank 0': (code) => code(kn.array(3), kn.array(3)),
  captured: (code) => {
    const f = kn.hybridize((x: kn.NDArray, y: kn.NDArray) => {
      code(x.add(1), y);
      return x;
    });
    f(kn.array([1, 2]), kn.array([1, 2]));
  },
  deferred: (code) => {
    kn.deferredCompute(() => {
      const x = kn.array([1, 2]).mul(2);
      code(x, x.add(1));
      return x;
    });
  },
};

for (const [mode, run] of Object.entries(modes)) {
  test(`JavaScript's operators on arrays are refused with advice, ${mode}`, () => {
    for (const [expression, convert] of Object.entries(conversions)) {
      const error = refuses(
        () => run((x, y) => convert(loose(x), loose(y))),
        kn.ArgumentError,
        'JavaScript operators',
        'x.add(y)',
        'x.item()',
      );
      assert.match(error.source ?? '', /operators\.test/, expression);
    }
  });

  test(`equality of arrays is identity, which cannot be trapped, ${mode}`, () => {
    run((x, y) => {
      const other: kn.NDArray = y;
      assert.equal(x === x, true); // oxlint-disable-line no-self-compare -- this is about that
      assert.equal(x === other, false);
      // oxlint-disable-next-line eqeqeq -- as above
      assert.equal(x == other, false);
      assert.equal(Object.is(x, other), false);
      assert.equal(Boolean(x), true);
    });
  });

  test(`arrays without axes are not iterable, ${mode}`, () => {
    const loop = (x: kn.NDArray): void => {
      for (const _ of x.sum()) assert.fail('there is nothing to iterate over');
    };
    refuses(() => run((x) => [...x.sum()]), kn.ShapeError, 'no rows to go over', 'for...of');
    refuses(() => run(loop), kn.ShapeError, 'no rows to go over', 'for...of');
  });
}

test('the text of an array is never a number, so arithmetic on it gives NaN', () => {
  const texts = kn.dtypes.flatMap((dtype) =>
    [[], [1], [0], [2, 2], [0, 3]].map((shape) => `${kn.ones(shape, { dtype })}`),
  );
  assert.equal(texts.length, kn.dtypes.length * 5);
  for (const text of texts) {
    assert.match(text, /^array\(/);
    assert.ok(Number.isNaN((text as never as number) * 2), text);
  }
});

test('the text of an array that is being captured is refused; deferred compute computes it', () => {
  const describe = kn.hybridize((x: kn.NDArray) => {
    const text = `${x.sum()}`;
    return x.mul((text as never as number) * 2);
  });
  refuses(() => describe(kn.array([1, 2])), kn.TraceError, 'sum', 'where or cond');
  const ofArgument = kn.hybridize((x: kn.NDArray) => x.mul(`${x}`.length));
  refuses(() => ofArgument(kn.array(3)), kn.TraceError, 'an input', 'float32[]');
  let text = '';
  kn.deferredCompute(() => {
    const x = kn.array([1, 2]).add(1);
    text = `${x}`;
    return x;
  });
  assert.equal(text, 'array([2., 3.])');
});
