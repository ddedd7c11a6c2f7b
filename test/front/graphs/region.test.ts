import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { type OperatorFunction, operator } from '../../../src/ops/declare/declare.js';
import type { Unary } from '../../../src/ops/signatures.js';
import { near, refuses } from '../support.js';

const { autograd } = kn;

function gradients(f: (x: kn.NDArray) => kn.NDArray, w: kn.NDArray): unknown {
  const x = kn.array([1, 2]);
  x.attachGrad();
  w.attachGrad();
  kn.random.seed(5);
  autograd.record(() => f(x).sum()).backward();
  return [x.grad!.tolist(), w.grad!.tolist()];
}

test('bodies of captured functions with their own gradient may use arrays from outside', () => {
  const w = kn.array([3, 4]);
  const scale = kn.array([10, 100]);
  const custom = kn.customGradient({
    forward: (x) => x.mul(scale),
    backward: ([g], { inputs: [x], outputs: [y] }) => g.mul(scale).add(x).add(y),
  });
  const f = (x: kn.NDArray): kn.NDArray => {
    const hidden = x.mul(w);
    return custom(hidden).mul(hidden);
  };
  near(gradients(kn.hybridize(f), w), gradients(f, w));
});

test('bodies may close over values of the code around them', () => {
  const w = kn.array([3, 4]);
  const f = kn.hybridize((x: kn.NDArray) => {
    const around = w.mul(2);
    const custom = kn.customGradient({
      forward: (v) => v.add(around),
      backward: ([g]) => g.mul(around),
    });
    return custom(x);
  });
  near(f(kn.array([1, 1])).tolist(), [7, 9]);
  // Nothing flows to what a body closes over: the rule speaks of its inputs only.
  near(gradients(f, w), [
    [6, 8],
    [0, 0],
  ]);
});

test('random draws inside a body are those of eager code', () => {
  const custom = kn.customGradient({
    forward: (x) => x.mul(kn.random.uniform([2])).add(kn.random.uniform([2])),
    backward: ([g]) => g.mul(2),
  });
  const f = (x: kn.NDArray): kn.NDArray => custom(x).add(kn.random.uniform([2]));
  const x = kn.array([1, 2]);
  const draw = (g: typeof f): unknown => {
    kn.random.seed(8);
    return [g(x).tolist(), g(x).tolist()];
  };
  near(draw(kn.hybridize(f)), draw(f), 1e-6);
});

test('state cannot be written in a body that has no way to hand it back', () => {
  const state = kn.array([1, 2]);
  const custom = kn.customGradient({
    forward: (x) => {
      state.assign(x);
      return x.mul(2);
    },
    backward: ([g]) => g,
  });
  refuses(
    () => kn.hybridize(custom)(kn.array([3, 4])),
    kn.UnsupportedError,
    'cannot be returned',
    'assign it outside',
  );
  assert.deepEqual(state.tolist(), [1, 2]);
  state.attachGrad();
  const passing = kn.customGradient({
    forward: (x) => {
      autograd.record(() => state.mul(x)).backward();
      return x;
    },
    backward: ([g]) => g,
  });
  refuses(() => kn.hybridize(passing)(kn.array([3, 4])), kn.UnsupportedError, 'cannot be returned');
});

test('a body with its own gradient may count its draws, but not let loops draw', () => {
  const custom = kn.customGradient({
    forward: (x) => kn.foreach((row, none) => [row.mul(kn.random.uniform([])), none], x, [])[0],
    backward: ([g]) => g,
  });
  assert.deepEqual(custom(kn.ones([3, 2])).shape, [3, 2]);
  refuses(() => kn.hybridize(custom)(kn.ones([3, 2])), kn.UnsupportedError, 'draw outside');
});

test('a size that only the data decides is not there while tracing', () => {
  const some: OperatorFunction<Unary> = operator<Unary, Record<string, never>>({
    name: 'some',
    family: 'structure',
    attributes: {},
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x], fresh }) => [{ dtype: x.dtype, shape: [fresh('count')] }],
    gradient: 'none',
    lowering: { kind: 'view' },
    samples: [],
  });
  for (const read of [(y: kn.NDArray) => y.shape[0], (y: kn.NDArray) => y.size]) {
    const f = kn.hybridize((x: kn.NDArray) => {
      read(some(x));
      return x;
    });
    const error = refuses(
      () => f(kn.array([1])),
      kn.TraceError,
      'only the data decides',
      'shapeOf',
    );
    assert.match(error.source ?? '', /region\.test/);
  }
  const typed = kn.hybridize((x: kn.NDArray) => [some(x).ndim, some(x).dtype]);
  assert.deepEqual(typed(kn.array([1])), [1, 'float32']);
});

const bodies: Readonly<Record<string, (size: kn.Dim, t: kn.NDArray) => kn.NDArray>> = {
  foreach: (size, t) =>
    kn.foreach((row, s: kn.NDArray) => [[], s.add(kn.ones([size]).sum()).mul(row)], kn.ones([3]), t)[1], // prettier-ignore
  whileLoop: (size, t) =>
    kn.whileLoop((v) => v.less(kn.ones([size]).sum().mul(3)), (v) => [[], [v.add(kn.ones([size]).sum()).add(1)]], [t])[1][0], // prettier-ignore
  cond: (size, t) =>
    kn.cond(
      t.greater(0),
      () => t.add(kn.ones([size]).sum()),
      () => t,
    ),
  'one in another': (size, t) =>
    kn.foreach((row, s: kn.NDArray) => [[], kn.cond(s.greater(0), () => s.add(kn.ones([size]).sum()), () => row)], kn.ones([3]), t)[1], // prettier-ignore
  customGradient: (size, t) =>
    kn.customGradient({
      forward: (v) => v.add(kn.ones([size]).sum()),
      backward: ([g]) => g.mul(kn.ones([size]).sum()),
    })(t),
};

for (const [name, body] of Object.entries(bodies)) {
  test(`${name}: a body is passed sizes of the code around it, and no array that tells them`, () => {
    const sources: Readonly<Record<string, (x: kn.NDArray) => kn.Dim>> = {
      inputs: (x) => kn.sizeOf(x, 0),
      data: (x) => kn.sizeOf(x.booleanMask(x.greater(1)), 0),
    };
    for (const [source, sizeOf] of Object.entries(sources)) {
      const f = (x: kn.NDArray, t: kn.NDArray): kn.NDArray => body(sizeOf(x), t);
      const hybrid = kn.hybridize(f, { dynamic: [['n'], null] });
      const slope = kn.hybridize((x: kn.NDArray, t: kn.NDArray) => kn.grad((v: kn.NDArray) => f(x, v))(t), { dynamic: [['n'], null] }); // prettier-ignore
      for (const count of [4, 2, 3]) {
        const [x, t] = [kn.arange(count), kn.array(0.5)];
        near(hybrid(x, t).item(), f(x, t).item());
        near(
          slope(x, t).item(),
          kn
            .grad((v: kn.NDArray) => f(x, v))(t)
            .item(),
        );
      }
      const { program } = hybrid.graphFor(kn.arange(4), kn.array(0.5));
      const owners = [...program.graph.nodes()].filter((id) => {
        const node = program.node(id);
        return node.kind === 'call' && node.regions.length > 0;
      });
      assert.equal(owners.length, 1, source);
      const [owner] = owners;
      const shapes = program.operands(owner).map(({ type }) => type.shape);
      assert.ok(shapes.every((shape) => shape.every((dim) => typeof dim === 'number')), `${source}: ${String(program)}`); // prettier-ignore
      assert.equal(hybrid.explain().traces.length, 1);
    }
  });
}

test('a step may differentiate inside of loops and branches that are nested', () => {
  const dtype = 'float64';
  const numbers = [0.1, 0.2, -0.3];
  const w = kn.array(numbers, { dtype });
  w.attachGrad();
  const rows = kn.arange(2, { dtype });
  const slope = (x: kn.NDArray): kn.NDArray => kn.grad((a: kn.NDArray) => a.sin().sum())(x);
  const step = kn.hybridize((x: kn.NDArray) => {
    const loss = kn.autograd.record(() => {
      const [, outer] = kn.foreach(
        (_: kn.NDArray, s: kn.NDArray) => {
          const [, inner] = kn.foreach((row: kn.NDArray, t: kn.NDArray) => [row, t.add(slope(t))] as const, rows, s); // prettier-ignore
          return [
            [],
            kn.cond(
              x.greater(0),
              () => inner.mul(slope(inner)),
              () => inner,
            ),
          ] as const;
        },
        rows,
        w,
      );
      return outer.sum();
    });
    loss.backward();
    return loss;
  });
  const plain =
    (isPositive: boolean) =>
    (start: number): number => {
      let value = start;
      for (let i = 0; i < 2; i++) {
        for (let k = 0; k < 2; k++) value += Math.cos(value);
        if (isPositive) value *= Math.cos(value);
      }
      return value;
    };
  for (const x of [1, -1]) {
    const f = plain(x > 0);
    const loss = step(kn.array(x)).item();
    assert.ok(Math.abs(Number(loss) - numbers.map(f).reduce((a, b) => a + b)) < 1e-12);
    const h = 1e-6;
    const expected = numbers.map((each) => (f(each + h) - f(each - h)) / (2 * h));
    (w.grad!.tolist() as number[]).forEach((each, i) => assert.ok(Math.abs(each - expected[i]) < 1e-8)); // prettier-ignore
  }
});
