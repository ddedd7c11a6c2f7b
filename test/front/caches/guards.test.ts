import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../support.js';

const { autograd } = kn;

type Anything = (...args: never[]) => unknown;

/** A function of any arguments that uses none of them. */
function ignoring(): kn.Hybridized<(...args: unknown[]) => kn.NDArray> {
  return kn.hybridize<(...args: unknown[]) => kn.NDArray>(() => kn.ones([1]));
}

function named(fn: Anything, name: unknown): Anything {
  return Object.defineProperty(fn, 'name', { value: name, configurable: true });
}

test('static arguments are told apart exactly as Object.is does', () => {
  const twins = [named(() => 1, 'same'), named(() => 2, 'same')];
  const values: unknown[] = [
    NaN, 0, -0, 1, 1n, -1n, '1', '1n', 'NaN', '-0', true, false, 'true', null, undefined, 'null', '',
    'undefined', Infinity, -Infinity, Symbol('s'), Symbol('s'), Symbol.for('s'), Symbol.for('t'), Symbol.iterator, ...twins, '*', '[]',
    class A { x = 1; }, class A { x = 1; }, Math.sin, Number.MIN_VALUE, 2 ** 53,
  ]; // prettier-ignore
  const tell = kn.hybridize((x: kn.NDArray, _value: unknown, index: () => number) =>
    x.add(index()),
  );
  const indices = values.map((_, i) => () => i);
  const f = ignoring();
  for (let round = 0; round < 2; round++) {
    values.forEach((value, i) => {
      f(value);
      assert.equal(f.explain().misses.length, round === 0 ? i + 1 : values.length, String(i));
      assert.equal(tell(kn.zeros([]), value, indices[i]).item(), i);
    });
  }
});

test('nestings are told apart', () => {
  const x = kn.ones([2]);
  const calls: unknown[][] = [
    [], [x], [[x]], [[[x]]], [{ x }], [{ y: x }], [x, x], [[x, x]], [x, [x]], [[x], x],
    [{ a: 1, b: 2 }], [{ b: 2, a: 1 }], [{ a: 1 }], [{ a: 1, b: undefined }], [{ a: 1, b: null }],
    [{ a: [1, 2] }], [{ a: [1], b: 2 }], [[]], [{}], [null], [undefined], [[undefined]], [[null]],
    [{ 'a: 1, b': 2 }], ['a', 'b'], ['a, b'], ['a", "b'], [{ '': x }], [{ __proto__: null, a: 1, c: 2 }],
    [JSON.parse('{"__proto__": 1}')],
  ]; // prettier-ignore
  const f = ignoring();
  for (let round = 0; round < 2; round++) {
    calls.forEach((args, i) => {
      f(...args);
      assert.equal(f.explain().misses.length, round === 0 ? i + 1 : calls.length, String(i));
    });
  }
});

test('names of functions and symbols cannot imitate another structure', () => {
  const [a, b] = [(): number => 1, (): number => 2];
  const f = ignoring();
  named(b, 'b');
  for (const name of ['a', 'a#0, function b', '*', 'a", "b', 7, () => 0]) {
    named(a, name);
    f([a]);
    f([a, b]);
    f([a, b, kn.ones([1])]);
  }
  const shapes = new Set(f.explain().traces.map(({ signature }) => signature.split('#').length));
  assert.ok(shapes.size >= 2);
  const g = ignoring();
  g([named(() => 1, '*'), kn.ones([2])]);
  assert.match(g.explain().traces[0].signature, /float32\[2\]\]\)$/);
});

test('what cannot be guarded is refused, with its place', () => {
  class Point {
    x = 1;
  }
  class Nothing extends null {}
  class Stack extends Array<number> {}
  const match: unknown = /a(b)/.exec('ab');
  const cases: [unknown, string][] = [
    [new Map(), 'a Map at [0]'], [new Set(), 'a Set at [0]'], [new Date(0), 'a Date at [0]'],
    [new Point(), 'a Point at [0]'], [new Float32Array(2), 'a Float32Array at [0]'], [/x/, 'a RegExp'],
    [{ deep: [new Point()] }, 'a Point at [0].deep[0]'], [new Stack(), 'at [0]'], [match, 'at [0]'],
    [Object.assign([1], { extra: 2 }), 'at [0]'], [{ [Symbol('s')]: 1 }, 'at [0]'], [Math, 'at [0]'],
    [new Error('e'), 'an Error at [0]'], [Promise.resolve(), 'a Promise at [0]'], [new Proxy(new Map(), {}), 'at [0]'],
    [Object.create(Nothing.prototype as object), 'at [0]'],
  ]; // prettier-ignore
  cases.forEach(([value, place]) => {
    const error = refuses(() => ignoring()(value), kn.ArgumentError, place, 'cannot be guarded');
    assert.equal(error.op, 'hybridize');
    assert.match(error.source ?? '', /guards\.test/);
  });
});

/** The guard that the second call does not meet, after the first one. */
function guardBetween(
  first: () => unknown,
  second: () => unknown,
  f: { explain(): kn.Explanation },
) {
  first();
  second();
  const { misses } = f.explain();
  assert.equal(misses.length, 2);
  assert.equal(misses[0].guard, null);
  return misses[1];
}

test('a miss names the one guard that differs, from what to what', () => {
  const x = kn.ones([2, 3]);
  const y = kn.ones([2, 3]);
  const tracked = kn.ones([2, 3]);
  tracked.attachGrad();
  const [one, two] = [named(() => 1, 'one'), named(() => 2, 'two')];
  type Case = [unknown[], unknown[], kn.GuardKind, string, string | RegExp, string | RegExp];
  const cases: Case[] = [
    [[x], [x.astype('int32')], 'dtype', 'argument 0', 'float32', 'int32'],
    [[x], [kn.ones([6])], 'rank', 'argument 0', '2', '1'],
    [[x], [kn.ones([2, 4])], 'size', 'argument 0, axis 1', '3', '4'],
    [[{ image: x }], [{ image: kn.ones([5, 3]) }], 'size', 'argument 0.image, axis 0', '2', '5'],
    [[[y, x]], [[y, kn.ones([2, 1])]], 'size', 'argument 0[1], axis 1', '3', '1'],
    [[x, 0.5], [x, NaN], 'value', 'argument 1', '0.5', 'NaN'],
    [[x, 0], [x, -0], 'value', 'argument 1', '0', '-0'],
    [[{ a: { 'b c': 'u' } }], [{ a: { 'b c': 'v' } }], 'value', 'argument 0.a["b c"]', '"u"', '"v"'],
    [[one], [two], 'value', 'argument 0', /^function one#\d+$/, /^function two#\d+$/],
    [[x, y], [x, x], 'alias', 'argument 1', 'an array of its own', 'the same as argument 0'],
    [[x], [tracked], 'gradient', 'argument 0', 'none', 'write'],
    [[x], [x, y], 'structure', 'the call', '1 argument', '2 arguments'],
    [[[x]], [[x, y]], 'structure', 'argument 0', 'a list of 1 entry', 'a list of 2 entries'],
    [[{ a: 1, b: 2 }], [{ b: 2, a: 1 }], 'structure', 'argument 0', '{a, b}', '{b, a}'],
    [[{ a: x }], [{ a: 3 }], 'value', 'argument 0.a', 'an array', '3'],
    [[{ a: 3 }], [{ a: x }], 'structure', 'argument 0.a', '3', 'an array'],
  ]; // prettier-ignore
  for (const [first, second, kind, path, expected, actual] of cases) {
    const f = ignoring();
    const { guard, others, source } = guardBetween(
      () => f(...first),
      () => f(...second),
      f,
    );
    assert.deepEqual([guard!.kind, guard!.path], [kind, path]);
    for (const [text, wanted] of [[guard!.expected, expected], [guard!.actual, actual]] as const) {
      if (typeof wanted === 'string') assert.equal(text, wanted);
      else assert.match(text, wanted);
    } // prettier-ignore
    assert.equal(others, 0, path);
    assert.match(source ?? '', /guards\.test\.ts:\d+:\d+$/);
  }
});

test('recording, training and attached gradients outside are guards', () => {
  const x = kn.ones([2]);
  const train = kn.hybridize((a: kn.NDArray) => a.mul(2));
  const first = guardBetween(
    () => train(x),
    () => autograd.trainMode(() => train(x)),
    train,
  );
  assert.deepEqual(first.guard, {
    kind: 'training',
    path: 'training',
    expected: 'off',
    actual: 'on',
  });
  const record = kn.hybridize((a: kn.NDArray) => a.mul(2));
  const second = guardBetween(
    () => record(x),
    () => autograd.record(() => record(x), { trainMode: false }),
    record,
  );
  assert.equal(second.guard!.kind, 'recording');
});

test('a gradient that is attached to a captured array later is seen', () => {
  const w = kn.array([1, 2]);
  const step = (): { loss: kn.NDArray; grad: kn.NDArray | null } => {
    const loss = autograd.record(() => w.square().sum());
    if (w.grad !== null) loss.backward();
    return { loss, grad: w.grad };
  };
  const f = kn.hybridize(step);
  assert.equal(f().grad, null);
  w.attachGrad();
  assert.deepEqual(f().grad!.tolist(), [2, 4]);
  assert.deepEqual(w.grad!.tolist(), [2, 4]);
  const { guard } = f.explain().misses[1];
  assert.equal(guard!.kind, 'captured');
  assert.match(guard!.expected, /float32\[2\], gradient: none/);
  assert.match(guard!.actual, /gradient: write/);
});

test('a block that was replaced is named by its path', () => {
  class Net extends kn.nn.HybridBlock {
    encoder: kn.nn.Dense = new kn.nn.Dense(2);
    head: kn.nn.Dense = new kn.nn.Dense(3);
    forward(x: kn.NDArray): kn.NDArray {
      return this.head.call(this.encoder.call(x));
    }
  }
  const net = new Net();
  net.initialize().hybridize();
  const x = kn.ones([1, 2]);
  net.call(x);
  const head = new kn.nn.Dense(3);
  head.initialize();
  net.head = head;
  net.call(x);
  const { guard, source } = net.explain().misses[1];
  assert.deepEqual([guard!.kind, guard!.path], ['blocks', 'head']);
  assert.match(`${guard!.expected} ${guard!.actual}`, /^Dense#\d+ Dense#\d+$/);
  assert.match(source ?? '', /guards\.test/);
  assert.match(String(net.explain()), /^Net: 2 traces/);
});

test('a miss is compared with the trace that is most like it', () => {
  const f = ignoring();
  const x = kn.ones([2]);
  f(x, 'a', 1);
  f(x, 'b', 2);
  f(x, 'b', 3);
  f(kn.ones([2, 2]), 'c', 1);
  const { misses } = f.explain();
  assert.deepEqual(
    misses.slice(1).map(({ guard, others }) => [guard!.path, guard!.expected, others]),
    [
      ['argument 1', '"a"', 1],
      ['argument 2', '2', 0],
      ['argument 0', '1', 1],
    ],
  );
});

test('an asynchronous function is refused before it runs, or as soon as it returns', async () => {
  let runs = 0;
  const declared = async (x: kn.NDArray): Promise<kn.NDArray> => {
    runs++;
    await Promise.resolve();
    return x;
  };
  const words = ['asynchronous', 'await data before the call', 'where, cond, whileLoop or foreach'];
  const error = refuses(() => kn.hybridize(declared)(kn.ones([1])), kn.TraceError, ...words);
  assert.match(error.source ?? '', /guards\.test/);
  refuses(() => kn.deferredCompute(() => kn.deferredCompute(declared as never)), kn.TraceError);
  assert.equal(runs, 0);

  const unhandled: unknown[] = [];
  const listen = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', listen);
  const x = kn.ones([2]);
  const hidden = (): unknown => declared(x).then((y) => y.add(Number.NaN).item(), undefined);
  const failing = (y: kn.NDArray): unknown => Promise.resolve().then(() => y.add(1).tolist());
  refuses(() => kn.hybridize(failing)(x), kn.TraceError, ...words);
  refuses(
    () => kn.hybridize((y: kn.NDArray) => kn.hybridize(failing)(y))(x),
    kn.TraceError,
    ...words,
  );
  refuses(() => kn.deferredCompute(() => failing(kn.ones([1]).add(1))), kn.TraceError, ...words);
  refuses(() => kn.deferredCompute(hidden), kn.TraceError, ...words);
  refuses(() => autograd.record(() => Promise.reject(new Error('lost'))), kn.ArgumentError);
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off('unhandledRejection', listen);
  assert.deepEqual(unhandled, []);
  assert.ok(!autograd.isRecording());
});

test('an entry named then makes no promise', () => {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what this is about
  const branches = kn.hybridize((x: kn.NDArray) => ({ then: x.mul(2), else: x.mul(3) }));
  // Await asks for a method named then: nothing here may look like a promise to it.
  const result = branches(kn.ones([1]));
  assert.deepEqual([result.then.tolist(), result.else.tolist()], [[2], [3]]);
});
