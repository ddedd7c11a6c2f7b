import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { protobufFor } from '../../../../src/formats/onnx/proto/library.js';
import type { GraphProto } from '../../../../src/formats/onnx/proto/onnx_pb.js';
import { agrees, type Arrays } from './agrees.js';

/** Rows of three, for each number of rows; and a state. */
const rows = (...counts: readonly number[]): Arrays[] =>
  counts.map((n) => ({
    x: kn.arange(n * 3).reshape([n, 3]).mul(0.1).sub(0.5),
    s: kn.array([1, -2, 0.5]),
  })); // prettier-ignore

const dynamic = { x: ['n', null] };

/** All operators of a model, those of graphs inside included. */
function operators(bytes: Uint8Array): string[] {
  const { fromBinary, schema } = protobufFor('test');
  const inside = (graph: GraphProto): string[] =>
    graph.node.flatMap(({ opType, attribute }) => [
      opType,
      ...attribute.flatMap(({ g }) => (g === undefined ? [] : inside(g))),
    ]);
  return inside(fromBinary(schema.ModelProtoSchema, bytes).graph!);
}

const gradients =
  (f: (x: kn.NDArray, s: kn.NDArray) => kn.NDArray) =>
  ({ x, s }: Arrays): Arrays => {
    const [v, [gx, gs]] = kn.valueAndGrad(f, [0, 1])(x, s);
    return { v, gx, gs };
  };

test('a branch is If, with what it reads by name', () => {
  const feeds = [
    { x: kn.array([1, 2, 3]), s: kn.array([1, -2, 0.5]) },
    { x: kn.array([-1, -2, -3]), s: kn.array([1, 2, 0.5]) },
  ];
  for (const opset of [17, 19, 21, 22]) {
    const model = agrees(
      ({ x, s }) => ({
        y: kn.cond(
          x.sum().greater(0),
          () => x.mul(s),
          () => x.sub(s).exp(),
        ),
      }),
      feeds,
      { opset },
    );
    assert.equal(fromOnnx(model).model.opsets.get(''), opset);
    assert.ok(operators(model).includes('If'));
  }
  // Branches that give what lies outside of them, and the same twice.
  agrees(({ x, s }) => {
    const [p, q] = kn.cond(x.sum().greater(0), () => [x, s], () => [s, s]); // prettier-ignore
    return { p, q };
  }, feeds);
});

test('branches of different sizes', () => {
  agrees(
    ({ x }) => ({
      y: kn
        .cond(
          x.sum().greater(0),
          () => x.booleanMask(x.sum(1).greater(0)),
          () => x,
        )
        .mul(2),
    }),
    rows(7, 4, 1, 0),
    { dynamic },
  );
});

const recurrent = ({ x, s }: Arrays): Arrays => {
  const [o, t] = kn.foreach(
    (row: kn.NDArray, state: kn.NDArray): [kn.NDArray, kn.NDArray] => {
      const next = row.mul(state).add(0.1).tanh();
      return [next.mul(2), next];
    },
    x,
    s,
  );
  return { o, t };
};

test('a loop over rows is Scan where there is one at least, and Loop where there may be none', () => {
  for (const opset of [17, 19, 22]) {
    assert.ok(operators(agrees(recurrent, rows(4), { opset })).includes('Scan'));
    const model = agrees(recurrent, rows(4, 1, 0, 7), { opset, dynamic });
    assert.ok(operators(model).includes('Loop'));
  }
});

test('a loop over rows comes back as one', () => {
  const found = fromOnnx(agrees(recurrent, rows(4, 0), { dynamic })).toString();
  assert.match(found, /foreach/);
});

test('maps, folds, rows of another shape, states and rows that are only passed on', () => {
  agrees(({ x, s }) => {
    const [o] = kn.foreach((row: kn.NDArray) => [row.add(s), []], x, []);
    const [, t] = kn.foreach((row: kn.NDArray, state: kn.NDArray) => [[], state.add(row)], x, s);
    return { o: o as kn.NDArray, t: t as kn.NDArray };
  }, rows(4, 1, 0), { dynamic }); // prettier-ignore
  agrees(({ x, s }) => {
    const [o, t] = kn.foreach(
      (row: kn.NDArray, state: kn.NDArray) => [row.mul(state).reshape([-1, 1]).add(s), state.add(1)],
      x,
      s,
    );
    return { o: o as kn.NDArray, t: t as kn.NDArray };
  }, rows(4, 0), { dynamic }); // prettier-ignore
  agrees(({ x, s }) => {
    const [o, t] = kn.foreach((row: kn.NDArray, state: kn.NDArray) => [[state, row], state], x, s);
    const [p, q] = o as kn.NDArray[];
    return { p, q, t: t as kn.NDArray };
  }, rows(3, 0), { dynamic }); // prettier-ignore
});

test('without iterations, symbolic sizes of rows are what they should be', () => {
  const feeds = [[3, 2], [0, 4], [2, 1], [2, 0]].map(([n, k]) => ({ x: kn.ones([n, k]), s: kn.array(1) })); // prettier-ignore
  agrees(({ x, s }) => {
    const [o, t] = kn.foreach((row: kn.NDArray, sum: kn.NDArray) => [row.mul(2), sum.add(row.sum())], x, s);
    return { o: o as kn.NDArray, t: t as kn.NDArray };
  }, feeds, { dynamic: { x: ['n', 'k'] } }); // prettier-ignore
});

/** As many iterations as the sum of `x` says, if there is no limit. */
const looped =
  (options: object) =>
  ({ x, s }: Arrays): Arrays => {
    const [o, [i, t], n] = kn.whileLoop(
      (i: kn.NDArray) => i.less(x.sum()),
      (i: kn.NDArray, t: kn.NDArray) => [t.mul(2), [i.add(1), t.mul(s).add(0.1)]],
      [kn.array(0), s],
      options,
    ) as unknown as [kn.NDArray, [kn.NDArray, kn.NDArray], kn.NDArray];
    return { o, i, t, n };
  };

test('loops that a condition ends, with a limit, padded and without iterations', () => {
  for (const options of [{}, { maxIterations: 5 }, { maxIterations: 5, padded: true }]) {
    agrees(looped(options), rows(4, 1, 0, 7), { dynamic });
    agrees(looped({ ...options, maxIterations: 0 }), rows(4), { dynamic });
  }
});

test('gradients of loops over rows and of branches', () => {
  const loss = (x: kn.NDArray, s: kn.NDArray): kn.NDArray => {
    const { o, t } = recurrent({ x, s });
    return o.square().sum().add(t.sum());
  };
  agrees(gradients(loss), rows(4, 1, 0), { dynamic });
  agrees(gradients(loss), rows(40));
  const branches = (x: kn.NDArray, s: kn.NDArray): kn.NDArray =>
    kn.cond(
      x.sum().greater(0),
      () => x.mul(s).sum(),
      () => x.sub(s).exp().sum(),
    );
  agrees(gradients(branches), rows(4, 1, 7), { dynamic });
  const second = (x: kn.NDArray, s: kn.NDArray): kn.NDArray =>
    kn.grad(loss, [0])(x, s)[0].square().sum();
  agrees(gradients(second), rows(3, 1, 0), { dynamic });
});

test('gradients of loops that a condition ends', () => {
  for (const options of [{}, { maxIterations: 5 }, { maxIterations: 5, padded: true }]) {
    const loss = (x: kn.NDArray, s: kn.NDArray): kn.NDArray => {
      const { o, t } = looped(options)({ x, s });
      return o.square().sum().add(t.sum());
    };
    const folded = (x: kn.NDArray, s: kn.NDArray): kn.NDArray => looped(options)({ x, s }).t.sum();
    agrees(gradients(loss), rows(4, 1, 0, 7), { dynamic });
    agrees(gradients(folded), rows(4, 1, 0, 7), { dynamic });
  }
});

test('loops in loops with branches, and their gradients', () => {
  const nested = (x: kn.NDArray, s: kn.NDArray): kn.NDArray => {
    const [o, t] = kn.foreach(
      (row: kn.NDArray, state: kn.NDArray) => {
        const [, [, u]] = kn.whileLoop(
          (i: kn.NDArray) => i.less(row.sum().abs().mul(3)),
          (i: kn.NDArray, u: kn.NDArray) => [
            [],
            [
              i.add(1),
              kn.cond(
                i.greater(1),
                () => u.mul(s),
                () => u.add(row),
              ),
            ],
          ],
          [kn.array(0), state],
          { maxIterations: 4 },
        ) as unknown as [unknown, [kn.NDArray, kn.NDArray]];
        return [u.mul(2), u.tanh()];
      },
      x,
      s,
    );
    return (o as kn.NDArray).sum().add((t as kn.NDArray).sum());
  };
  agrees(gradients(nested), rows(3, 1, 0), { dynamic });
});

test('branches and loops read arrays that do not tell how many rows there were', () => {
  const parts: readonly ((x: kn.NDArray) => kn.NDArray)[] = [
    (x) => kn.slice(x, [null, -1]),
    (x) => kn.slice(x, [null, null, 2]),
  ];
  for (const part of parts) {
    const model = agrees(
      ({ x }) => {
        const most = part(x);
        const start = kn.array(0, { dtype: 'int32' });
        const branch = kn.cond(x.sum().greater(0), () => most.mul(2), () => kn.cond(x.sum().less(-1), () => most, () => most.add(1))); // prettier-ignore
        const [sums, last] = kn.foreach((row: kn.NDArray, s: kn.NDArray) => [most.mul(row).sum(), s.add(most)], x, most); // prettier-ignore
        const [steps, [, state]] = kn.whileLoop((i: kn.NDArray) => i.less(2), (i: kn.NDArray, s: kn.NDArray) => [s.add(most), [i.add(1), s.mul(2)] as [kn.NDArray, kn.NDArray]], [start, most] as [kn.NDArray, kn.NDArray]); // prettier-ignore
        return { branch, sums, last, steps, state };
      },
      rows(3, 0, 1, 6),
      { dynamic },
    );
    const kinds = operators(model);
    for (const kind of ['If', 'Loop']) assert.ok(kinds.includes(kind), kind);
  }
});

test('the gradient of a short loop in a branch, whose rows only a run knows to be of one size', () => {
  const feeds = [3, 1, 5].map((n) => ({ w: kn.ones([4]), u: kn.arange(n), s: kn.ones([n, 4]) }));
  const model = agrees(
    ({ w, u, s }) => {
      const loss = (each: kn.NDArray): kn.NDArray => kn.cond(s.sum().greater(5), () => kn.foreach((_: kn.NDArray, state: kn.NDArray) => [each, state], w, s)[0].sum(), () => s.mean()); // prettier-ignore
      return { g: kn.grad(loss)(u) };
    },
    feeds,
    { dynamic: { u: ['n'], s: ['n', null] } },
  );
  assert.ok(operators(model).includes('Scan'));
});
