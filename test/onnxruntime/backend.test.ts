import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { type OnnxRuntime, registerOnnxruntime } from '../../src/onnxruntime.js';
import { runtimes } from './installed.js';

/* Networks of which onnxruntime runs parts, against the same networks run here. */

function close(actual: kn.NDArray, expected: kn.NDArray, tolerance = 1e-5): void {
  const [a, b] = [actual, expected].map((each) => Array.from(each.dataSync(), Number));
  assert.deepEqual(actual.shape, expected.shape);
  const scale = Math.max(1, ...b.map(Math.abs));
  a.forEach((each, i) => {
    assert.ok(Math.abs(each - b[i]) <= tolerance * scale, `element ${i}: ${each}, not ${b[i]}`);
  });
}

class Mlp extends kn.nn.HybridBlock {
  readonly first = new kn.nn.Dense(16, { activation: 'relu' });
  readonly norm = new kn.nn.LayerNorm();
  readonly last = new kn.nn.Dense(4);

  override forward(x: kn.NDArray): kn.NDArray {
    return this.last.call(this.norm.call(this.first.call(x)));
  }
}

for (const { name, runtime, skip } of runtimes) {
  if (runtime !== null) registerOnnxruntime({ name, runtime });
  const options = { backend: name } as const;
  const broken = `${name}-broken`;

  test(
    `${name}: a network of products and a norm runs there, and gives the same`,
    { skip },
    async () => {
      kn.random.seed(1);
      const net = new Mlp().initialize();
      const x = kn.random.normal([5, 8]);
      const expected = net.call(x);
      net.hybridize(options);
      const result = net.call(x);
      assert.throws(() => result.dataSync(), kn.DeviceError);
      close(await result.cpu(), expected);
      const { parts } = net.explain().traces[0];
      assert.deepEqual(
        parts.map(({ backend }) => backend),
        [name],
      );
    },
  );

  test(
    `${name}: convolutions run there, and what has dtypes that it lacks runs here`,
    { skip },
    async () => {
      kn.random.seed(2);
      const conv = new kn.nn.Conv2d(4, 3, { padding: 1 }).initialize();
      const dense = new kn.nn.Dense(3).initialize();
      const step = (x: kn.NDArray): kn.NDArray => {
        const rows = conv.call(x).relu().reshape([2, -1]);
        const coarse = rows.astype('bfloat16');
        return dense.call(coarse.mul(coarse).astype('float32'));
      };
      const x = kn.random.normal([2, 3, 8, 8]);
      const expected = step(x);
      const captured = kn.hybridize(step, options);
      close(await captured(x).cpu(), expected);
      const { parts } = captured.explain().traces[0];
      assert.deepEqual(
        parts.map(({ backend, runs }) => [backend, runs]),
        [
          [name, 1],
          ['kaon', 1],
          [name, 1],
        ],
      );
    },
  );

  test(`${name}: numbers of other dtypes beside a product go there with it`, { skip }, async () => {
    const w = kn.random.normal([4, 3]).astype('float64');
    const step = (x: kn.NDArray): Readonly<Record<string, kn.NDArray>> => {
      const y = x.astype('float64').matmul(w);
      const best = y.argmax(1);
      return { y, best, odd: best.mod(2).equal(1), half: y.astype('float16').mul(2) };
    };
    const x = kn.random.normal([5, 4]);
    const expected = step(x);
    const captured = kn.hybridize(step, options);
    const results = captured(x);
    for (const [key, result] of Object.entries(results)) {
      assert.equal(result.dtype, expected[key].dtype);
      close(await result.cpu(), expected[key], key === 'half' ? 2 ** -10 : 1e-14);
    }
    const { parts } = captured.explain().traces[0];
    assert.deepEqual(parts.map(({ backend }) => backend), [name]); // prettier-ignore
  });

  test(`${name}: what it has no kernels for in float64 runs here`, { skip }, async () => {
    const w = kn.random.normal([2, 3, 3]).astype('float64');
    const step = (x: kn.NDArray): kn.NDArray => kn.conv(x, w).matmul(kn.ones([4, 2]).astype('float64')); // prettier-ignore
    const x = kn.random.normal([1, 3, 6]).astype('float64');
    const captured = kn.hybridize(step, options);
    close(await captured(x).cpu(), step(x), 1e-14);
    const { parts } = captured.explain().traces[0];
    assert.deepEqual(parts.map(({ backend }) => backend), ['kaon', name]); // prettier-ignore
  });

  test(`${name}: a loop whose body has a product, and a mask in the middle`, { skip }, async () => {
    const w = kn.random.normal([4, 4]).mul(0.3);
    const step = (x: kn.NDArray): kn.NDArray => {
      const [rows] = kn.foreach(
        (row, state) => {
          const next = state.matmul(w).add(row).tanh();
          return [next, next];
        },
        x,
        kn.zeros([2, 4]),
      );
      const flat = rows.reshape([-1, 4]);
      const kept = flat.booleanMask(flat.sum(1).greater(0));
      // The first two rows, or as many as there are.
      return kept
        .matmul(w)
        .sum(0)
        .add(kept.slice([0, 2]).matmul(w).sum(0));
    };
    const x = kn.random.normal([6, 2, 4]);
    const expected = step(x);
    const captured = kn.hybridize(step, options);
    close(await captured(x).cpu(), expected);
    const there = captured.explain().traces[0].parts.filter(({ backend }) => backend === name);
    assert.deepEqual(
      there.map(({ runs }) => runs),
      [1, 1],
      'the loop as a whole, and what follows the mask',
    );
  });

  test(
    `${name}: a loop with dtypes that it lacks runs here, products of its body there`,
    { skip },
    async () => {
      const w = kn.random.normal([4, 4]).mul(0.3);
      const step = (x: kn.NDArray): kn.NDArray =>
        kn.foreach(
          (row, state) => [
            [],
            state.matmul(w).add(row.astype('bfloat16').tanh().astype('float32')),
          ],
          x,
          kn.zeros([2, 4]),
        )[1];
      const x = kn.random.normal([6, 2, 4]);
      const captured = kn.hybridize(step, options);
      close(await captured(x).cpu(), step(x));
      const there = captured.explain().traces[0].parts.filter(({ backend }) => backend === name);
      assert.deepEqual(there.map(({ runs }) => runs), [6]); // prettier-ignore
    },
  );

  test(
    `${name}: recurrent layers, their gradients, branches and loops run there whole`,
    { skip },
    async () => {
      kn.random.seed(3);
      const lstm = new kn.nn.LSTM(5, { inputs: 3, bidirectional: true }).initialize();
      const w = kn.random.normal([5, 5]).mul(0.2);
      w.attachGrad();
      const step = (x: kn.NDArray, isLong: kn.NDArray): readonly kn.NDArray[] => {
        const loss = kn.autograd.record(() => {
          const [outputs] = lstm.call(x);
          const [state] = kn
            .whileLoop(
              (at: kn.NDArray, h: kn.NDArray) =>
                at.less(4).logicalAnd(h.square().sum().greater(1e-9)),
              (at: kn.NDArray, h: kn.NDArray) => [[], [at.add(1), h.matmul(w).tanh()]] as const,
              [kn.zeros([], { dtype: 'int32' }), outputs.slice(':', -1, [0, 5])],
              { maxIterations: 6 },
            )[1]
            .slice(1);
          return kn.cond(
            isLong,
            () => state.matmul(w).sum(),
            () => state.square().mean(),
          );
        });
        return [loss, ...kn.autograd.grad(loss, [w, ...[...lstm.parameters().values()].map(({ value }) => value)])]; // prettier-ignore
      };
      const x = kn.random.normal([2, 4, 3]);
      const captured = kn.hybridize(step, options);
      for (const isLong of [true, false]) {
        const given = kn.array(isLong);
        const expected = step(x, given);
        for (const [k, found] of captured(x, given).entries())
          close(await found.cpu(), expected[k]);
      }
      const there = captured.explain().traces[0].parts.filter(({ backend }) => backend === name);
      assert.ok(there.length <= 3 && there.every(({ runs }) => runs === 2), JSON.stringify(captured.explain().traces[0].parts)); // prettier-ignore
    },
  );

  test(
    `${name}: training steps: forward, backward and update, on state that is there later`,
    { skip },
    async () => {
      const made = (): Mlp => {
        kn.random.seed(3);
        return new Mlp().initialize();
      };
      const x = kn.random.normal([4, 5]);
      const steps = (net: Mlp): ((input: kn.NDArray) => kn.NDArray) => {
        net.call(x);
        const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.05 });
        return (input) => {
          const loss = kn.autograd.record(() => net.call(input).square().mean());
          loss.backward();
          optimizer.step();
          return loss;
        };
      };
      const [here, there] = [made(), made()];
      const own = steps(here);
      const other = kn.hybridize(steps(there), options);
      for (let k = 0; k < 3; k++) close(await other(x).cpu(), own(x));
      await there.cpu();
      for (const [name, parameter] of there.parameters()) {
        close(parameter.value, here.parameters().get(name)!.value, 1e-4);
      }
      const { parts } = other.explain().traces[0];
      assert.ok(parts.some(({ backend, runs }) => backend === name && runs === 3));
    },
  );

  test(`${name}: any batch: sizes stay symbols there`, { skip }, async () => {
    kn.random.seed(4);
    const net = new Mlp().initialize();
    net.call(kn.zeros([1, 8]));
    const captured = kn.hybridize((x: kn.NDArray) => net.call(x), { ...options, dynamic: [['batch', null]] }); // prettier-ignore
    for (const batch of [3, 7, 1]) {
      const x = kn.random.normal([batch, 8]);
      close(await captured(x).cpu(), net.call(x));
    }
    assert.equal(captured.explain().traces.length, 1);
  });

  test(
    `${name}: a session that cannot be made is an error that names the calls, or a part that runs here`,
    { skip },
    async () => {
      const w = kn.random.normal([4, 4]);
      registerOnnxruntime({ name: broken, runtime: runtime!, session: { executionProviders: ['none'] } }); // prettier-ignore
      const x = kn.ones([2, 4]);
      const strict = kn.hybridize((input: kn.NDArray) => input.matmul(w), { backend: broken });
      await assert.rejects(
        () => strict(x).cpu(),
        (error) =>
          error instanceof kn.DeviceError && /matmul \(.*backend\.test/.test(error.actual ?? ''),
      );
      const lenient = kn.hybridize((input: kn.NDArray) => input.matmul(w), { backend: broken, fallback: true }); // prettier-ignore
      close(await lenient(x).cpu(), x.matmul(w));
      const [{ backend, problem }] = lenient.explain().traces[0].parts;
      assert.equal(backend, 'kaon');
      assert.ok(problem !== null && problem.length > 0);
    },
  );
}

test('sessions are made one after the other, after a failure, too', async () => {
  let open = 0;
  const most: number[] = [];
  const create = async (): Promise<never> => {
    most.push(++open);
    await new Promise((resolve) => setImmediate(resolve));
    open--;
    throw new Error('no session');
  };
  const runtime = { InferenceSession: { create }, Tensor: Array } as unknown as OnnxRuntime;
  registerOnnxruntime({ name: 'one-by-one', runtime });
  const w = kn.ones([4, 4]);
  const step = (x: kn.NDArray): kn.NDArray =>
    x.matmul(w).astype('bfloat16').add(1).astype('float32').matmul(w);
  const captured = kn.hybridize(step, { backend: 'one-by-one', fallback: true });
  const x = kn.full([2, 4], 0.5);
  close(await captured(x).cpu(), step(x));
  assert.deepEqual(most, [1, 1]);
});

test('a module that is not onnxruntime is refused', () => {
  assert.throws(
    () => registerOnnxruntime({ name: 'wrong', runtime: { Tensor: Array } as unknown as OnnxRuntime }), // prettier-ignore
    kn.UnsupportedError,
  );
});

test(
  'a runtime that is not installed is named',
  { skip: runtimes[0].runtime !== null && 'it is installed' },
  async () => {
    const w = kn.ones([4, 4]);
    const captured = kn.hybridize((x: kn.NDArray) => x.matmul(w), { backend: 'onnxruntime' });
    await assert.rejects(() => captured(kn.ones([2, 4])).cpu(), /npm install onnxruntime-node/);
  },
);
