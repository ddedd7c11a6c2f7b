import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { registerDevice } from '../../../src/runtime/device/register.js';
import { FakeBackend } from '../../support/fake-device.js';
import { FakeEngine, type FakeEngineOptions } from '../../support/fake-engine.js';

/* Captured functions of which an engine runs parts: what it is given, what it may do wrong, and what explain says. */

let count = 0;

function engine(options: FakeEngineOptions = {}): FakeEngine {
  const made = new FakeEngine(`engine ${count++}`, options);
  kn.registerBackend(made);
  return made;
}

const only =
  (...names: readonly string[]): ((call: kn.EngineCall) => boolean) =>
  ({ op }) =>
    names.includes(op);

const x = kn.arange(6).reshape([2, 3]).mul(0.25);
const w = kn.arange(9).reshape([3, 3]).mul(0.125);

test('what an engine supports runs there, the rest here, and results are ordinary arrays', () => {
  const own = engine({ supports: only('matmul', 'tanh') });
  const step = (a: kn.NDArray): kn.NDArray => a.add(1).matmul(w).tanh().mul(2).matmul(w);
  const captured = kn.hybridize(step, { backend: own.name });
  const expected = step(x).tolist();
  for (let k = 0; k < 3; k++) assert.deepEqual(captured(x).tolist(), expected);
  assert.deepEqual(own.operators(), [['matmul', 'tanh'], ['matmul']]);
  assert.equal(own.runs, 6);
  assert.equal(captured(x).device, 'cpu');
});

test('explain lists the parts in order, with runs, bytes and lines', () => {
  const own = engine({ supports: only('matmul') });
  const captured = kn.hybridize((a: kn.NDArray) => a.add(1).matmul(w).mul(2), {
    backend: own.name,
  });
  captured(x);
  captured(x);
  const explanation = captured.explain();
  const [{ parts }] = explanation.traces;
  assert.deepEqual(
    parts.map(({ backend, runs, problem }) => [backend, runs, problem]),
    [
      ['kaon', 2, null],
      [own.name, 2, null],
      ['kaon', 2, null],
    ],
  );
  // Six and nine numbers of 4 bytes go, six come.
  assert.deepEqual(
    parts.map(({ bytes }) => bytes),
    [null, 4 * (6 + 9 + 6), null],
  );
  assert.match(parts[1].calls[0], /^matmul \(.*register\.test/);
  assert.ok(parts.every(({ milliseconds }) => milliseconds >= 0));
  assert.match(explanation.toString(), new RegExp(`on ${own.name}: matmul .*2 runs.*84 bytes`));
});

test('an engine is asked with types, attributes and lines, and can try a call as a graph', () => {
  const seen: kn.EngineCall[] = [];
  const own = engine({ supports: (call) => (seen.push(call), call.op === 'sum') });
  const captured = kn.hybridize((a: kn.NDArray) => a.exp().sum(1), {
    backend: own.name,
    dynamic: [['rows', null]],
  });
  captured(x);
  const call = seen.find(({ op }) => op === 'sum')!;
  assert.equal(call.family, 'reduction');
  assert.deepEqual(call.inputs, [{ dtype: 'float32', shape: ['rows', 3] }]);
  assert.deepEqual(call.outputs, [{ dtype: 'float32', shape: ['rows'] }]);
  assert.ok('axes' in call.attributes || 'axis' in call.attributes);
  assert.match(call.source!, /register\.test/);
  const graph = call.graph();
  assert.deepEqual(Object.values(graph.run({ [graph.inputNames[0]]: x }))[0].tolist(), x.sum(1).tolist()); // prettier-ignore
});

test('calls go where their costs are gains: a connected sub-graph by their sum', () => {
  const cost = ({ op }: kn.EngineCall): number => (op === 'matmul' ? -10 : 1);
  const step = (a: kn.NDArray): kn.NDArray[] => [a.matmul(w).exp().tanh(), a.sin().cos()];
  const cheap = engine({ cost });
  kn.hybridize(step, { backend: cheap.name })(x);
  assert.deepEqual(cheap.operators(), [['matmul', 'exp', 'tanh']]);
  const dear = engine({ cost, overhead: 8 });
  const captured = kn.hybridize(step, { backend: dear.name });
  assert.deepEqual(
    captured(x).map((each) => each.tolist()),
    step(x).map((each) => each.tolist()),
  );
  assert.deepEqual(dear.operators(), []);
});

test('what only prepares an operand runs with what reads it', () => {
  const own = engine({ supports: only('matmul', 'swapaxes') });
  const captured = kn.hybridize((a: kn.NDArray) => a.matmul(w).exp().matmul(w.swapaxes(0, 1)), {
    backend: own.name,
  });
  captured(x);
  assert.deepEqual(own.operators(), [['matmul'], ['swapaxes', 'matmul']]);
});

test('a loop is run here, and the part of its body that is supported there', () => {
  const own = engine({ supports: only('matmul') });
  const rows = kn.arange(12).reshape([4, 3]).mul(0.1);
  const step = (each: kn.NDArray): kn.NDArray =>
    kn.foreach((row, state) => [state, state.matmul(w).add(row).tanh()], each, kn.ones([3]))[1];
  const captured = kn.hybridize(step, { backend: own.name });
  assert.deepEqual(captured(rows).tolist(), step(rows).tolist());
  assert.equal(own.runs, 4);
  const there = captured.explain().traces[0].parts.filter(({ backend }) => backend === own.name);
  assert.deepEqual(there.map(({ runs }) => runs), [4]); // prettier-ignore
});

test('a loop that an engine supports goes there whole', () => {
  const own = engine({ supports: ({ op, bodies }) => bodies > 0 || op === 'matmul' });
  const rows = kn.arange(12).reshape([4, 3]).mul(0.1);
  const step = (each: kn.NDArray): kn.NDArray =>
    kn.foreach((row, state) => [state, state.matmul(w).add(row)], each, kn.ones([3]))[1];
  const captured = kn.hybridize(step, { backend: own.name });
  assert.deepEqual(captured(rows).tolist(), step(rows).tolist());
  assert.deepEqual([own.graphs.length, own.runs], [1, 1]);
});

test('gradients of a recording go through the engine, forward and backward', () => {
  const own = engine({ supports: only('matmul') });
  const captured = kn.hybridize((a: kn.NDArray) => a.matmul(w).tanh(), { backend: own.name });
  const gradientOf = (step: (a: kn.NDArray) => kn.NDArray): unknown =>
    kn
      .grad((a: kn.NDArray) => step(a).sum())(x)
      .tolist();
  assert.deepEqual(
    gradientOf(captured),
    gradientOf((a) => a.matmul(w).tanh()),
  );
  assert.deepEqual(
    own.operators().flat(),
    ['matmul', 'matmul'],
    'one of the forward, one of the backward program',
  );
});

test('a static graph has parts there between the code with side effects', () => {
  const own = engine({ supports: only('exp') });
  const seen: number[] = [];
  const look = kn.staticCode((a: kn.NDArray) => void seen.push(Number(a.item())));
  const step = kn.staticGraph(
    (a: kn.NDArray) => {
      const total = a.exp().sum();
      look(total);
      return total.mul(0.5).exp();
    },
    { backend: own.name },
  );
  const expected = x.exp().sum().mul(0.5).exp().item();
  // The first call traces the code, and runs it as it does.
  for (let k = 0; k < 3; k++) assert.equal(step(x).item(), expected);
  assert.equal(own.runs, 4);
  assert.equal(seen[0], x.exp().sum().item());
});

test('an engine that answers later gives arrays that can be computed with, and are waited for', async () => {
  const own = engine({ supports: only('matmul'), isLate: true });
  const captured = kn.hybridize((a: kn.NDArray) => a.matmul(w).add(1), { backend: own.name });
  const [first, second] = [captured(x), captured(x.add(1))];
  assert.equal(first.device, own.name);
  assert.throws(() => first.dataSync(), kn.KaonError);
  // Eager code, on arrays of the CPU beside it, and the function itself again.
  const sum = first.add(second).mul(x);
  const again = captured(first);
  const step = (a: kn.NDArray): kn.NDArray => a.matmul(w).add(1);
  assert.deepEqual((await sum.cpu()).tolist(), step(x).add(step(x.add(1))).mul(x).tolist()); // prettier-ignore
  assert.deepEqual((await again.cpu()).tolist(), step(step(x)).tolist());
  assert.deepEqual(Array.from(await first.data(), Number), Array.from(step(x).dataSync(), Number)); // prettier-ignore
});

test('operands are as they were when a late engine was called', async () => {
  const own = engine({ supports: only('matmul'), isLate: true });
  const captured = kn.hybridize((a: kn.NDArray) => a.matmul(w), { backend: own.name });
  const before = x.matmul(w).tolist();
  const changing = x.add(0);
  const result = captured(changing);
  changing.assign(kn.zeros([2, 3]));
  assert.deepEqual((await result.cpu()).tolist(), before);
});

test('an engine is given the same array for an operand that has not changed, and a new one for one that has', async () => {
  const given: unknown[][] = [];
  const fake = new FakeEngine(`engine ${count++}`, { supports: only('matmul'), isLate: true });
  kn.registerBackend({
    ...fake,
    compile: async (graph) => {
      const run = await fake.compile(graph);
      return (inputs) => {
        given.push(inputs.map(({ data }) => data));
        return run(inputs);
      };
    },
  });
  const weight = w.add(0);
  const captured = kn.hybridize((a: kn.NDArray) => ({ y: a.matmul(weight), kept: weight }), {
    backend: fake.name,
  });
  const call = async (): Promise<readonly unknown[]> => {
    const batch = x.add(given.length);
    const { y, kept } = captured(batch);
    assert.deepEqual((await y.cpu()).tolist(), batch.matmul(weight).tolist());
    assert.deepEqual((await kept.cpu()).tolist(), weight.tolist());
    return given.at(-1)!;
  };
  const [, first] = await call();
  const [, second] = await call();
  const [batch, third] = await call();
  assert.notEqual(second, first, 'a copy for this run alone');
  assert.equal(third, second);
  assert.ok(!given[1].includes(batch));
  weight.assign(weight.mul(2));
  const [, changed] = await call();
  assert.notEqual(changed, third);
  assert.deepEqual(third, Float32Array.from(w.dataSync(), Number), 'a run may still read it');
});

type Compile = kn.ExternalBackend['compile'];

function faulty(compile: Compile): string {
  const name = `engine ${count++}`;
  kn.registerBackend({ name, supports: only('matmul'), compile });
  return name;
}

const product = (a: kn.NDArray): kn.NDArray => a.exp().matmul(w);

const faults: readonly (readonly [string, Compile, RegExp])[] = [
  [
    'does not compile',
    () => {
      throw new TypeError('no products today');
    },
    /could not compile.*no products today/s,
  ],
  [
    'fails',
    () => () => {
      throw new RangeError('out of something');
    },
    /failed.*out of something/s,
  ],
  ['returns too few arrays', () => () => [], /no array for each output.*1 arrays.*0/s],
  [
    'returns another shape',
    () => () => [{ dtype: 'float32', shape: [3, 2], data: new Float32Array(6) }],
    /another array than output.*float32\[2,3\].*float32\[3,2\]/s,
  ],
  [
    'returns another dtype',
    () => () => [{ dtype: 'float64', shape: [2, 3], data: new Float64Array(6) }],
    /another array than output.*float64/s,
  ],
  [
    'returns too few elements',
    () => () => [{ dtype: 'float32', shape: [2, 3], data: new Float32Array(5) }],
    /another array than output.*5 elements/s,
  ],
];

for (const [what, compile, message] of faults) {
  test(`an engine that ${what} is an error that names the calls and lines`, async () => {
    const isRight = (error: unknown): boolean =>
      error instanceof kn.DeviceError &&
      message.test(error.message) &&
      /matmul \(.*register\.test/.test(error.message);
    const strict = kn.hybridize(product, { backend: faulty(compile) });
    assert.throws(() => strict(x), isRight);
    assert.throws(() => strict(x), isRight, 'and so it is the next time');
    const late = faulty(async (graph) => {
      await Promise.resolve();
      const run = await compile(graph);
      return async (inputs) => run(inputs);
    });
    const pending = kn.hybridize(product, { backend: late })(x);
    await assert.rejects(async () => pending.cpu(), isRight);
  });
}

test('what an engine fails to compile runs here where that is wanted, and explain says why', async () => {
  for (const compile of [faults[0][1], async (graph: kn.StaticGraph) => faults[0][1](graph)]) {
    const captured = kn.hybridize(product, { backend: faulty(compile), fallback: true });
    for (let k = 0; k < 2; k++) {
      assert.deepEqual((await captured(x).cpu()).tolist(), product(x).tolist());
    }
    const part = captured.explain().traces[0].parts.at(-1)!;
    assert.deepEqual([part.backend, part.runs], ['kaon', 2]);
    assert.match(part.problem!, /no products today/);
  }
});

test('elements that an operator refuses are refused, wherever it runs', () => {
  const own = engine({ supports: only('take') });
  const captured = kn.hybridize((i: kn.NDArray) => w.take(i), { backend: own.name });
  assert.deepEqual(captured(kn.array([1, 2], { dtype: 'int32' })).tolist(), w.take(kn.array([1, 2], { dtype: 'int32' })).tolist()); // prettier-ignore
  assert.throws(() => captured(kn.array([1, 70], { dtype: 'int32' })), /70/);
});

test('arrays on a device do not go to an engine', () => {
  const own = engine({ supports: only('matmul') });
  registerDevice(new FakeBackend('apart'));
  const captured = kn.hybridize((a: kn.NDArray) => a.exp(), { backend: own.name });
  assert.throws(() => captured(x.to('apart')), kn.DeviceError);
});

test('a backend without what it needs, and a name that nobody has, are refused', () => {
  const good = new FakeEngine('good');
  for (const wrong of [
    null,
    {},
    { ...good, name: 'cpu', supports: good.supports, compile: () => () => [] },
    { name: 'wrong', supports: 1, compile: () => () => [] },
    { name: 'wrong', supports: good.supports },
    { name: 'wrong', supports: good.supports, compile: () => () => [], overhead: NaN },
  ]) {
    assert.throws(() => kn.registerBackend(wrong as never), kn.ArgumentError);
  }
  assert.throws(() => kn.hybridize(product, { backend: 'nobody' }), /no such backend.*nobody/s);
  const asked = faulty(() => () => []);
  kn.registerBackend({ name: asked, supports: (() => 1) as never, compile: () => () => [] });
  assert.throws(() => kn.hybridize(product, { backend: asked })(x), /answered something else/);
});

test('sizes that no operand tells are told by a last one', () => {
  const own = engine({ supports: only('matmul', 'slice', 'add') });
  const step = (a: kn.NDArray): kn.NDArray => {
    const kept = a.booleanMask(a.sum(1).greater(0));
    return kept.slice([0, 1]).matmul(w).tanh().add(1);
  };
  const captured = kn.hybridize(step, { backend: own.name });
  for (const each of [x, x.sub(9)]) assert.deepEqual(captured(each).tolist(), step(each).tolist());
  assert.deepEqual(own.operators(), [['slice', 'matmul'], ['add']]);
  // `min(1, n)` does not say what n is.
  const [, last] = own.graphs;
  assert.deepEqual(last.inputNames.length, 2);
});

test('a call alone is a graph that runs, also where operands leave sizes open', () => {
  const graphs: [string, ReturnType<kn.EngineCall['graph']>][] = [];
  const own = engine({ supports: (call) => (graphs.push([call.op, call.graph()]), false) });
  const step = (a: kn.NDArray): kn.NDArray => a.booleanMask(a.sum(1).greater(0)).slice([0, 1]).matmul(w); // prettier-ignore
  kn.hybridize(step, { backend: own.name })(x);
  const [, product] = graphs.find(([op]) => op === 'matmul')!;
  const [first, second, sizes] = product.inputNames;
  const { y0 } = product.run({ [first]: x.slice([0, 1]), [second]: w, [sizes]: kn.zeros([0, 2], { dtype: 'bool' }) }); // prettier-ignore
  assert.deepEqual(y0.tolist(), x.slice([0, 1]).matmul(w).tolist());
  assert.ok(!graphs.some(([op]) => op === 'booleanMask'), 'the data decides its size');
});
