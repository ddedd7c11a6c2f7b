import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { refuses } from '../support.js';

const { autograd } = kn;

/** The line and column of an error's own place in this file. */
const place = /verify-trace\.test\.ts:\d+:\d+/;

/** Code that does one thing the first time and another later; each alternative is on a line of its own. */
function flips<R>(first: (x: kn.NDArray) => R, later: (x: kn.NDArray) => R): (x: kn.NDArray) => R {
  let runs = 0;
  return (x) => (runs++ === 0 ? first(x) : later(x));
}

const v = kn.array([1, 2]);
const w = kn.array([3, 4]);
const state = kn.zeros([2]);
const other = kn.zeros([2]);

const changes: [name: string, code: (x: kn.NDArray) => unknown, problem: string][] = [
  ['operator', flips((x) => x.exp(), (x) => x.sin()), 'another operator'],
  ['attribute', flips((x) => x.sum(0, { keepdims: true }), (x) => x.sum(0)), 'other attributes'],
  ['operands', flips((x) => x.add(1).sub(x), (x) => x.sub(x.add(1))), 'an'],
  ['constant', flips((x) => x.mul(kn.array([1, 2])), (x) => x.mul(kn.array([1, 3]))), 'another constant'],
  ['number', flips((x) => x.mul(2), (x) => x.mul(3)), 'an'],
  ['zero', flips((x) => x.mul(kn.array([0, 0])), (x) => x.mul(kn.array([0, -0]))), 'another constant'],
  ['captured array', flips((x) => x.mul(v), (x) => x.mul(w)), 'it reads another array'],
  ['captured type', flips((x) => x.mul(v), (x) => x.mul(w.astype('float64'))), 'another'],
  ['more operators', flips((x) => x.exp(), (x) => x.exp().exp()), 'another number of operators'],
  ['fewer operators', flips((x) => x.exp().exp(), (x) => x.exp()), 'another number of operators'],
  ['output', flips((x) => [x.exp(), x.sin()], (x) => { const y = x.exp(); x.sin(); return [y, y]; }), 'another'],
  ['order', flips((x) => { const [a, b] = [x.exp(), x.sin()]; return [a, b]; }, (x) => { const [a, b] = [x.exp(), x.sin()]; return [b, a]; }), 'another output'],
  ['nesting', flips((x) => ({ y: [x.exp()] }) as unknown, (x) => ({ y: x.exp() })), 'another output'],
  ['static result', flips((x) => ({ y: x.exp(), n: 1 }), (x) => ({ y: x.exp(), n: 2 })), 'the result differs at .n'],
  ['written array', flips((x) => { state.assign(x.exp()); return x.sin(); }, (x) => { other.assign(x.exp()); return x.sin(); }), 'it writes another array'],
  ['random draws', flips((x) => x.add(kn.random.normal([2])), (x) => x.add(kn.random.normal([2]).add(kn.random.normal([2])))), 'an'],
]; // prettier-ignore

for (const [name, code, problem] of changes) {
  test(`another ${name} is found at the second call, with both lines`, () => {
    const f = kn.hybridize(code);
    const x = kn.array([0.5, 0.25]);
    f(x);
    const error = refuses(() => f(x), kn.TraceError, 'changed between two calls', problem);
    assert.match(error.expected ?? '', place, 'the line of the first capture');
    assert.match(error.actual ?? '', place, 'the line of the second capture');
    const second = place.exec(error.actual!)![0];
    assert.ok(error.source!.endsWith(second), `${error.source} is not ${second}`);
    assert.match(error.advice ?? '', /pass what changes as an argument/);
  });
}

test('what changes inside of a body that is one operator is found, too', () => {
  let factor = 1;
  const f = kn.hybridize((x: kn.NDArray) =>
    kn.checkpoint((y: kn.NDArray) => y.mul(factor++).exp())(x),
  );
  const x = kn.ones([2]);
  f(x);
  const error = refuses(() => f(x), kn.TraceError, 'changed between two calls');
  assert.match(`${error.expected}`, place);
  assert.match(`${error.actual}`, place);
});

test('equal captures pass, whatever they are made of', () => {
  const custom = kn.customGradient({
    forward: (x) => x.mul(2),
    backward: ([g]) => g.mul(3),
  });
  const p = kn.array([1, 2]);
  p.attachGrad();
  const codes: ((x: kn.NDArray) => unknown)[] = [
    (x) => x.mul([NaN, -0]).add(Infinity),
    (x) => kn.checkpoint((y: kn.NDArray) => y.exp().mul(p))(x),
    (x) => custom(x).mul(kn.random.normal([2])),
    (x) =>
      x
        .reshape([-1, 1])
        .matmul(p.reshape([1, -1]))
        .sum([0], { keepdims: true }),
    (x) => {
      autograd.record(() => x.mul(p).sum()).backward();
      p.assign(p.sub(p.grad!.mul(0.1)));
      return { loss: p.sum(), twice: [x, x], text: 'static' };
    },
  ];
  for (const code of codes) {
    const f = kn.hybridize(code, { verify: 'always' });
    for (let i = 0; i < 4; i++) f(kn.ones([2]));
    assert.deepEqual([f.explain().hits, f.explain().traces.length], [3, 1]);
  }
});

test('a failed check leaves everything as it was, and calls go on as soon as the code agrees', () => {
  const p = kn.array([1, 2]);
  p.attachGrad();
  const total = kn.zeros([]);
  let exponent = 2;
  const f = kn.hybridize(() => {
    const loss = autograd.record(() => p.pow(exponent).sum().add(kn.random.normal([]).mul(0)));
    loss.backward();
    total.assign(total.add(1));
    return loss.add(total);
  });
  kn.random.seed(7);
  assert.equal(f().item(), 1 + 4 + 1);
  const next = (): unknown => kn.random.normal([2]).tolist();
  kn.random.seed(3);
  const expected = next();
  kn.random.seed(3);
  exponent = 3;
  for (let attempt = 0; attempt < 2; attempt++) refuses(f, kn.TraceError, 'changed');
  assert.deepEqual(next(), expected);
  assert.deepEqual([p.tolist(), p.grad!.tolist(), total.item()], [[1, 2], [2, 4], 1]);
  assert.ok(!autograd.isRecording());
  exponent = 2;
  assert.equal(f().item(), 5 + 2);
  exponent = 3;
  assert.equal(f().item(), 5 + 3, 'only the second call is checked');
  assert.deepEqual([f.explain().traces[0].calls, f.explain().misses.length], [3, 1]);
});

test('off checks nothing, second checks once, always checks each call', () => {
  for (const [verify, expected] of [['off', 1], ['second', 2], ['always', 5]] as const) {
    let runs = 0;
    const f = kn.hybridize((x: kn.NDArray) => {
      runs++;
      return x.add(1);
    }, { verify });
    for (let i = 0; i < 5; i++) assert.deepEqual(f(kn.array([i])).tolist(), [i + 1]);
    assert.equal(runs, expected, verify);
  } // prettier-ignore
});

test('a size that only the second capture reads as a number is found', () => {
  let reads = false;
  const f = kn.hybridize((x: kn.NDArray) => (reads ? x.mul(x.shape[0]) : x.mul(2)), {
    verify: 'always',
  });
  // Known sizes first, then all of them.
  for (const n of [2, 3, 4, 5]) f(kn.ones([n]));
  reads = true;
  refuses(() => f(kn.ones([5])), kn.TraceError, 'reads a size as a number', 'dimension');
});

test('the check uses the sizes of its own call', () => {
  const seen: number[] = [];
  const f = kn.hybridize((x: kn.NDArray) => x.add(1), { dynamic: [['n']], verify: 'always' });
  for (const n of [2, 3, 5, 0, 1]) seen.push(f(kn.ones([n])).size);
  assert.deepEqual(seen, [2, 3, 5, 0, 1]);
  assert.equal(f.explain().traces.length, 1);
});
