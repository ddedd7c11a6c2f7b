import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

/* Gradients of the user's own beside elements that the program tells of, because it computes them or its branches do. */

const int32 = { dtype: 'int32' } as const;

/** The sine with half of its derivative. */
const halved = kn.customGradient({
  forward: (x: kn.NDArray) => x.sin(),
  backward: ([grad], { inputs: [x] }) => grad.mul(x.cos()).mul(0.5),
});

/** The same, whose forward function gathers at positions that it computes. */
const gathering = kn.customGradient({
  forward: (x: kn.NDArray, table: kn.NDArray, at: kn.NDArray) =>
    x.sin().add(table.take(at.mul(2).sort()).mul(0)),
  backward: ([grad], { inputs: [x] }) => [grad.mul(x.cos()).mul(0.5), null, null],
});

type Body = (x: kn.NDArray, table: kn.NDArray, at: kn.NDArray, flag: kn.NDArray) => kn.NDArray;

const bodies: Readonly<Record<string, { readonly body: Body; readonly times?: number }>> = {
  'computed positions': { body: (x, table, at) => halved(x).add(table.take(at.mul(2).sort())) },
  'a branch': {
    body: (x, table, at, flag) => {
      const y = halved(x);
      return y.add(kn.cond(flag, () => table.take(at.mul(2)), () => y)); // prettier-ignore
    },
    times: 1,
  },
  'the forward function': { body: (x, table, at) => gathering(x, table, at) },
  'the forward function in a branch': {
    body: (x, table, at, flag) => kn.cond(flag, () => gathering(x, table, at), () => x), // prettier-ignore
  },
  'the forward function in a loop': {
    body: (x, table, at) =>
      kn.foreach(
        (_, sum: kn.NDArray) => [sum, sum.add(gathering(x, table, at))],
        kn.zeros([3]),
        kn.zeros([2]),
      )[1],
    times: 3,
  },
};

for (const [name, { body, times = 1 }] of Object.entries(bodies)) {
  for (const capture of [kn.hybridize, kn.staticGraph] as const) {
    test(`${capture.name}: a gradient of one's own is kept where elements are told of: ${name}`, () => {
      const captured = capture(body);
      const values = [1, -2];
      for (let call = 0; call < 4; call++) {
        const x = kn.array(values);
        x.attachGrad();
        const table = kn.array([1, 2, 3, 4]);
        const y = kn.autograd.record(() => captured(x, table, kn.array([0, 1], int32), kn.array(true))); // prettier-ignore
        y.backward();
        const expected = values.map((value) => (times * Math.cos(value)) / 2);
        assertClose(Array.from(x.grad!.dataSync()), expected, 1e-6, `call ${call}`);
        const refused = kn.array([0, 2], int32);
        assert.throws(() => kn.autograd.record(() => captured(x, table, refused, kn.array(true))), {
          name: 'ArgumentError',
          message: /index 4 is outside the axis/,
        });
      }
    });
  }
}
