import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

const { nn } = kn;

/** A block of two kinds of place: a property, and a list of blocks. */
class Tower extends nn.HybridBlock {
  items: readonly kn.nn.HybridBlock[] = [new nn.Dense(4), new Floor()];

  override forward(x: kn.NDArray): kn.NDArray {
    return this.items.reduce<kn.NDArray>(
      (value, item) => item.call(value as never) as kn.NDArray,
      x,
    );
  }
}

class Floor extends nn.HybridBlock {
  d = new nn.Dense(3, { inputs: 7 });

  override forward(x: kn.NDArray): kn.NDArray {
    return this.d.call(x);
  }
}

function thrown(act: () => unknown): kn.KaonError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof kn.KaonError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: 'nothing was thrown' });
}

for (const [name, prepare] of [
  ['eager', () => undefined],
  ['hybridized', (tower: Tower) => tower.hybridize()],
  ['an inner block hybridized', (tower: Tower) => tower.items[1].hybridize()],
] as const) {
  test(`an error inside of blocks names the place of the innermost: ${name}`, () => {
    const tower = new Tower().initialize();
    prepare(tower);
    const error = thrown(() => tower.call(kn.ones([2, 5])));
    assert.ok(error instanceof kn.ShapeError);
    assert.equal(error.block, 'items.1.d (Dense)');
    assert.match(error.message, /^ {2}in: {7}items\.1\.d \(Dense\)$/m);
    assert.match(error.source ?? '', /block-path\.test\.[jt]s:\d+:\d+$/);
    assert.equal(error.stack!.split(error.message).length, 2, 'the stack begins with the message');
  });
}

test('the outermost block has its name alone, and errors of users stay as they are', () => {
  const error = thrown(() => new nn.Dense(2, { inputs: 3 }).initialize().call(kn.ones([2, 5])));
  assert.equal(error.block, 'Dense');
  const mine = new Error('mine');
  class Throwing extends nn.Block {
    override forward(): never {
      throw mine;
    }
  }
  assert.throws(() => new Throwing().call(), (given) => given === mine); // prettier-ignore
});

test('an error in an iteration inside of a block keeps the place', () => {
  class Loop extends nn.Block {
    d = new nn.Dense(3, { inputs: 7 });

    override forward(x: kn.NDArray): kn.NDArray {
      return kn.foreach((row) => [this.d.call(row.expandDims(0)), []], x, [])[0];
    }
  }
  const error = thrown(() => new Loop().initialize().call(kn.ones([2, 5])));
  assert.match(error.problem, /^iteration 0: /);
  assert.equal(error.block, 'd (Dense)');
});

test('layers refuse what is no array by their own name', () => {
  const layers: readonly kn.nn.Block[] = [new nn.Dense(2), new nn.Conv2d(2, 3), new nn.LayerNorm(), new nn.LSTM(2), new nn.MaxPool2d(2), new nn.Dropout(0.5), new nn.Lambda('relu')]; // prettier-ignore
  for (const layer of layers) {
    layer.initialize();
    for (const value of [null, undefined, [[1, 2]], 5, 'x', {}]) {
      const error = thrown(() => layer.call(value as never));
      assert.ok(error instanceof kn.ArgumentError);
      assert.deepEqual([error.op, error.expected], [layer.constructor.name, 'an array']);
    }
  }
});
