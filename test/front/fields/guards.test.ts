import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteFields } from '../../../src/front/core/capture.js';
import * as kn from '../../../src/index.js';
import { collectGarbage } from '../../support/garbage.js';
import { refuses } from '../support.js';

/** Fields that change without mattering: no new graphs, and after a while no runs of the code either. */

const { nn } = kn;
const one = (): kn.NDArray => kn.ones([1]);

class Net extends nn.HybridBlock {
  runs = 0;
  calls = 0;
  seen: unknown[] = [];
  note: unknown = null;
  last: kn.NDArray | null = null;
  k = 2;
  readonly body: (net: Net, x: kn.NDArray) => void;

  constructor(body: (net: Net, x: kn.NDArray) => void = () => undefined) {
    super();
    this.body = body;
  }

  override forward(x: kn.NDArray): kn.NDArray {
    runs++;
    this.body(this, x);
    return x.mul(this.k);
  }
}

/** How often any block of this test has run its code. */
let runs = 0;

/** For each call, whether the code ran. */
function runsOf(net: Net, count: number, between: (net: Net, i: number) => void): boolean[] {
  return Array.from({ length: count }, (_, i) => {
    const before = runs;
    assert.equal(net.call(one()).item(), net.k);
    between(net, i);
    assert.ok(runs - before <= 1, 'the code runs once a call at most');
    return runs > before;
  });
}

const changes: Readonly<Record<string, (net: Net, i: number) => void>> = {
  'a counter': (net) => net.calls++,
  'a list that grows': (net, i) => net.seen.push({ i }),
  'a replaced list': (net, i) => (net.seen = [i]),
  'something else each time': (net, i) => (net.note = i % 2 === 0 ? { i } : i),
};

for (const [name, change] of Object.entries(changes)) {
  test(`${name} outside of the code: seen once not to be read, it is compared no more`, () => {
    const net = new Net().hybridize({ verify: 'off' });
    assert.deepEqual(runsOf(net, 6, change), [true, true, false, false, false, false]);
    assert.equal(net.explain().traces.length, 1);
    net.k = 5;
    assert.equal(net.call(one()).item(), 5, 'the others are guarded as before');
  });

  test(`${name} inside of the code: it does not run again for that`, () => {
    const net = new Net((self) => change(self, runs)).hybridize({ verify: 'off' });
    assert.deepEqual(
      runsOf(net, 6, () => undefined),
      [true, true, false, false, false, false],
    );
    assert.equal(net.explain().traces.length, 1);
    net.k = 5;
    assert.equal(net.call(one()).item(), 5);
  });

  test(`${name} inside of the code, which is compared at the calls 2, 4, 8`, () => {
    const net = new Net((self) => change(self, runs)).hybridize();
    const expected = [1, 2, 4, 8, 16];
    const ran = runsOf(net, 20, () => undefined).flatMap((isRun, i) => (isRun ? [i + 1] : []));
    assert.deepEqual(ran, expected);
    assert.equal(net.explain().traces.length, 1);
  });
}

test('an array that the code keeps, and does not read again', () => {
  const net = new Net((self, x) => (self.last = x.mul(3))).hybridize();
  for (let i = 0; i < 10; i++) assert.equal(net.call(one()).item(), 2);
  assert.equal(net.explain().traces.length, 1);
});

test('a field that is read but decides nothing yet is compared by running the code', () => {
  const net = new Net((self) => {
    if (self.calls > 3) self.k = 7;
  }).hybridize({ verify: 'off' });
  const seen = [0, 1, 2, 3, 4, 5].map((calls) => {
    net.calls = calls;
    return net.call(one()).item();
  });
  assert.deepEqual(seen, [2, 2, 2, 2, 7, 7]);
  assert.equal(net.explain().traces.length, 2);
});

test('what the code sets up at its first run is no reason to refuse', () => {
  class Lazy extends nn.HybridBlock {
    offset: kn.NDArray | null = null;
    isReady = false;
    override forward(x: kn.NDArray): kn.NDArray {
      this.offset ??= kn.array([10]);
      if (this.isReady) return x.add(1);
      this.isReady = true;
      return x.add(2);
    }
  }
  const net = new Lazy();
  net.hybridize();
  const next = (): unknown => net.call(one()).item();
  assert.deepEqual([next(), next(), next(), next(), next()], [3, 2, 2, 2, 2]);
  net.isReady = false;
  assert.deepEqual([next(), next(), next()], [3, 2, 2], 'and again, when it is taken back');
  assert.equal(net.explain().traces.length, 2);
});

test('code whose graph depends on what it changes at each run is refused', () => {
  for (const verify of ['off', 'backoff'] as const) {
    const net = new Net((self) => (self.k += 1)).hybridize({ verify });
    assert.equal(net.call(one()).item(), 3);
    const error = refuses(() => net.call(one()), kn.TraceError, 'depends on this.k');
    assert.match(error.advice!, /assign to it/);
  }
  const flip = new Net((self) => (self.k = -self.k)).hybridize();
  flip.call(one());
  refuses(() => flip.call(one()), kn.TraceError, 'depends on this.k');
});

test('a field that changes again and again is named with advice', () => {
  const net = new Net().hybridize();
  for (let k = 0; k < 6; k++) {
    net.k = k;
    net.call(one());
  }
  assert.match(String(net.explain()), /advice: this\.k was new 5 times/);
  const few = new Net().hybridize({ maxTraces: 1 });
  few.call(one());
  few.k = 5;
  refuses(() => few.call(one()), kn.TraceError, 'maxTraces', 'this.k: 2 -> 5');
});

test('a field that fails in the code fails as it does eagerly', () => {
  class Shaped extends nn.HybridBlock {
    size = 2;
    override forward(x: kn.NDArray): kn.NDArray {
      return x.reshape([this.size]);
    }
  }
  const net = new Shaped();
  net.hybridize();
  const x = kn.ones([2]);
  net.call(x);
  net.size = 3;
  refuses(() => net.call(x), kn.ShapeError, 'reshape');
  net.size = 2;
  assert.deepEqual(net.call(x).tolist(), [1, 1]);
});

test('fields are what they were after the code was watched', () => {
  const net = new Net((self) => self.calls++);
  Object.defineProperty(net, 'hidden', { value: 1, enumerable: false, configurable: true });
  Object.defineProperty(net, 'fixed', { value: { a: 1 }, enumerable: true, writable: false });
  net.hybridize({ verify: 'off' });
  for (let i = 0; i < 3; i++) {
    net.call(one());
    net.note = i;
  }
  const text = JSON.stringify(Object.getOwnPropertyDescriptors(net));
  assert.ok(!text.includes('get'), text);
  assert.deepEqual(Object.getOwnPropertyDescriptor(net, 'note'), {
    value: 2,
    writable: true,
    enumerable: true,
    configurable: true,
  });
  assert.throws(() => ((net as unknown as { fixed: number }).fixed = 1), TypeError);
});

test('sealed blocks, frozen blocks, cycles and blocks of another realm of classes', () => {
  class Tree extends nn.HybridBlock {
    k = 2;
    parent: Tree | null = null;
    children: Tree[] = [];
    readonly options: Record<string, unknown> = Object.assign(Object.create(null), { rate: 1 });
    override forward(x: kn.NDArray): kn.NDArray {
      const y = x.mul(this.k).mul(this.options['rate'] as number);
      return this.children.reduce((z, child) => child.call(z), y);
    }
  }
  const [root, child] = [new Tree(), new Tree()];
  root.children.push(child);
  child.parent = root;
  Object.seal(child);
  Object.freeze(root);
  const f = kn.hybridize((x: kn.NDArray) => root.call(x), { verify: 'off' });
  assert.equal(f(one()).item(), 4);
  child.k = 3;
  assert.equal(f(one()).item(), 6);
  root.options['rate'] = 5;
  assert.equal(f(one()).item(), 30);
  root.children.push(new Tree());
  assert.equal(f(one()).item(), 60);
});

test('methods of classes that are no blocks are guarded by the fields of their object', () => {
  class Model {
    rate = 2;
    readonly limits: Map<string, number> = new Map([['low', 1]]);
    @kn.staticGraph
    run(x: kn.NDArray): kn.NDArray {
      return x.mul(this.rate).maximum(this.limits.get('low')!);
    }
  }
  const [a, b] = [new Model(), new Model()];
  assert.deepEqual([a.run(one()).item(), b.run(one()).item()], [2, 2]);
  a.rate = 5;
  assert.deepEqual([a.run(one()).item(), b.run(one()).item()], [5, 2]);
  b.limits.set('low', 10);
  assert.deepEqual([a.run(one()).item(), b.run(one()).item()], [5, 10]);
  assert.match(String((a.run as unknown as { explain(): unknown }).explain()), /this\.rate/);
});

test('a long list is compared up to its 1,024th entry, and by its length', () => {
  const net = new Net((self) => (self.k = (self.note as number[])[0]));
  net.note = Array.from({ length: 5000 }, () => 2);
  net.hybridize({ verify: 'off' });
  net.call(one());
  (net.note as number[])[1023] = 7;
  const before = runs;
  net.call(one());
  assert.equal(runs, before + 1, 'it ran to see');
  (net.note as number[])[0] = 3;
  assert.equal(net.call(one()).item(), 3);
});

test('what is replaced is not kept by the guards', async () => {
  class Holder extends nn.HybridBlock {
    child: Net = new Net();
    readonly byName: Map<string, Net> = new Map();
    override forward(x: kn.NDArray): kn.NDArray {
      return this.child.call(this.byName.get('last')?.call(x) ?? x);
    }
  }
  const holder = new Holder().hybridize();
  const gone: WeakRef<object>[] = [];
  // In a function of its own: a frame that waits would keep its variables.
  const replace = (i: number): void => {
    const [child, last] = [new Net(), new Net()];
    [child.k, last.k] = [i, i + 1];
    gone.push(new WeakRef(holder.child), new WeakRef(child), new WeakRef(last));
    holder.child = child;
    holder.byName.set('last', last);
    assert.equal(holder.call(one()).item(), i * (i + 1));
  };
  holder.call(one());
  for (let i = 0; i < 5; i++) replace(i);
  holder.child = new Net();
  holder.byName.clear();
  assert.equal(holder.call(one()).item(), 2);
  assert.equal(holder.explain().traces.length, 6, 'the first one serves once more');
  await collectGarbage();
  assert.deepEqual(gone.flatMap((ref, i) => (ref.deref() === undefined ? [] : [i])), []);
}); // prettier-ignore

test('side-effect code changes fields: those that captured code does not read, and no others', () => {
  class Model {
    k = 1;
    calls = 0;
    readonly history: unknown[] = [];
    readonly effect: (x: kn.NDArray) => void;
    constructor(effect: (model: Model, x: kn.NDArray) => void) {
      this.effect = kn.staticCode((x: kn.NDArray) => effect(this, x));
    }
    @kn.staticGraph
    run(x: kn.NDArray): kn.NDArray {
      const y = x.mul(2);
      this.effect(y);
      return y.mul(this.k);
    }
  }
  const noting = new Model((model, x) => {
    if (model.calls++ % 3 === 2) model.history.push(x.item());
  });
  const results = Array.from({ length: 12 }, (_, i) => {
    if (i === 9) noting.k = 10;
    return noting.run(kn.array([i])).item();
  });
  assert.deepEqual(results, [0, 2, 4, 6, 8, 10, 12, 14, 16, 180, 200, 220]);
  assert.deepEqual([noting.calls, noting.history], [12, [4, 10, 16, 22]]);
  const deciding = new Model((model) => void (model.k += 1));
  assert.equal(deciding.run(kn.ones([1])).item(), 4);
  const error = refuses(() => deciding.run(kn.ones([1])), kn.TraceError, 'side-effect code changes this.k');
  assert.match(error.advice!, /return what follows needs/);
  assert.equal(deciding.k, 2, 'nothing ran');
}); // prettier-ignore

test('blocks in the bodies of loops and branches', () => {
  const [body, branch] = [new Net(), new Net()];
  const f = kn.hybridize((rows: kn.NDArray) => {
    const [, sum] = kn.foreach((row, total) => [row, total.add(body.call(row))], rows, kn.zeros([1]));
    return kn.cond(sum.sum().greater(0), () => branch.call(sum), () => sum);
  }, { verify: 'off' });
  const rows = kn.ones([3, 1]);
  assert.deepEqual([f(rows).item(), f(rows).item()], [12, 12]);
  body.k = 1;
  assert.deepEqual([f(rows).item(), f(rows).item()], [6, 6]);
  branch.k = 5;
  assert.deepEqual([f(rows).item(), f(rows).item()], [15, 15]);
}); // prettier-ignore

test('what has changed and is read is named, not what else has changed', () => {
  const net = new Net().hybridize();
  net.call(one());
  [net.note, net.calls, net.k] = ['new', 7, 5];
  net.call(one());
  const { guard, others } = net.explain().misses[1];
  assert.deepEqual([guard?.path, others], ['this.k', 0]);
});

test('a block that takes the place of one like it is guarded in its turn', () => {
  let net = new Net();
  const f = kn.hybridize((x: kn.NDArray) => net.call(x), { verify: 'always' });
  assert.deepEqual([f(one()).item(), f(one()).item()], [2, 2]);
  net = new Net();
  assert.equal(f(one()).item(), 2);
  net.k = 5;
  assert.equal(f(one()).item(), 5, 'another trace, no refusal');
});

test('fields that eager code notes guard no graph', () => {
  const holder = { k: 2 };
  const f = kn.hybridize((x: kn.NDArray) => x.mul(3));
  noteFields(holder);
  assert.equal(f(one()).item(), 3);
  holder.k = 5;
  noteFields(holder);
  assert.equal(f(one()).item(), 3);
  assert.equal(f.explain().traces.length, 1);
});
