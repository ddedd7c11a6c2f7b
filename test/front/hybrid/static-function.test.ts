import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';

/** `staticGraph`, `staticCode` and schedules: the promises of Chainer's static graphs, one test each. */

afterEach(() => {
  kn.config.useStaticGraph = true;
});

const ramp = (n: number, start = 1): kn.NDArray =>
  kn.array(Float32Array.from({ length: n }, (_, i) => start + i));
const list = (array: kn.NDArray): unknown => array.tolist();

test('side-effect code runs on every call, in order, with the real arrays', () => {
  const seen: unknown[] = [];
  const note = kn.staticCode((label: string, x: kn.NDArray) => {
    seen.push([label, x.tolist()]);
  });
  const f = kn.staticGraph((x: kn.NDArray) => {
    const y = x.add(1);
    note('y', y);
    const z = y.mul(2);
    note('z', z);
    note('x', x);
    return z.sum();
  });
  for (let call = 0; call < 4; call++) {
    assert.equal(f(ramp(2, call)).item(), 2 * (2 * call + 3));
  }
  assert.deepEqual(
    seen,
    [0, 1, 2, 3].flatMap((c) => [
      ['y', [c + 1, c + 2]],
      ['z', [2 * c + 2, 2 * c + 4]],
      ['x', [c, c + 1]],
    ]),
  );
  assert.equal(f.explain().traces.length, 1);
});

test('the first call runs everything once: code, state and random draws', () => {
  const state = kn.zeros([1]);
  let runs = 0;
  const count = kn.staticCode((value: kn.NDArray) => {
    runs++;
    return value.add(state);
  });
  const f = kn.staticGraph(
    () => {
      state.assign(state.add(1));
      const inside = count(kn.random.uniform([1]).mul(0));
      state.assign(state.add(inside));
      return kn.random.uniform([2]).add(inside);
    },
    { verify: 'off' },
  );
  const plain = (seed: number, calls: number): unknown[] => {
    kn.random.seed(seed);
    return Array.from({ length: calls }, () => {
      kn.random.uniform([1]);
      return list(kn.random.uniform([2]));
    });
  };
  const draws = plain(3, 3) as number[][];
  kn.random.seed(3);
  const found = [f(), f(), f()].map(list) as number[][];
  // state: +1 before the code sees it, then doubled by what it returned
  let held = 0;
  found.forEach((values, call) => {
    held += 1;
    assertClose(
      values,
      draws[call].map((draw) => Math.fround(draw + held)),
      1e-6,
    );
    held += held;
  });
  assert.deepEqual([runs, list(state)], [3, [held]]);
  assert.equal(kn.random.getState().counter, 6n);
});

test('what side-effect code returns is used by what follows, anew on each call', () => {
  let factor = 1;
  const host = kn.staticCode((x: kn.NDArray) => ({
    scale: kn.array(Number(x.max().item()) * factor),
    rest: [x.astype('int32')],
  }));
  const f = kn.staticGraph((x: kn.NDArray) => {
    const { scale, rest } = host(x.square());
    return x.mul(scale).add(rest[0]);
  });
  for (factor = 1; factor < 5; factor++) {
    const [a, b] = [factor, -2];
    const top = Math.max(a * a, b * b) * factor;
    assert.deepEqual(list(f(kn.array([a, b]))), [a * top + a * a, b * top + b * b]);
  }
  assert.equal(f.explain().traces.length, 1);
});

test('values before the cut reach what comes after it, and gradients go through both', () => {
  const weight = kn.array([0.5, -1, 2]);
  weight.attachGrad();
  const seen: number[] = [];
  const look = kn.staticCode((x: kn.NDArray) => void seen.push(Number(x.item())));
  const body = (x: kn.NDArray): kn.NDArray => {
    const hidden = x.mul(weight).tanh();
    const total = hidden.sum();
    look(total);
    return hidden.mul(total).sum();
  };
  const f = kn.staticGraph(body);
  const run = (g: typeof body, x: kn.NDArray): unknown[] => {
    x.attachGrad();
    const y = kn.autograd.record(() => g(x));
    y.backward();
    return [y, x.grad!, weight.grad!].map(list);
  };
  for (let call = 0; call < 3; call++) {
    const x = ramp(3, call);
    const expected = run(body, x);
    assert.deepEqual(run(f, x), expected);
  }
  assert.equal(seen.length, 6);
});

test('gradients stop at side-effect code, captured or not', () => {
  const double = kn.staticCode((x: kn.NDArray) => x.mul(2));
  const body = (x: kn.NDArray): kn.NDArray => x.mul(double(x)).sum();
  for (const f of [body, kn.staticGraph(body)]) {
    for (let call = 0; call < 3; call++) {
      const x = kn.array([1, 2]);
      x.attachGrad();
      kn.autograd.record(() => f(x)).backward();
      assert.deepEqual(list(x.grad!), [2, 4]);
    }
  }
});

test('a whole training step may be cut: forward, code, backward, code, update', () => {
  const make = (): { step: (x: kn.NDArray) => kn.NDArray; log: number[]; w: kn.nn.Parameter } => {
    const w = new kn.nn.Parameter({ shape: [2] });
    w.assign([1, -1]);
    const optimizer = new kn.optim.SGD(new Map([['w', w]]), {
      learningRate: (step) => 0.5 / (1 + step),
      momentum: 0.5,
    });
    const log: number[] = [];
    const note = kn.staticCode((value: kn.NDArray) => void log.push(Number(value.sum().item())));
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => w.value.sub(x).square().sum());
      note(loss);
      loss.backward();
      note(w.grad!);
      optimizer.step();
      note(w.value);
      return loss;
    };
    return { step, log, w };
  };
  const eager = make();
  const whole = make();
  const step = kn.staticGraph(whole.step);
  for (let call = 0; call < 5; call++) {
    const x = ramp(2, call);
    assertClose([list(step(x)) as number], [list(eager.step(x)) as number], 1e-6);
  }
  assertClose(whole.log, eager.log, 1e-5);
  assertClose(list(whole.w.value) as number[], list(eager.w.value) as number[], 1e-5);
  assert.equal(whole.log.length, 15);
  assert.equal(step.explain().traces.length, 1);
});

test('any number of calls in one iteration, with other shapes and modes, each with its own state', () => {
  const body = (x: kn.NDArray, w: kn.NDArray): kn.NDArray =>
    (kn.autograd.isTraining() ? x.mul(w) : x.add(w)).tanh();
  const f = kn.staticGraph(body);
  const run = (g: typeof body): unknown[] => {
    const w = kn.array(0.5);
    w.attachGrad();
    const loss = kn.autograd.record(() => {
      const first = g(ramp(2), w);
      const second = g(ramp(3), w);
      const quiet = kn.autograd.predictMode(() => g(ramp(2, 3), w));
      const again = g(first, w);
      return first.sum().add(second.sum()).add(quiet.sum()).mul(again.sum());
    });
    loss.backward();
    return [list(loss), list(w.grad!)];
  };
  const [[loss, grad], ...others] = [run(f), run(f), run(f)] as [number, number][];
  const expected = run(body) as [number, number];
  assertClose([loss, grad], expected, 1e-6);
  for (const other of others) assert.deepEqual(other, [loss, grad]);
});

test('nesting: a static function inside another is part of it, its side-effect code included', () => {
  const seen: number[] = [];
  const look = kn.staticCode((x: kn.NDArray) => void seen.push(Number(x.sum().item())));
  const inner = kn.staticGraph((x: kn.NDArray) => {
    look(x);
    return x.mul(2);
  });
  const outer = kn.staticGraph((x: kn.NDArray) => inner(inner(x).add(1)).sum());
  for (let call = 0; call < 3; call++) assert.equal(outer(ramp(2)).item(), 16);
  assert.deepEqual(seen, [3, 8, 3, 8, 3, 8]);
  assert.equal(inner.schedules.length, 0);
  assert.equal(inner(ramp(1)).tolist()?.toString(), '2');
  assert.equal(inner.schedules.length, 1);
});

test('config.useStaticGraph = false: the function runs as it is written', () => {
  let runs = 0;
  const f = kn.staticGraph((x: kn.NDArray) => {
    runs++;
    return x.add(1);
  });
  kn.config.useStaticGraph = false;
  for (let call = 0; call < 3; call++) f(ramp(2));
  assert.deepEqual([runs, f.schedules.length], [3, 0]);
  assert.throws(() => Object.assign(kn.config, { useStaticGraphs: true }), kn.ArgumentError);
  assert.throws(() => Object.assign(kn.config, { useStaticGraph: 1 }), kn.ArgumentError);
  assert.equal(kn.config.useStaticGraph, false);
});

class Cell {
  readonly weight: kn.NDArray;
  readonly seen: unknown[] = [];

  constructor(weight: number) {
    this.weight = kn.array(weight);
  }

  @kn.staticGraph
  step(x: kn.NDArray): kn.NDArray {
    return x.mul(this.weight);
  }

  @kn.staticGraph({ verify: 'always', name: 'shifted' })
  shifted(x: kn.NDArray, by: number): kn.NDArray {
    return this.step(x).add(by);
  }
}

test('the decorator works on methods; each object has its own graphs', () => {
  const [two, three] = [new Cell(2), new Cell(3)];
  for (let call = 0; call < 3; call++) {
    assert.deepEqual(list(two.step(ramp(2))), [2, 4]);
    assert.deepEqual(list(three.step(ramp(2))), [3, 6]);
    assert.deepEqual(list(two.shifted(ramp(2), 1)), [3, 5]);
  }
  two.weight.assign(kn.array(10));
  assert.deepEqual(
    [list(two.step(ramp(2))), list(three.step(ramp(2)))],
    [
      [10, 20],
      [3, 6],
    ],
  );
  assert.throws(
    // @ts-expect-error -- fields are no methods
    () => kn.staticGraph(undefined, { kind: 'field', name: 'x' }),
    kn.ArgumentError,
  );
});

class Counter extends kn.nn.Block {
  count = new kn.nn.Parameter({ shape: [1], gradReq: 'null' });
  layer = new kn.nn.Dense(2);

  forward(x: kn.NDArray): kn.NDArray {
    return this.counted(x);
  }

  @kn.staticGraph
  counted(x: kn.NDArray): kn.NDArray {
    this.count.assign(this.count.value.add(1));
    return this.layer.call(x);
  }
}

test('methods of blocks: state is written once a call, and a replaced child is noticed', () => {
  const net = new Counter().initialize();
  const x = kn.ones([1, 3]);
  for (let call = 1; call <= 4; call++) {
    net.call(x);
    assert.deepEqual(list(net.count.value), [call]);
  }
  const before = net.call(x);
  net.layer = new kn.nn.Dense(4).initialize();
  assert.deepEqual(
    [before.shape, net.call(x).shape],
    [
      [1, 2],
      [1, 4],
    ],
  );
});

test('schedules show what is cached and can be stepped through, operator by operator', () => {
  const seen: number[] = [];
  const look = kn.staticCode(function look(x: kn.NDArray) {
    seen.push(Number(x.sum().item()));
    return x.add(100);
  });
  const state = kn.zeros([2]);
  const f = kn.staticGraph((x: kn.NDArray) => {
    const y = x.mul(3);
    state.assign(y);
    const z = look(y);
    return state.add(z).sum();
  });
  f(ramp(2));
  f(ramp(2, 5));
  assert.equal(f.schedules.length, 1);
  const [schedule] = f.schedules;
  assert.equal(schedule.calls, 2);
  assert.match(schedule.signature, /float32\[2\]/);
  assert.deepEqual(schedule.graph.inputNames, ['input']);
  assert.equal(schedule.graphs.length, 2);
  const before = [list(state), seen.length, kn.random.getState().counter];
  const steps = [...schedule.step()];
  assert.deepEqual(
    steps.map(({ name }) => name).filter((name) => name !== 'stopGradient'),
    ['mul', 'look', 'add', 'sum'],
  );
  for (const { source } of steps) assert.match(source ?? '', /static-function\.test/);
  const named = new Map(steps.map((step) => [step.name, step]));
  assert.deepEqual(list(named.get('mul')!.outputs[0]), [15, 18]);
  assert.deepEqual(named.get('look')!.inputs.map(list), [[15, 18]]);
  assert.deepEqual(named.get('add')!.outputs.map(list), [[130, 136]]);
  assert.deepEqual(named.get('sum')!.outputs.map(list), [266]);
  assert.deepEqual([list(state), seen.length, kn.random.getState().counter], before);
  const first = schedule.step().next();
  assert.equal(first.done, false);
});

test('schedules are bounded', () => {
  const f = kn.staticGraph((x: kn.NDArray, k: number) => x.mul(k));
  for (let k = 0; k < 200; k++) f(ramp(1), k);
  assert.ok(f.schedules.length <= 64, String(f.schedules.length));
});

test('side-effect code that returns something else than before is refused, naming both', () => {
  let result: unknown = 1;
  const vary = kn.staticCode(() => result);
  const f = kn.staticGraph((x: kn.NDArray) => {
    vary();
    return x;
  });
  f(ramp(2));
  result = 2;
  assert.throws(
    () => f(ramp(2)),
    (error) => {
      assert.ok(error instanceof kn.TraceError);
      assert.match(error.message, /expected: +1[^]*actual: +2/);
      assert.match(error.source ?? '', /static-function\.test/);
      return true;
    },
  );
});

test('side-effect code in a hybridized function, or in the body of a custom gradient, is refused', () => {
  const look = kn.staticCode((x: kn.NDArray) => x.item());
  const hybrid = kn.hybridize((x: kn.NDArray) => {
    look(x);
    return x.add(1);
  });
  assert.throws(
    () => hybrid(kn.array(1)),
    (error) => {
      assert.ok(error instanceof kn.TraceError);
      assert.match(error.message, /staticGraph/);
      return true;
    },
  );
});

test('a body or side-effect code that is asynchronous is refused', async () => {
  const body = kn.staticGraph;
  assert.throws(() => body(async (x: kn.NDArray) => x)(ramp(1)), kn.TraceError);
  const later = kn.staticCode(() => Promise.resolve(1));
  assert.throws(() => kn.staticGraph(() => later())(), kn.KaonError);
  await Promise.resolve();
});

test('a branch on something else than the arguments is found on the second call', () => {
  let way = true;
  const f = kn.staticGraph((x: kn.NDArray) => (way ? x.add(1) : x.sub(1)));
  f(ramp(2));
  way = false;
  assert.throws(() => f(ramp(2)), kn.TraceError);
});

test('nothing flows from code behind a cut to what only another branch has read', () => {
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const body = (x: kn.NDArray): kn.NDArray => {
    const log = x.log1p();
    const aside = log.reciprocal();
    look(log);
    look(aside.reshape([1]));
    return log.reshape([]);
  };
  const f = kn.staticGraph(body);
  // Below -1 the logarithm is NaN and its slope is not: zeros in the place of nothing would spoil it.
  for (const value of [1, 1, -1.5]) {
    const slopes = [body, f].map((g) => {
      const x = kn.array([value]);
      x.attachGrad();
      kn.autograd.record(() => g(x)).backward();
      return x.grad!.tolist();
    });
    assert.deepEqual(slopes, [[1 / (1 + value)], [1 / (1 + value)]]);
  }
});

test('an array that was read before a cut takes part in gradients asked for behind it', () => {
  const outside = kn.array([2]);
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const f = kn.staticGraph((x: kn.NDArray) =>
    kn.autograd.record(() => {
      outside.sin();
      look(x);
      return kn.autograd.grad(x.mul(3).sum(), [x, outside]);
    }),
  );
  for (let call = 0; call < 3; call++) {
    assert.deepEqual(f(kn.array([1])).map(list), [[3], [0]]);
  }
});

test('an array that is only detached takes no part, also in the first call', () => {
  const look = kn.staticCode((x: kn.NDArray) => void x.dataSync());
  const body = (x: kn.NDArray): kn.NDArray => {
    look(x);
    return x.detach();
  };
  for (const f of [body, kn.staticGraph(body)]) {
    for (let call = 0; call < 3; call++) {
      const x = kn.ones([2]);
      const loss = kn.autograd.record(() => f(x).sum());
      assert.throws(() => kn.autograd.grad(loss, x), /took no part/);
    }
  }
});

test('sizes that the data has decided are known behind side-effect code, where arrays tell the least of them', () => {
  const seen: number[] = [];
  const look = kn.staticCode((x: kn.NDArray) => void seen.push(Number(x.sum().item())));
  const f = kn.staticGraph((mask: kn.NDArray, data: kn.NDArray) => {
    const [rows] = kn.foreach((row) => [kn.booleanMask(data, mask).mul(row), []], kn.ones([3]), []);
    // As many elements as rows or columns: min(3, n).
    const least = kn.diagonal(rows as kn.NDArray);
    look(least);
    return least;
  });
  for (const chosen of [[1, 0, 1, 1, 0], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]]) {
    const count = chosen.reduce((a, b) => a + b);
    const result = f(kn.array(chosen.map(Boolean)), kn.ones([5]));
    assert.deepEqual(result.tolist(), Array<number>(Math.min(3, count)).fill(1));
    assert.equal(seen.pop(), Math.min(3, count));
  } // prettier-ignore
});
