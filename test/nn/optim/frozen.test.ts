import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

/*
 * Parameters whose gradReq is null keep their value, whatever is trained beside them, and train again when it is
 * set back: eagerly, in a captured step, and in a hybridized network.
 */

const { autograd, nn } = kn;

function network(): { readonly net: kn.nn.Sequential; readonly body: readonly kn.nn.Parameter[] } {
  kn.random.seed(4);
  const net = new nn.Sequential(new nn.Dense(3, { activation: 'tanh' }), new nn.Dense(2));
  net.initialize();
  net.call(kn.ones([1, 4]));
  return { net, body: [...net.layers[0].parameters().values()] };
}

const values = (net: kn.nn.Sequential): readonly unknown[] =>
  [...net.parameters().values()].map(({ value }) => value.tolist());

const x = kn.array([[1, -2, 0.5, 3]]);

const ways: Readonly<Record<string, (net: kn.nn.Sequential, step: () => void) => () => void>> = {
  'an eager step': (_, step) => step,
  'a captured step': (_, step) => kn.hybridize(step),
  'a step of a hybridized network': (net, step) => {
    net.hybridize();
    return step;
  },
};

for (const [way, make] of Object.entries(ways)) {
  test(`${way} leaves frozen parameters alone, with weight decay, and trains them again when they are thawed`, () => {
    const { net, body } = network();
    const optimizer = new kn.optim.AdamW(net.parameters(), { learningRate: 0.1, weightDecay: 0.1 });
    const step = make(net, () => {
      autograd.record(() => net.call(x).square().sum()).backward();
      optimizer.step();
    });
    step();
    const [trained, frozen] = [values(net), values(net).slice(0, 2)];
    for (const parameter of body) parameter.gradReq = 'null';
    assert.ok(body.every(({ grad }) => grad === null));
    step();
    step();
    assert.deepEqual(values(net).slice(0, 2), frozen);
    assert.notDeepEqual(values(net).slice(2), trained.slice(2));
    for (const parameter of body) parameter.gradReq = 'write';
    step();
    assert.notDeepEqual(values(net)[0], frozen[0]);
    assert.notDeepEqual(values(net)[1], frozen[1]);
  });
}

test('the rest of a network is trained as if the frozen parameters were constants', () => {
  const { net, body } = network();
  for (const parameter of body) parameter.gradReq = 'null';
  const hidden = net.layers[0].call(x);
  const head = net.layers[1] as kn.nn.Dense;
  const [weight, bias] = [...head.parameters().values()].map(({ value }) => value.add(0));
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.1 });
  assert.deepEqual([...optimizer.parameters.keys()], ['layers.1.weight', 'layers.1.bias']);
  autograd.record(() => net.call(x).sum()).backward();
  optimizer.step();
  // The gradient of the sum of `h W^T + b` is h for each row of W, and 1.
  const slope = kn.matmul(kn.ones([2, 1]), hidden);
  const [newWeight, newBias] = [...head.parameters().values()].map(({ value }) => value.tolist());
  assert.deepEqual(newWeight, weight.sub(slope.mul(0.1)).tolist());
  assert.deepEqual(newBias, bias.sub(0.1).tolist());
});

test('a parameter that was frozen when the optimizer was made is refused when it trains again', () => {
  const { net, body } = network();
  body[0].gradReq = 'null';
  const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.1 });
  body[0].gradReq = 'write';
  autograd.record(() => net.call(x).sum()).backward();
  const before = values(net);
  assert.throws(() => optimizer.step(), {
    name: 'ArgumentError',
    op: 'SGD.step',
    message: /layers\.0\.weight was frozen/,
  });
  assert.deepEqual(values(net), before);
});

test('other values, and captured code, are refused', () => {
  const [parameter] = network().body;
  assert.throws(() => (parameter.gradReq = 'none' as 'null'), {
    name: 'ArgumentError',
    op: 'Parameter',
  });
  const f = kn.hybridize((a: kn.NDArray) => {
    parameter.gradReq = 'null';
    return a.add(1);
  });
  assert.throws(() => f(kn.ones([1])), { name: 'TraceError', op: 'Parameter' });
  assert.equal(parameter.gradReq, 'write');
});
