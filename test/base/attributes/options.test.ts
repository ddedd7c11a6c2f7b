import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../src/base/dtype.js';
import { ArgumentError } from '../../../src/base/errors.js';
import {
  checkArgument,
  checkOptions,
  dtypeName,
  eitherRule,
  finite,
  flag,
  fraction,
  integerFrom,
  nearestName,
  nonNegative,
  oneOfValues,
  orNull,
  positiveNumber,
} from '../../../src/base/attributes/options.js';

interface Options {
  readonly weightDecay?: number;
  readonly nesterov?: boolean;
  readonly secret?: number;
}

const rules = { weightDecay: nonNegative, nesterov: flag, secret: finite };

const refusal = (options: unknown): ArgumentError => {
  try {
    checkOptions<Options>('SGD', options, rules, ['secret']);
  } catch (error) {
    assert.ok(error instanceof ArgumentError);
    return error;
  }
  throw new assert.AssertionError({ message: 'accepted' });
};

test('options with rules are accepted, absent and undefined ones too', () => {
  assert.doesNotThrow(() => checkOptions<Options>('SGD', {}, rules));
  assert.doesNotThrow(() =>
    checkOptions<Options>('SGD', { weightDecay: 0, nesterov: undefined, secret: 1 }, rules),
  );
});

test('an unknown option is refused with the nearest name, and hidden ones are not told', () => {
  const error = refusal({ weight_decay: 0.1 });
  assert.match(error.message, /there is no option weight_decay/);
  assert.equal(error.op, 'SGD');
  assert.equal(error.expected, 'weightDecay, nesterov');
  assert.equal(error.advice, 'did you mean weightDecay?');
  assert.equal(refusal({ momentumm: 1 }).advice, undefined);
});

test('a value that its rule refuses, and options that are no object', () => {
  assert.match(refusal({ weightDecay: -1 }).message, /weightDecay is not acceptable/);
  assert.equal(refusal({ nesterov: 1 }).actual, '1');
  for (const options of [null, 3, 'all', [], undefined]) {
    assert.match(refusal(options).message, /the options are not an object/);
  }
  assert.match(refusal({ __proto__x: 1 }).message, /there is no option/);
  assert.match(refusal(JSON.parse('{"__proto__": 1}')).message, /there is no option __proto__/);
  assert.match(refusal({ constructor: 1 }).message, /there is no option constructor/);
});

test('rules accept what they say', () => {
  const cases: readonly [{ accepts(value: unknown): boolean }, unknown[], unknown[]][] = [
    [finite, [0, -1.5], [NaN, Infinity, '1', 1n]],
    [positiveNumber, [1e-320], [0, -1, NaN, Infinity]],
    [nonNegative, [0, 2], [-1e-9, NaN]],
    [fraction, [0, 1, 0.5], [-0.1, 1.1, NaN]],
    [integerFrom(1), [1, 7], [0, 1.5, NaN, 2 ** 53]],
    [oneOfValues('mean', 'sum', null), ['mean', null], ['Mean', undefined]],
    [orNull(flag), [null, true], [undefined, 0]],
    [eitherRule(flag, finite), [true, 3], ['3', null]],
  ];
  for (const [rule, accepted, refused] of cases) {
    for (const value of accepted) assert.ok(rule.accepts(value), String(value));
    for (const value of refused) assert.ok(!rule.accepts(value), String(value));
  }
  assert.throws(() => checkArgument('huber', 'delta', -1, positiveNumber), {
    op: 'huber',
    expected: 'a finite number above 0',
    actual: '-1',
  });
});

test('the nearest name is a small misspelling away, or there is none', () => {
  const known = ['activation', 'useBias', 'dtype', 'weightInit'];
  assert.equal(nearestName('activaton', known), 'activation');
  assert.equal(nearestName('use_bias', known), 'useBias');
  assert.equal(nearestName('weight-init', known), 'weightInit');
  assert.equal(nearestName('padding', known), null);
  assert.equal(nearestName('x', known), null);
  assert.equal(nearestName('x', []), null);
  // PyTorch's names, and words of ours.
  const others = ['learningRate', 'epsilon', 'labelSmoothing', 'weight', 'weightDecay'];
  for (const [name, wanted] of [
    ['lr', 'learningRate'],
    ['eps', 'epsilon'],
    ['weight_decay', 'weightDecay'],
    ['smothing', 'labelSmoothing'],
    ['classWeights', 'weight'],
    ['rate', 'learningRate'],
    ['momentum', null],
    ['e', null],
    ['', null],
    ['_', null],
  ] as const) {
    assert.equal(nearestName(name, others), wanted, name);
  }
  assert.equal(nearestName('bias', known), 'useBias');
});

test('a dtype in the place of options is told where it belongs', () => {
  const advice = (options: unknown): string | null | undefined => {
    try {
      checkOptions<{ readonly dtype?: DType }>('array', options, { dtype: dtypeName });
    } catch (error) {
      assert.ok(error instanceof ArgumentError);
      return error.advice;
    }
    return assert.fail('accepted');
  };
  assert.equal(advice('bfloat16'), "pass { dtype: 'bfloat16' }");
  assert.equal(advice('float') ?? null, null);
});
