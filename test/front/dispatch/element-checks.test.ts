import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/** Captured code refuses the positions that eager code refuses, before it writes anything. */

const positions = (...values: number[]): kn.NDArray => kn.array(values, { dtype: 'int32' });

type Body = (x: kn.NDArray, i: kn.NDArray) => kn.NDArray;
const bodies: Record<string, Body> = {
  'given positions': (x, i) => x.take(i, { axis: 0 }),
  'positions in another shape and dtype': (x, i) => x.take(i.reshape([-1, 1]).astype('int64'), { axis: 0 }),
  'positions that arithmetic has made': (x, i) => x.take(i.mul(2).sub(1), { axis: 0 }),
  'positions along an axis': (x, i) => kn.gather(x, i, 0),
  'positions of updates': (x, i) => kn.scatterAdd(x, i, kn.zerosLike(i).astype('float32'), 0),
  'positions that are read for nothing': (x, i) => (x.take(i, { axis: 0 }), x.mul(2)),
  'positions inside another function': (x, i) => kn.hybridize((v: kn.NDArray) => v.take(i, { axis: 0 }))(x),
}; // prettier-ignore

function refusal(run: () => unknown): object {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof kn.KaonError, String(error));
    return { kind: error.constructor.name, op: error.op, code: error.code };
  }
  return { kind: 'none' };
}

for (const [name, body] of Object.entries(bodies)) {
  test(`${name} outside of the axis are refused captured as eagerly`, () => {
    const x = kn.array([1, 2, 3]);
    const state = kn.zeros([1]);
    const whole = (f: Body): Body => {
      return (v, i) => {
        state.assign(state.add(1));
        return f(v, i).add(kn.random.uniform([1]).mul(0));
      };
    };
    const captured = kn.hybridize(body);
    const stateful = kn.hybridize(whole(body));
    const sized = kn.hybridize(body, { dynamic: [['n'], ['m']] });
    const saved = kn.StaticGraph.fromJSON(
      JSON.stringify(kn.hybridize(body).graphFor(x, positions(1, 1)).toJSON()),
    );
    const [first, second] = saved.inputNames;
    for (const good of [positions(1, 1), positions(0, 1)]) {
      const expected = body(x, good).tolist();
      assert.deepEqual(captured(x, good).tolist(), expected);
      assert.deepEqual(sized(x, good).tolist(), expected);
      stateful(x, good);
    }
    kn.random.seed(1);
    for (const bad of [positions(0, 5), positions(-7, 0)]) {
      const expected = refusal(() => body(x, bad));
      assert.deepEqual(expected, {
        kind: 'ArgumentError',
        op: (expected as { op: string }).op,
        code: 'KAON_ARGUMENT',
      });
      assert.deepEqual(
        refusal(() => captured(x, bad)),
        expected,
      );
      assert.deepEqual(
        refusal(() => sized(x, bad)),
        expected,
      );
      assert.deepEqual(
        refusal(() => stateful(x, bad)),
        expected,
      );
      assert.deepEqual(
        refusal(() => kn.autograd.record(() => captured(x, bad))),
        expected,
      );
      assert.deepEqual(
        refusal(() => saved.run({ [first]: x, [second]: bad })),
        expected,
      );
    }
    assert.deepEqual([state.tolist(), kn.random.getState().counter], [[2], 0n]);
  });
}

test('the error names the line of the call inside the captured code', () => {
  const captured = kn.hybridize((x: kn.NDArray, i: kn.NDArray) => x.take(i));
  captured(kn.ones([2]), positions(0));
  assert.throws(
    () => captured(kn.ones([2]), positions(2)),
    (error) => {
      assert.ok(error instanceof kn.ArgumentError);
      assert.match(error.message, /index 2 is outside/);
      assert.match(error.source ?? '', /element-checks\.test/);
      return true;
    },
  );
});

test("positions that clip or wrap are nobody else's business", () => {
  const captured = kn.hybridize((x: kn.NDArray, i: kn.NDArray) => x.take(i, { mode: 'clip' }));
  for (let call = 0; call < 3; call++) {
    assert.deepEqual(captured(kn.array([1, 2]), positions(9)).tolist(), [2]);
  }
});
