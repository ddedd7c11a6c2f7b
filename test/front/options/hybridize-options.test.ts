import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../support.js';

const identity = (x: kn.NDArray): kn.NDArray => x.mul(1);

test('values that options do not have are refused, naming those they have', () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ verify: 'never' }, "'off', 'second', 'always'"],
    [{ tier: 'gpu' }, "'auto', 'wasm', 'native'"],
    [{ active: 'yes' }, 'true, false'],
    [{ save: 'some' }, "'all', 'none', 'auto'"],
    [{ save: -1 }, 'number of bytes'],
    [{ save: NaN }, 'number of bytes'],
    [{ maxTraces: 0 }, 'at least 1'],
    [{ maxTraces: 1.5 }, 'at least 1'],
    [{ dynamic: 'batch' }, 'a list with an entry for each array'],
    [{ name: 3 }, 'a string'],
    [
      { verifies: 'off' },
      'active, verify, dynamic, save, tier, strict, backend, fallback, maxTraces, name',
    ],
    [{ constructor: 1 }, 'active, verify'],
  ];
  for (const [options, words] of cases) {
    const error = refuses(() => kn.hybridize(identity, options), kn.ArgumentError, words);
    assert.equal(error.op, 'hybridize');
  }
});

test('all that is there is accepted', () => {
  const x = kn.ones([2]);
  for (const tier of ['auto', 'wasm'] as const) {
    for (const save of ['all', 'none', 'auto', 0, 1e6, Infinity] as const) {
      const f = kn.hybridize(identity, { tier, save, verify: 'always', dynamic: null, maxTraces: 1 });
      for (let i = 0; i < 2; i++) assert.deepEqual(f(x).tolist(), [1, 1]);
    }
  } // prettier-ignore
});

test('dynamic follows the arrays in order, or the nesting of the arguments', () => {
  const add = (batch: { image: kn.NDArray; scale: number }, rest: kn.NDArray[]): kn.NDArray =>
    batch.image.mul(batch.scale).add(rest[1].sum());
  const signatures: [kn.DynamicAxes, string][] = [
    [[['n', null]], '({image: float32[n, 3], scale: 2}, [float32[4], float32[4]])'],
    [[null, null, ['m']], '({image: float32[2, 3], scale: 2}, [float32[4], float32[m]])'],
    [[{ image: ['n'] }], '({image: float32[n, 3], scale: 2}, [float32[4], float32[4]])'],
    [[{ image: null, scale: null }, [null, ['m']]], '({image: float32[2, 3], scale: 2}, [float32[4], float32[m]])'],
    [[{}, [['m'], ['m']]], '({image: float32[2, 3], scale: 2}, [float32[m], float32[m]])'],
  ]; // prettier-ignore
  for (const [dynamic, signature] of signatures) {
    const f = kn.hybridize(add, { dynamic });
    const result = f({ image: kn.ones([2, 3]), scale: 2 }, [kn.ones([4]), kn.ones([4])]);
    assert.deepEqual(result.tolist(), [[6, 6, 6], [6, 6, 6]]); // prettier-ignore
    assert.equal(f.explain().traces[0].signature, signature);
  }
  const misfits: [kn.DynamicAxes, string][] = [
    [[null, null, null, null], 'more entries than there are arrays'],
    [[['a', 'b', 'c']], 'array 0 has fewer axes than names'],
    [[{ images: ['n'] }], 'argument 0'],
    [[{ image: ['n'], scale: ['n'] }], 'argument 0.scale'],
    [[[['n']]], 'argument 0'],
    [[null, { a: null }], 'argument 1'],
    [[null, [['a'], ['b'], ['c']]], 'argument 1'],
    [[{}, [['a', 'b']]], 'argument 1[0] has fewer axes'],
    [[{ image: {} }], 'argument 0.image'],
    [[['not a name']], 'not a name for a dimension'],
    [[['n', 'n']], 'dimension n has two sizes'],
  ];
  for (const [dynamic, words] of misfits) {
    const f = kn.hybridize(add, { dynamic });
    const call = (): unknown =>
      f({ image: kn.ones([2, 3]), scale: 2 }, [kn.ones([4]), kn.ones([4])]);
    refuses(call, kn.ArgumentError, words);
    assert.equal(f.explain().traces.length, 0);
  }
});

test('a dimension that was to stay symbolic and is read as a number is named with the line, whatever that leads to', () => {
  const grid = (x: kn.NDArray): kn.NDArray => x.add(kn.linspace(0, 1, x.shape[1] + 0));
  const scaled = (x: kn.NDArray): kn.NDArray => x.mul(2 * x.shape[1]);
  for (const body of [grid, scaled]) {
    const f = kn.hybridize(body, { dynamic: [['batch', 'time']] });
    assert.throws(
      () => f(kn.ones([2, 5])),
      (error) => {
        assert.ok(error instanceof kn.TraceError, String(error));
        assert.match(error.problem, /symbolic is needed as a number/);
        assert.equal(error.actual, 'time');
        assert.match(error.source ?? '', /hybridize-options\.test/);
        return true;
      },
    );
  }
});
