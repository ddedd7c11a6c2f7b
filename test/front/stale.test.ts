import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { refuses } from './support.js';

/*
 * Captured code that depends on what cannot be guarded: outer variables, private fields, closures. It is
 * compared at the calls 2, 4, 8 and so on of each trace. From the first of these calls after a change on
 * it is refused, and the error says which calls may have been answered as before.
 */

const one = (): kn.NDArray => kn.ones([1]);
const factor = Symbol('factor');

interface Kind {
  readonly name: string;
  /** Code that doubles, and what makes it do something else. */
  make(): { readonly code: (x: kn.NDArray) => kn.NDArray; readonly change: () => unknown };
}

const kinds: readonly Kind[] = [
  {
    name: 'an outer number',
    make: () => {
      let k = 2;
      return { code: (x) => x.mul(k), change: () => (k = 5) };
    },
  },
  {
    name: 'a condition',
    make: () => {
      let isDouble = true;
      return { code: (x) => (isDouble ? x.mul(2) : x.sum()), change: () => (isDouble = false) };
    },
  },
  {
    name: 'a settings object',
    make: () => {
      const settings = { k: 2 };
      return { code: (x) => x.mul(settings.k), change: () => (settings.k = 5) };
    },
  },
  {
    name: 'a replaced frozen object',
    make: () => {
      let settings: Readonly<{ k: number }> = Object.freeze({ k: 2 });
      return {
        code: (x) => x.mul(settings.k),
        change: () => (settings = Object.freeze({ k: 5 })),
      };
    },
  },
  {
    name: 'a replaced outer array',
    make: () => {
      let array = kn.array([2]);
      return { code: (x) => x.mul(array), change: () => (array = kn.array([5])) };
    },
  },
  {
    name: 'a replaced array of equal elements',
    make: () => {
      const holder = { array: kn.array([2]) };
      return { code: (x) => x.mul(holder.array), change: () => (holder.array = kn.array([2])) };
    },
  },
  {
    name: 'a list in a list',
    make: () => {
      const lists = [[1], [2]];
      return { code: (x) => x.mul(lists[1][0]), change: () => (lists[1][0] = 5) };
    },
  },
  {
    name: 'numbers for an array',
    make: () => {
      const numbers = [2];
      return { code: (x) => x.mul(kn.array(numbers)), change: () => (numbers[0] = 5) };
    },
  },
  {
    name: 'a typed array',
    make: () => {
      const numbers = Float32Array.of(2);
      return { code: (x) => x.mul(kn.array(numbers)), change: () => (numbers[0] = 5) };
    },
  },
  {
    name: 'a map',
    make: () => {
      const map = new Map([['k', 2]]);
      return { code: (x) => x.mul(map.get('k')!), change: () => map.set('k', 5) };
    },
  },
  {
    name: 'a set',
    make: () => {
      const set = new Set([1, 2]);
      return { code: (x) => x.mul(set.size), change: () => set.add(3) };
    },
  },
  {
    name: 'a getter',
    make: () => {
      let k = 2;
      const settings = {
        get k() {
          return k;
        },
      };
      return { code: (x) => x.mul(settings.k), change: () => (k = 5) };
    },
  },
  {
    name: 'a symbol key',
    make: () => {
      const settings = { [factor]: 2 };
      return { code: (x) => x.mul(settings[factor]), change: () => (settings[factor] = 5) };
    },
  },
  {
    name: 'a static field',
    make: () => {
      class Settings {
        static k = 2;
        readonly name: string = 'settings';
      }
      return { code: (x) => x.mul(Settings.k), change: () => (Settings.k = 5) };
    },
  },
  {
    name: 'a shape',
    make: () => {
      const shape = [2];
      return { code: (x) => x.mul(kn.ones(shape).sum()), change: () => shape.push(2) };
    },
  },
  {
    name: 'an option',
    make: () => {
      const options = { keepdims: false };
      return {
        code: (x) => x.mul(2).sum(0, options),
        change: () => (options.keepdims = true),
      };
    },
  },
  {
    name: 'a function',
    make: () => {
      let activation = (x: kn.NDArray): kn.NDArray => x.mul(2);
      return { code: (x) => activation(x), change: () => (activation = (x) => x.mul(5)) };
    },
  },
  {
    name: 'a private field of a block',
    make: () => {
      class Net extends kn.nn.HybridBlock {
        #k = 2;
        change(): void {
          this.#k = 5;
        }
        override forward(x: kn.NDArray): kn.NDArray {
          return x.mul(this.#k);
        }
      }
      const net = new Net();
      net.hybridize();
      return { code: (x) => net.call(x), change: () => net.change() };
    },
  },
  {
    name: 'an accessor of a block',
    make: () => {
      let k = 2;
      class Net extends kn.nn.HybridBlock {
        readonly config: { readonly k: number } = {
          get k() {
            return k;
          },
        };
        override forward(x: kn.NDArray): kn.NDArray {
          return x.mul(this.config.k);
        }
      }
      const net = new Net();
      net.hybridize();
      return { code: (x) => net.call(x), change: () => (k = 5) };
    },
  },
  {
    name: 'a variable around a block',
    make: () => {
      let k = 2;
      class Net extends kn.nn.HybridBlock {
        override forward(x: kn.NDArray): kn.NDArray {
          return x.mul(k);
        }
      }
      const net = new Net();
      net.hybridize();
      return { code: (x) => net.call(x), change: () => (k = 5) };
    },
  },
  {
    name: 'a block in a variable',
    make: () => {
      class Net extends kn.nn.Block {
        factor: kn.NDArray;
        constructor(value: number) {
          super();
          this.factor = kn.array([value]);
        }
        override forward(x: kn.NDArray): kn.NDArray {
          return x.mul(this.factor);
        }
      }
      let net = new Net(2);
      return { code: (x) => net.call(x), change: () => (net = new Net(5)) };
    },
  },
  {
    name: 'a method of a class',
    make: () => {
      class Net extends kn.nn.Block {
        override forward(x: kn.NDArray): kn.NDArray {
          return x.mul(2);
        }
      }
      const net = new Net();
      return {
        code: (x) => net.call(x),
        change: () => (Net.prototype.forward = (x) => x.mul(5)),
      };
    },
  },
];

const forms: Readonly<Record<string, (code: (x: kn.NDArray) => kn.NDArray) => typeof code>> = {
  hybridize: (code) => kn.hybridize(code),
  staticGraph: (code) => kn.staticGraph(code),
};

for (const [form, capture] of Object.entries(forms)) {
  test(`${form}: what is no argument is refused at the next of the calls 2, 4, 8 after it changed`, () => {
    for (const { name, make } of kinds) {
      for (let before = 1; before <= 9; before++) {
        const { code, change } = make();
        const f = capture(code);
        for (let call = 1; call <= before; call++) assert.equal(f(one()).item(), 2, name);
        change();
        const due = 2 ** Math.ceil(Math.log2(before + 1));
        for (let call = before + 1; call < due; call++) f(one());
        for (let attempt = 0; attempt < 3; attempt++) {
          assert.throws(() => f(one()), kn.TraceError, `${name}, changed after call ${before}`);
          const error = refuses(() => f(one()), kn.TraceError, 'changed between two calls');
          const last = due / 2;
          const stale = /calls? (\d+)(?: to (\d+))? of this trace may/.exec(error.message);
          assert.equal(Number(stale?.[1] ?? due), last + 1, `${name}: ${error.message}`);
          assert.equal(Number(stale?.[2] ?? stale?.[1] ?? due - 1), due - 1, name);
          assert.ok(last <= before, 'the last comparison was before the change');
          assert.match(error.advice!, /pass what changes as an argument/);
          assert.match(`${error.expected} ${error.actual}`, /stale\.test/);
        }
      }
    }
  });
}

test('the error says which value to pass', () => {
  const advice = (code: (x: kn.NDArray) => unknown): string => {
    const f = kn.hybridize(code);
    f(one());
    return refuses(() => f(one()), kn.TraceError, 'changed').advice!;
  };
  let calls = 0;
  // A call that is refused runs the code once more, for its lines.
  assert.match(advice((x) => x.mul(calls++)), /the number that was 0 and is \d/);
  assert.match(advice((x) => x.sum(0, { keepdims: calls++ % 2 === 0 })), /the keepdims of sum/);
  assert.match(advice((x) => x.mul([calls++, 1])), /the elements of the constant/);
  assert.match(advice((x) => (calls++ % 2 === 0 ? x.exp() : x.sin())), /what decides/);
  const arrays = [kn.array([1]), kn.array([1])];
  assert.match(advice((x) => x.mul(arrays[calls++ % 2])), /keep one array and assign to it/);
}); // prettier-ignore

test('calls are compared as often as was asked for', () => {
  for (const [verify, expected] of [
    ['off', [1]],
    ['second', [1, 2]],
    ['backoff', [1, 2, 4, 8, 16, 32]],
    ['always', Array.from({ length: 40 }, (_, i) => i + 1)],
  ] as const) {
    const runs: number[] = [];
    let call = 0;
    const f = kn.hybridize((x: kn.NDArray) => (runs.push(call), x.add(1)), { verify });
    for (call = 1; call <= 40; call++) f(one());
    assert.deepEqual(runs, expected, verify);
  }
});

test('each trace is compared at its own calls', () => {
  let k = 1;
  const f = kn.hybridize((x: kn.NDArray) => x.mul(k));
  for (let i = 0; i < 5; i++) f(kn.ones([1]));
  f(kn.ones([2]));
  k = 2;
  f(kn.ones([1]));
  refuses(() => f(kn.ones([2])), kn.TraceError, 'changed between two calls');
});

test('code runs once a call at most, and effects of its own are not doubled', () => {
  const log: number[] = [];
  let call = 0;
  const state = kn.zeros([]);
  const f = kn.hybridize((x: kn.NDArray) => {
    log.push(call);
    state.assign(state.add(1));
    return x.add(kn.random.uniform([1]));
  });
  kn.random.seed(5);
  const drawn = Array.from({ length: 20 }, () => (call++, f(kn.zeros([1])).item()));
  assert.deepEqual(log, [1, 2, 4, 8, 16]);
  assert.equal(state.item(), 20);
  kn.random.seed(5);
  const expected = Array.from({ length: 20 }, () => kn.random.uniform([1]).item());
  assert.deepEqual(drawn, expected);
});

test('side-effect code runs once a call, also where the calls are compared', () => {
  const seen: unknown[] = [];
  const note = kn.staticCode((x: kn.NDArray) => void seen.push(x.item()));
  const f = kn.staticGraph((x: kn.NDArray) => {
    const y = x.mul(2);
    note(y);
    return y.add(1);
  });
  for (let i = 0; i < 10; i++) assert.deepEqual(f(kn.array([i])).tolist(), [2 * i + 1]);
  assert.deepEqual(seen, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
});

test('what recordings see is compared, too', () => {
  const w = kn.array([1]);
  w.attachGrad();
  let isRecorded = true;
  const f = kn.hybridize((x: kn.NDArray) =>
    isRecorded ? kn.autograd.record(() => x.mul(w)) : x.mul(w),
  );
  f(one()).backward();
  isRecorded = false;
  refuses(() => f(one()), kn.TraceError, 'it records something else');
  let req: kn.GradReq = 'write';
  const attaching = kn.hybridize((x: kn.NDArray) => {
    x.attachGrad({ req });
    return x.mul(2);
  });
  attaching(one());
  req = 'add';
  refuses(() => attaching(one()), kn.TraceError, "attached as 'write'", "attached as 'add'");
});

test('there is no other way to verify', () => {
  const verify = 'sometimes' as 'off';
  refuses(() => kn.hybridize((x: kn.NDArray) => x, { verify }), kn.ArgumentError, "'backoff'");
  const options = { verfy: 'off' } as unknown as kn.HybridizeOptions;
  refuses(() => kn.staticGraph((x: kn.NDArray) => x, options), kn.ArgumentError, 'verify');
});

test('lists that were passed may be changed afterwards', () => {
  const axes = [0];
  const shape = [4];
  const x = kn.array([[1, 2], [3, 4]]);
  x.attachGrad();
  const y = kn.autograd.record(() => x.sum(axes).reshape([2]).mul([1, 10]).add(x.reshape(shape).sum()));
  axes[0] = 1;
  shape[0] = 2;
  y.backward();
  assert.deepEqual(x.grad!.tolist(), [[3, 12], [3, 12]], 'the gradient of what was computed');
  const { z } = kn.deferredCompute(() => ({ z: kn.ones(shape) }));
  shape.push(5);
  assert.deepEqual(z.tolist(), [1, 1]);
}); // prettier-ignore
