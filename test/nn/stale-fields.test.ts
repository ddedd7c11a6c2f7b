import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';

/*
 * Captured code that reads fields of blocks answers as the code itself would, from the very next call on,
 * whatever is verified: right answers only.
 */

const { nn } = kn;

const one = (): kn.NDArray => kn.ones([1]);
const factor = Symbol('factor');

class Scale extends nn.HybridBlock {
  k: number;

  constructor(k: number) {
    super();
    this.k = k;
  }

  override forward(x: kn.NDArray): kn.NDArray {
    return x.mul(this.k);
  }
}

class Weighted extends nn.HybridBlock {
  weight: kn.nn.Parameter = parameter(2);

  override forward(x: kn.NDArray): kn.NDArray {
    return x.mul(this.weight.value);
  }
}

function parameter(value: number): kn.nn.Parameter {
  const made = new nn.Parameter({ shape: [], init: nn.initializer.constant(value) });
  made.initialize();
  return made;
}

class Settings {
  rate: number;

  constructor(rate: number) {
    this.rate = rate;
  }

  get doubled(): number {
    return this.rate * 2;
  }
}

class Base extends nn.HybridBlock {
  static inherited = 2;
  static scale = 2;
  k: number = 2;
  text: string = 'double';
  flag: boolean = false;
  big: bigint = 2n;
  zero: number = 0;
  missing?: number;
  settings: { rate: number; deep: { rates: number[] } } = { rate: 2, deep: { rates: [2] } };
  config: Readonly<{ rate: number }> = Object.freeze({ rate: 2 });
  outer: Readonly<{ inner: { rate: number } }> = Object.freeze({ inner: { rate: 2 } });
  list: number[] = [2];
  lists: number[][] = [[1], [2]];
  numbers: Float32Array = Float32Array.of(2);
  table: Map<string, number> = new Map([['a', 2], ['b', 1]]); // prettier-ignore
  set: Set<number> = new Set([2]);
  [factor]: number = 2;
  instance: Settings = new Settings(1);
  array: kn.NDArray = kn.array([2]);
  arrays: kn.NDArray[] = [kn.array([2])];
  activation: (x: kn.NDArray) => kn.NDArray = (x) => x.mul(2);
  child: Scale = new Scale(2);
  layers: Scale[] = [new Scale(1), new Scale(2)];
  nested: { body: Scale; deep: Scale[][] } = { body: new Scale(2), deep: [[new Scale(2)]] };
  byName: Map<string, Scale> = new Map([['first', new Scale(2)]]);
  weighted: Weighted = new Weighted();
  replaced: kn.nn.Parameter = parameter(2);
  body: (x: kn.NDArray) => kn.NDArray;

  constructor(body: (net: Base, x: kn.NDArray) => kn.NDArray) {
    super();
    this.body = (x) => body(this, x);
  }

  get product(): number {
    return this.k * this.settings.rate;
  }

  override forward(x: kn.NDArray): kn.NDArray {
    return this.body(x);
  }
}

class Derived extends Base {
  static scaled = 2;
}

interface Kind {
  readonly name: string;
  /** What the block computes of ones: 2 before the change. */
  readonly body: (net: Base, x: kn.NDArray) => kn.NDArray;
  readonly change: (net: Base) => unknown;
  readonly after: number;
  /** The field that `explain` names. */
  readonly path: string;
}

const kinds: readonly Kind[] = [
  { name: 'a number', body: (n, x) => x.mul(n.k), change: (n) => (n.k = 5), after: 5, path: 'this.k' },
  { name: 'a number that becomes NaN', body: (n, x) => x.mul(n.k), change: (n) => (n.k = NaN), after: NaN, path: 'this.k' },
  { name: 'a zero that becomes negative', body: (n, x) => (Object.is(n.zero, -0) ? x.mul(3) : x.mul(2)), change: (n) => (n.zero = -0), after: 3, path: 'this.zero' },
  { name: 'a bigint', body: (n, x) => x.mul(Number(n.big)), change: (n) => (n.big = 5n), after: 5, path: 'this.big' },
  { name: 'a string', body: (n, x) => (n.text === 'double' ? x.mul(2) : x), change: (n) => (n.text = 'none'), after: 1, path: 'this.text' },
  { name: 'a switch', body: (n, x) => (n.flag ? x.neg() : x.mul(2)), change: (n) => (n.flag = true), after: -1, path: 'this.flag' },
  { name: 'a field that appears', body: (n, x) => x.mul(n.missing ?? 2), change: (n) => (n.missing = 5), after: 5, path: 'this.missing' },
  { name: 'a field that goes', body: (n, x) => x.mul('k' in n ? n.k : 7), change: (n) => delete (n as { k?: number }).k, after: 7, path: 'this.k' },
  { name: 'a symbol key', body: (n, x) => x.mul(n[factor]), change: (n) => (n[factor] = 5), after: 5, path: 'this[Symbol(factor)]' },
  { name: 'a getter of the class', body: (n, x) => x.mul(n.product).div(2), change: (n) => (n.k = 5), after: 5, path: 'this.k' },
  { name: 'a static field', body: (_, x) => x.mul(Derived.scaled), change: () => (Derived.scaled = 5), after: 5, path: 'Derived.scaled' },
  { name: 'an inherited static field', body: (_, x) => x.mul(Base.inherited), change: () => (Base.inherited = 5), after: 5, path: 'Derived.inherited' },
  { name: 'a field of the prototype', body: (n, x) => x.mul((n as unknown as { shared?: number }).shared ?? 2), change: () => ((Base.prototype as unknown as { shared?: number }).shared = 5), after: 5, path: 'this.shared' },
  { name: 'a settings object', body: (n, x) => x.mul(n.settings.rate), change: (n) => (n.settings.rate = 5), after: 5, path: 'settings.rate' },
  { name: 'a replaced settings object', body: (n, x) => x.mul(n.settings.rate), change: (n) => (n.settings = { rate: 5, deep: { rates: [1] } }), after: 5, path: 'this.settings' },
  { name: 'a list in an object in an object', body: (n, x) => x.mul(n.settings.deep.rates[0]), change: (n) => (n.settings.deep.rates[0] = 5), after: 5, path: 'settings.deep.rates.0' },
  { name: 'a settings object with a class', body: (n, x) => x.mul(n.instance.doubled), change: (n) => (n.instance.rate = 3), after: 6, path: 'instance.rate' },
  { name: 'a replaced frozen object', body: (n, x) => x.mul(n.config.rate), change: (n) => (n.config = Object.freeze({ rate: 5 })), after: 5, path: 'this.config' },
  { name: 'an object inside of a frozen one', body: (n, x) => x.mul(n.outer.inner.rate), change: (n) => (n.outer.inner.rate = 5), after: 5, path: 'outer.inner.rate' },
  { name: 'an entry of a list', body: (n, x) => x.mul(n.list[0]), change: (n) => (n.list[0] = 5), after: 5, path: 'list.0' },
  { name: 'the length of a list', body: (n, x) => x.mul(n.list.length + 1), change: (n) => n.list.push(1), after: 3, path: 'list.length' },
  { name: 'a list in a list', body: (n, x) => x.mul(n.lists[1][0]), change: (n) => (n.lists[1][0] = 5), after: 5, path: 'lists.1.0' },
  { name: 'numbers in a typed array', body: (n, x) => x.mul(kn.array(n.numbers)), change: (n) => (n.numbers[0] = 5), after: 5, path: 'numbers.0' },
  { name: 'an entry of a map', body: (n, x) => x.mul(n.table.get('a')!), change: (n) => n.table.set('a', 5), after: 5, path: 'table.get("a")' },
  { name: 'an entry more in a map', body: (n, x) => x.mul(n.table.size), change: (n) => n.table.set('c', 5), after: 3, path: 'table.get("c")' },
  { name: 'the order of a map', body: (n, x) => x.mul([...n.table.values()][0]), change: (n) => n.table.delete('a') && n.table.set('a', 2), after: 1, path: 'the order of table' },
  { name: 'an entry of a set', body: (n, x) => x.mul([...n.set][0]), change: (n) => (n.set.clear(), n.set.add(5)), after: 5, path: 'set.0' },
  { name: 'a function', body: (n, x) => n.activation(x), change: (n) => (n.activation = (x) => x.mul(5)), after: 5, path: 'this.activation' },
  { name: 'a replaced array', body: (n, x) => x.mul(n.array), change: (n) => (n.array = kn.array([5])), after: 5, path: 'this.array' },
  { name: 'an array in a list', body: (n, x) => x.mul(n.arrays[0]), change: (n) => (n.arrays[0] = kn.array([5])), after: 5, path: 'arrays.0' },
  { name: 'a replaced layer', body: (n, x) => n.child.call(x), change: (n) => (n.child = new Scale(5)), after: 5, path: 'child' },
  { name: 'a layer of a list', body: (n, x) => n.layers.reduce((y, each) => each.call(y), x), change: (n) => (n.layers[1] = new Scale(5)), after: 5, path: 'layers.1' },
  { name: 'a layer more', body: (n, x) => n.layers.reduce((y, each) => each.call(y), x), change: (n) => n.layers.push(new Scale(3)), after: 6, path: 'layers.2' },
  { name: 'a field of a child', body: (n, x) => n.child.call(x), change: (n) => (n.child.k = 5), after: 5, path: 'child.k' },
  { name: 'a field of a layer in a list', body: (n, x) => n.layers.reduce((y, each) => each.call(y), x), change: (n) => (n.layers[1].k = 5), after: 5, path: 'layers.1.k' },
  { name: 'a field of a block in a record', body: (n, x) => n.nested.body.call(x), change: (n) => (n.nested.body.k = 5), after: 5, path: 'nested.body.k' },
  { name: 'a block in a record', body: (n, x) => n.nested.body.call(x), change: (n) => (n.nested.body = new Scale(5)), after: 5, path: 'nested.body' },
  { name: 'a block in a list of a list of a record', body: (n, x) => n.nested.deep[0][0].call(x), change: (n) => (n.nested.deep[0][0].k = 5), after: 5, path: 'nested.deep.0.0.k' },
  { name: 'a block in a map', body: (n, x) => n.byName.get('first')!.call(x), change: (n) => n.byName.set('first', new Scale(5)), after: 5, path: 'byName.first' },
  { name: 'a field of a block in a map', body: (n, x) => n.byName.get('first')!.call(x), change: (n) => (n.byName.get('first')!.k = 5), after: 5, path: 'byName.get("first").k' },
  { name: 'a forward that is called directly', body: (n, x) => n.child.forward(x), change: (n) => (n.child.k = 5), after: 5, path: 'child.k' },
  { name: 'a forward of one object', body: (n, x) => n.child.call(x), change: (n) => (n.child.forward = (x) => x.mul(5)), after: 5, path: 'child.forward' },
  { name: 'a replaced parameter', body: (n, x) => x.mul(n.replaced.value), change: (n) => (n.replaced = parameter(5)), after: 5, path: 'replaced' },
  { name: 'a replaced parameter of a child', body: (n, x) => n.weighted.call(x), change: (n) => (n.weighted.weight = parameter(5)), after: 5, path: 'weighted.weight' },
]; // prettier-ignore

/** Puts back what is common to all blocks. */
function reset(): void {
  Derived.scaled = 2;
  Base.inherited = 2;
  delete (Base.prototype as unknown as { shared?: number }).shared;
}

/** How code with a block comes to be captured. */
const forms: Readonly<
  Record<string, (net: Base, verify: 'off' | 'backoff') => (x: kn.NDArray) => kn.NDArray>
> = {
  'a hybridized block': (net, verify) => {
    net.hybridize({ verify });
    return (x) => net.call(x);
  },
  'a block in a hybridized function': (net, verify) =>
    kn.hybridize((x: kn.NDArray) => net.call(x), { verify }),
  'a hybridized block in a hybridized function': (net, verify) => {
    net.hybridize({ verify });
    return kn.hybridize((x: kn.NDArray) => net.call(x), { verify });
  },
  'a block in a block': (net, verify) => {
    const outer = new nn.Sequential(net);
    outer.hybridize({ verify });
    return (x) => outer.call(x);
  },
  'a static method': (net, verify) => {
    class Owner {
      readonly net: Base = net;
      run: (x: kn.NDArray) => kn.NDArray = kn.staticGraph(
        function (this: Owner, x: kn.NDArray) {
          return this.net.call(x);
        },
        { verify },
      ) as (x: kn.NDArray) => kn.NDArray;
    }
    const owner = new Owner();
    return (x) => owner.run(x);
  },
};

for (const [form, capture] of Object.entries(forms)) {
  test(`${form} answers by the fields there are, at the very next call`, () => {
    for (const { name, body, change, after } of kinds) {
      for (const verify of ['off', 'backoff'] as const) {
        for (const before of [1, 3]) {
          const net = new Derived(body);
          const f = capture(net, verify);
          const calls = (count: number): unknown[] =>
            Array.from({ length: count }, () => f(one()).item());
          assert.deepEqual(calls(before), Array(before).fill(2), name);
          change(net);
          assert.deepEqual(calls(4), Array(4).fill(after), `${name}, verify ${verify}`);
          reset();
        }
      }
    }
  });
}

test('explain names the field', () => {
  for (const { name, body, change, path } of kinds) {
    const net = new Derived(body);
    net.hybridize();
    net.call(one());
    change(net);
    net.call(one());
    reset();
    const { misses } = net.explain();
    assert.equal(misses.length, 2, name);
    const { kind, path: found } = misses[1].guard!;
    assert.ok(['field', 'blocks'].includes(kind), `${name}: ${kind}`);
    assert.equal(found.replace(/^this\.(?=child$)/, ''), path, name);
  }
});

test('explain says from what to what, in words', () => {
  const net = new Derived((n, x) => n.layers[1].call(x).mul(n.text === 'double' ? 1 : 2));
  const f = kn.hybridize((x: kn.NDArray) => net.call(x), { name: 'f' });
  f(one());
  net.layers[1].k = 5;
  f(one());
  net.text = 'other';
  f(one());
  const [, first, second] = f.explain().misses;
  assert.deepEqual(first.guard, { kind: 'field', path: 'Derived.layers.1.k', expected: '2', actual: '5' });
  assert.deepEqual(second.guard, { kind: 'field', path: 'Derived.text', expected: '"double"', actual: '"other"' });
  assert.match(String(f.explain()), /Derived\.layers\.1\.k +2 +5 /);
}); // prettier-ignore

test('values that come back find their traces', () => {
  const net = new Derived((n, x) => n.child.call(x.mul(n.k)));
  net.hybridize({ verify: 'off' });
  const children = [net.child, new Scale(3)];
  for (let i = 0; i < 24; i++) {
    net.k = 2 + (i % 3);
    net.child = children[i % 2];
    assert.equal(net.call(one()).item(), (2 + (i % 3)) * (2 + (i % 2)));
  }
  assert.equal(net.explain().misses.length, 6);
});

test('fields of whole training steps', () => {
  class Model extends nn.Block {
    layer: kn.nn.Dense = new nn.Dense(1, { inputs: 1, useBias: false, weightInit: nn.initializer.constant(1) });
    gain = 1;
    override forward(x: kn.NDArray): kn.NDArray {
      return this.layer.call(x).mul(this.gain);
    }
  }
  const train = (isCaptured: boolean): unknown[] => {
    const model = new Model().initialize();
    const optimizer = new kn.optim.SGD(model.parameters(), { learningRate: 0.125 });
    const step = (x: kn.NDArray): kn.NDArray => {
      const loss = kn.autograd.record(() => model.call(x).sum());
      loss.backward();
      optimizer.step();
      return loss;
    };
    const run = isCaptured ? kn.hybridize(step) : step;
    return Array.from({ length: 12 }, (_, i) => {
      if (i % 4 === 3) model.gain *= -2;
      return [run(kn.ones([1, 1])).item(), model.layer.weight.value.tolist()];
    });
  };
  assert.deepEqual(train(true), train(false));
}); // prettier-ignore

test('hyperparameters that an optimizer of the user keeps in fields', () => {
  class Scaled extends kn.optim.Optimizer {
    factor = 1;
    protected readonly slotNames: readonly string[] = [];
    protected override update({ weight, grad }: kn.optim.UpdateContext): readonly kn.NDArray[] {
      return [weight.sub(grad.mul(this.factor))];
    }
  }
  const layer = new Weighted();
  const optimizer = new Scaled(layer.parameters(), { learningRate: 1 });
  const values = [1, 1, 1, 10, 10, 100].map((scale) => {
    optimizer.factor = scale;
    kn.autograd.record(() => layer.call(one())).backward();
    optimizer.step();
    return layer.weight.value.item();
  });
  assert.deepEqual(values, [1, 0, -1, -11, -21, -121]);
});
