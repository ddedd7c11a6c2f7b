import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/** Layers may be kept in collections of any kind: all of them are parts of the network. */

const { nn } = kn;

interface Stage {
  readonly norm: kn.nn.LayerNorm;
  readonly branches: readonly kn.nn.Dense[];
}

class Tower extends nn.HybridBlock {
  stages: readonly Stage[] = [4, 5].map((size) => ({
    norm: new nn.LayerNorm(),
    branches: [new nn.Dense(size), new nn.Dense(size)],
  }));
  heads = new Map([
    ['mean', new nn.Dense(1)],
    ['scale', new nn.Dense(1)],
  ]);
  gates = new Set([new nn.Dense(1)]);
  settings = { shift: { value: new nn.Parameter({ shape: [1], init: nn.initializer.ones }) } };

  override forward(x: kn.NDArray): kn.NDArray {
    const last = this.stages.reduce(
      (h, { norm, branches: [left, right] }) => left.call(norm.call(h)).mul(right.call(h).tanh()),
      x,
    );
    const [mean, scale] = ['mean', 'scale'].map((name) => this.heads.get(name)!.call(last));
    const [gate] = [...this.gates].map((each) => each.call(last));
    return mean.mul(scale).add(gate).add(this.settings.shift.value.value);
  }
}

const paths = [
  ...[0, 1].flatMap((i) => [
    `stages.${i}.norm.gamma`,
    `stages.${i}.norm.beta`,
    ...[0, 1].flatMap((j) => [
      `stages.${i}.branches.${j}.weight`,
      `stages.${i}.branches.${j}.bias`,
    ]),
  ]),
  'heads.mean.weight',
  'heads.mean.bias',
  'heads.scale.weight',
  'heads.scale.bias',
  'gates.0.weight',
  'gates.0.bias',
  'settings.shift.value',
];

const made = (): Tower => {
  kn.random.seed(3);
  return new Tower().initialize();
};

test('parameters in lists, records, maps and sets have paths, and get sizes at the first call', () => {
  const tower = made();
  assert.deepEqual([...tower.parameters().keys()], paths);
  tower.call(kn.ones([2, 3]));
  assert.deepEqual(tower.parameters().get('stages.1.branches.0.weight')!.shape, [5, 4]);
  const text = tower.summary(kn.ones([2, 3]));
  assert.match(text, /stages\.1\.branches\.1/);
});

test('all of them learn, captured as eagerly, and are saved', () => {
  const trained = [false, true].map((isCaptured) => {
    const tower = made();
    const x = kn.random.normal([6, 3]);
    tower.call(x);
    const before = tower.toSafetensors();
    const optimizer = new kn.optim.SGD(tower.parameters(), { learningRate: 0.1 });
    const step = (): kn.NDArray => {
      const loss = kn.autograd.record(() => tower.call(x).sub(2).square().mean());
      loss.backward();
      optimizer.step();
      return loss;
    };
    const run = isCaptured ? kn.hybridize(step) : step;
    const losses = [run(), run(), run()].map((loss) => Number(loss.item()));
    const start = new Tower();
    start.fromSafetensors(before);
    for (const [path, parameter] of tower.parameters()) {
      const moved = parameter.value.sub(start.parameters().get(path)!.value).abs().sum().item();
      assert.ok(moved > 0, path);
    }
    return losses;
  });
  trained[0].forEach((loss, i) => assert.ok(Math.abs(loss - trained[1][i]) < 1e-5));
});

test('replacing a layer in a record of a list, or in a map, is noticed by a hybridized network', () => {
  const tower = made().hybridize();
  const x = kn.random.normal([2, 3]);
  const before = tower.call(x).tolist();
  tower.heads.set('mean', new nn.Dense(1).initialize());
  const after = tower.call(x).tolist();
  assert.notDeepEqual(after, before);
  const other = new nn.Dense(5, { inputs: 4 }).initialize();
  (tower.stages[1].branches as kn.nn.Dense[])[0] = other;
  const last = tower.call(x).tolist();
  assert.notDeepEqual(last, after);
  assert.deepEqual(tower.hybridize({ active: false }).call(x).tolist(), last);
});

test('collections that contain themselves, or are held twice, are gone through once', () => {
  interface Link {
    layer: kn.nn.Dense;
    next?: Link;
  }
  class Ring extends nn.Block {
    first: Link = { layer: new nn.Dense(2) };
    second: Link = { layer: new nn.Dense(2), next: this.first };
    all = [this.first, this.second];
    override forward(x: kn.NDArray): kn.NDArray {
      return this.all.reduce((h, { layer }) => layer.call(h), x);
    }
  }
  const ring = new Ring();
  ring.first.next = ring.second;
  ring.initialize();
  assert.deepEqual(ring.call(kn.ones([1, 3])).shape, [1, 2]);
  assert.deepEqual([...ring.parameters().keys()], ['first.layer.weight', 'first.layer.bias', 'first.next.layer.weight', 'first.next.layer.bias']); // prettier-ignore
});

test('a layer in a record that was never initialized is refused by its path', () => {
  const tower = new Tower();
  assert.throws(
    () => tower.call(kn.ones([2, 3])),
    (error) => error instanceof kn.ArgumentError && /settings\.shift\.value/.test(error.message),
  );
});
