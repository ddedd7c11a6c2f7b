import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as kn from '../../../src/index.js';
import { assertClose } from '../../support/close.js';
import { adamOf, makers as make, type Rule, rules } from './reference.js';

/** A step uses each gradient once: against plain numbers, in eager code, captured in parts and as a whole. */

/** The loss over some parameters is the sum of `a w^2 / 2 - b w`: the gradient is `a w - b`. */
const a = [1, 3, 0.5];
const b = [1, -2, 0.25];
const start = [0.5, -1, 2];

/** A pass over these parameters, a step, or gradients set to zeros. */
type Event = readonly number[] | 'step' | 'zeroGrad';

class Subject {
  readonly parameters: kn.nn.Parameter[];
  readonly optimizer: kn.optim.Optimizer;
  readonly #actions = new Map<string, () => void>();

  constructor(kind: string, gradReq: kn.GradReq) {
    this.parameters = start.map((value) => {
      const parameter = new kn.nn.Parameter({ shape: [], gradReq });
      parameter.assign(value);
      return parameter;
    });
    this.optimizer = make[kind](new Map(this.parameters.map((p, i) => [`w${i}`, p])));
  }

  do(event: Event): void {
    if (event === 'step') this.optimizer.step();
    else if (event === 'zeroGrad') this.optimizer.zeroGrad();
    else {
      const loss = kn.autograd.record(() =>
        event
          .map((i) => {
            const { value } = this.parameters[i];
            return value
              .square()
              .mul(a[i] / 2)
              .sub(value.mul(b[i]));
          })
          .reduce((sum, each) => sum.add(each)),
      );
      loss.backward();
    }
  }

  /** The captured function for some events in a row. */
  captured(events: readonly Event[]): () => void {
    const key = JSON.stringify(events);
    let action = this.#actions.get(key);
    if (action === undefined) {
      action = kn.hybridize(() => events.forEach((event) => this.do(event)));
      this.#actions.set(key, action);
    }
    return action;
  }

  get weights(): number[] {
    return this.parameters.map(({ value }) => Number(value.item()));
  }
}

class Plain {
  readonly weights: number[] = [...start];
  readonly #rules: Rule[];
  readonly #gradients: { value: number; isNew: boolean }[] = start.map(() => ({
    value: 0,
    isNew: false,
  }));
  readonly #gradReq: kn.GradReq;
  steps = 0;

  constructor(kind: string, gradReq: kn.GradReq) {
    this.#rules = start.map(() => rules[kind]());
    this.#gradReq = gradReq;
  }

  /** False for a step that is refused. */
  do(event: Event): boolean {
    if (event === 'zeroGrad') {
      for (const gradient of this.#gradients) Object.assign(gradient, { value: 0, isNew: false });
    } else if (event === 'step') {
      if (!this.#gradients.some(({ isNew }) => isNew)) return this.steps > 0;
      this.steps++;
      this.#gradients.forEach((gradient, i) => {
        if (gradient.isNew) this.weights[i] = this.#rules[i](this.weights[i], gradient.value);
        gradient.isNew = false;
      });
    } else {
      for (const i of event) {
        const before = this.#gradReq === 'add' ? this.#gradients[i].value : 0;
        const value = before + a[i] * this.weights[i] - b[i];
        this.#gradients[i] = { value, isNew: true };
      }
    }
    return true;
  }
}

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.constant('step' as const) },
  { weight: 4, arbitrary: fc.subarray([0, 1, 2], { minLength: 1 }) },
  { weight: 1, arbitrary: fc.constant('zeroGrad' as const) },
);

const tell = (subject: Subject, plain: Plain, what: string): void => {
  assertClose(subject.weights, plain.weights, 2e-4, what);
  assert.equal(subject.optimizer.steps, plain.steps, what);
};

for (const kind of Object.keys(make)) {
  test(`${kind} moves what has a new gradient, and nothing else`, () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { minLength: 3, maxLength: 10 }),
        fc.constantFrom<kn.GradReq>('write', 'add'),
        fc.integer({ min: 1, max: 4 }),
        (events, gradReq, length) => {
          const plain = new Plain(kind, gradReq);
          const eager = new Subject(kind, gradReq);
          const parts = new Subject(kind, gradReq);
          const whole = new Subject(kind, gradReq);
          for (let at = 0; at < events.length; at += length) {
            const group = events.slice(at, at + length);
            const isFine = group.map((event) => plain.do(event));
            if (isFine.includes(false)) {
              // Whatever is refused changes nothing; of a whole group, nothing at all.
              const before = whole.weights;
              assert.throws(whole.captured(group), kn.ArgumentError);
              assert.deepEqual(whole.weights, before);
              group.forEach((event, i) => {
                if (isFine[i]) return eager.do(event);
                assert.throws(() => eager.do(event), kn.ArgumentError);
              });
              tell(eager, plain, 'eager');
              return;
            }
            for (const event of group) {
              eager.do(event);
              parts.captured([event])();
            }
            whole.captured(group)();
            tell(eager, plain, 'eager');
            tell(parts, plain, 'captured one by one');
            tell(whole, plain, `captured by ${length}`);
          }
        },
      ),
      { numRuns: 12, seed: 7 },
    );
  });
}

/** One weight of value 1 and gradient 2, which SGD without momentum moves by 2 a step. */
function single(gradReq: kn.GradReq = 'write') {
  const weight = new kn.nn.Parameter({ shape: [], gradReq });
  weight.assign(1);
  const parameters = new Map([['w', weight]]);
  const optimizer = new kn.optim.SGD(parameters, { learningRate: 1 });
  const backward = (): void => kn.autograd.record(() => weight.value.mul(2)).backward();
  return { weight, parameters, optimizer, backward, value: () => weight.value.item() };
}

test('the second of two steps finds nothing to do', () => {
  const { optimizer, backward, value } = single();
  backward();
  optimizer.step();
  optimizer.step();
  assert.deepEqual([value(), optimizer.steps], [-1, 1]);
});

test('a step before any backward pass is refused, and so is one after zeroGrad at the start', () => {
  const { optimizer, backward, value } = single();
  const refused = (step: () => void): void =>
    assert.throws(step, (error) => {
      assert.ok(error instanceof kn.ArgumentError, String(error));
      assert.match(error.message, /parameter w has no gradient/);
      assert.equal(error.op, 'SGD.step');
      return true;
    });
  refused(() => optimizer.step());
  refused(kn.hybridize(() => optimizer.step()));
  backward();
  optimizer.zeroGrad();
  refused(() => optimizer.step());
  assert.deepEqual([value(), optimizer.steps], [1, 0]);
});

test('a parameter that takes part and gets zero is stepped: its momentum goes on', () => {
  const weight = new kn.nn.Parameter({ shape: [] });
  weight.assign(1);
  const optimizer = new kn.optim.SGD(new Map([['w', weight]]), { learningRate: 1, momentum: 0.5 });
  const scale = kn.array(1);
  const step = kn.hybridize((k: kn.NDArray) => {
    kn.autograd.record(() => weight.value.mul(k)).backward();
    optimizer.step();
  });
  step(scale);
  step(kn.array(0));
  kn.autograd.record(() => weight.value.mul(0)).backward();
  optimizer.step();
  assert.equal(weight.value.item(), 1 - 1 - 0.5 - 0.25);
});

test('what is frozen by attachGrad null stays, and attaching again needs a pass', () => {
  const { weight, optimizer, backward, value } = single();
  backward();
  optimizer.step();
  weight.value.attachGrad({ req: 'null' });
  optimizer.step();
  weight.value.attachGrad();
  optimizer.step();
  assert.equal(value(), -1);
  backward();
  optimizer.step();
  assert.equal(value(), -3);
});

test('two optimizers over one parameter use its gradient once each', () => {
  const { parameters, optimizer, backward, value } = single();
  const second = new kn.optim.SGD(parameters, { learningRate: 0.5 });
  const step = kn.hybridize(() => {
    backward();
    optimizer.step();
    second.step();
    optimizer.step();
    second.step();
  });
  step();
  assert.equal(value(), 1 - 2 - 1);
  backward();
  second.step();
  optimizer.step();
  second.step();
  assert.deepEqual([value(), optimizer.steps, second.steps], [-5, 2, 2]);
});

test('a pass over a part of a network leaves the rest alone, captured network or not', () => {
  for (const isHybrid of [false, true]) {
    kn.random.seed(1);
    const body = new kn.nn.Dense(3, { inputs: 2 }).initialize();
    const heads = [0, 1].map(() => new kn.nn.Dense(1, { inputs: 3 }).initialize());
    if (isHybrid) for (const block of [body, ...heads]) block.hybridize();
    const net = new kn.nn.Sequential(body, ...heads);
    const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.1 });
    const pass = (head: kn.nn.Dense): void => {
      kn.autograd.record(() => head.call(body.call(kn.ones([4, 2]))).sum()).backward();
      optimizer.step();
    };
    const found = (block: kn.nn.Block): unknown =>
      [...block.parameters().values()].map(({ value }) => value.tolist());
    pass(heads[0]);
    const [other, before] = [found(heads[1]), found(heads[0])];
    pass(heads[1]);
    assert.deepEqual(found(heads[0]), before);
    assert.notDeepEqual(found(heads[1]), other);
  }
});

test('clipping is no backward pass, and counts what the next step uses only', () => {
  const { parameters, optimizer, backward, value } = single();
  backward();
  assert.equal(kn.optim.clipGlobalNorm(parameters, 8).item(), 2);
  optimizer.step();
  assert.throws(() => kn.optim.clipGlobalNorm(parameters, 1), kn.ArgumentError);
  optimizer.step();
  assert.equal(value(), -1);
  const clipped = kn.hybridize(() => {
    backward();
    kn.optim.clipGlobalNorm(parameters, 0.5);
    kn.optim.clipGlobalNorm(parameters, 0.25);
    optimizer.step();
    optimizer.step();
  });
  clipped();
  clipped();
  assertClose([Number(value())], [-1.5], 1e-5);
});

test('captured loops: a step in each iteration, one after all, and none where that cannot be', () => {
  const run = (body: (it: ReturnType<typeof single>) => (length: number) => void) =>
    [false, true].map((isCaptured) => {
      const it = single('add');
      const once = body(it);
      const call = isCaptured ? kn.hybridize(once) : once;
      return [3, 3, 2].map((length) => {
        call(length);
        return it.value();
      });
    });
  const loop = (length: number, body: () => void): void =>
    void kn.foreach((row: kn.NDArray) => (body(), [row, []]), kn.arange(length), []);
  const inside = run(({ backward, optimizer }) => (length) => {
    loop(length, () => {
      optimizer.zeroGrad();
      backward();
      optimizer.step();
    });
    optimizer.step();
  });
  assert.deepEqual(inside, [
    [-5, -11, -15],
    [-5, -11, -15],
  ]);
  const after = run(({ backward, optimizer }) => (length) => {
    optimizer.zeroGrad();
    loop(length, backward);
    optimizer.step();
    optimizer.step();
  });
  assert.deepEqual(after, [
    [-5, -11, -15],
    [-5, -11, -15],
  ]);

  const { backward, optimizer, value } = single();
  const first = kn.hybridize(() => {
    backward();
    loop(3, () => optimizer.step());
  });
  assert.throws(first, kn.UnsupportedError);
  const maybe = kn.hybridize((x: kn.NDArray) => {
    kn.whileLoop((i) => i.less(x), (i) => (backward(), [[], [i.add(1)]]), [kn.array(0)]); // prettier-ignore
    optimizer.step();
  });
  assert.throws(() => maybe(kn.array(2)), kn.UnsupportedError);
  assert.deepEqual([value(), optimizer.steps], [1, 0]);
});

test('a branch may take the step: afterwards nobody knows, until the next pass', () => {
  const { backward, optimizer, value } = single();
  const guarded = kn.hybridize((isFine: kn.NDArray) => {
    backward();
    kn.cond(isFine, () => (optimizer.step(), []), () => []); // prettier-ignore
  });
  const [yes, no] = [true, false].map((each) => kn.array(each));
  const seen = [yes, no, yes, yes].map((each) => {
    guarded(each);
    return value();
  });
  assert.deepEqual([seen, optimizer.steps], [[-1, -1, -3, -5], 3]);
  assert.throws(() => optimizer.step(), kn.UnsupportedError);
  backward();
  optimizer.step();
  assert.equal(value(), -7);
});

test('both branches pass: a step behind them is taken', () => {
  const { weight, optimizer, value } = single();
  const pass = (scale: number) => (): [] => {
    kn.autograd.record(() => weight.value.mul(scale)).backward();
    return [];
  };
  const step = kn.hybridize((pick: kn.NDArray) => {
    kn.cond(pick, pass(2), pass(4));
    optimizer.step();
    optimizer.step();
  });
  step(kn.array(true));
  step(kn.array(false));
  assert.equal(value(), 1 - 2 - 4);
});

test('explain names the gradient that was not new', () => {
  const { backward, optimizer } = single();
  const other = new kn.nn.Parameter({ shape: [] });
  other.assign(1);
  const both = new kn.optim.SGD(new Map([...optimizer.parameters, ['v', other]]), { learningRate: 1 }); // prettier-ignore
  const step = kn.hybridize(() => both.step());
  backward();
  kn.autograd.record(() => other.value.mul(2)).backward();
  step();
  backward();
  step();
  const { misses } = step.explain();
  assert.deepEqual(
    misses.map(({ guard }) => guard && [guard.kind, guard.expected, guard.actual]),
    [null, ['new gradient', 'written since the last step', 'not written since the last step']],
  );
  assert.equal(other.value.item(), -1);
});

test('a parameter that a step left out resumes from a checkpoint with its own count', () => {
  const prepare = () => {
    const net = new kn.nn.Sequential(
      new kn.nn.Dense(1, { inputs: 1, useBias: false }).initialize(),
      new kn.nn.Dense(1, { inputs: 1, useBias: false }).initialize(),
    );
    for (const { value } of net.parameters().values()) value.assign(kn.ones([1, 1]));
    return { net, optimizer: new kn.optim.Adam(net.parameters(), { learningRate: 0.1 }) };
  };
  const train = (
    { net, optimizer }: ReturnType<typeof prepare>,
    at: number,
    scale: number,
  ): void => {
    const { value } = [...net.parameters().values()][at];
    kn.autograd.record(() => value.mul(scale).sum()).backward();
    optimizer.step();
  };
  const values = ({ net }: ReturnType<typeof prepare>): number[] =>
    [...net.parameters().values()].map(({ value }) => Number(value.item()));
  const whole = prepare();
  for (const at of [0, 0, 1]) train(whole, at, 1);
  const bytes = kn.encodeCheckpoint(whole);
  const resumed = prepare();
  kn.decodeCheckpoint(bytes, resumed);
  for (const run of [whole, resumed]) for (const at of [1, 0]) train(run, at, 3);
  assert.deepEqual(values(resumed), values(whole));
  const [first, second] = [0, 1].map(() => adamOf(0.999, 1e-8));
  const expected = [
    [1, 1, 3].reduce((w, g) => first(w, g), 1),
    [1, 3].reduce((w, g) => second(w, g), 1),
  ];
  assertClose(values(whole), expected, 1e-5);
});

test('assigning to a gradient is writing it, also after captured code has', () => {
  const { weight, optimizer, backward, value } = single();
  weight.grad!.assign(kn.array(0.5));
  optimizer.step();
  const captured = kn.hybridize(backward);
  captured();
  weight.grad!.assign(kn.array(0.25));
  optimizer.step();
  weight.grad!.assign(kn.array(4));
  kn.hybridize(() => optimizer.step())();
  assert.equal(value(), 1 - 0.5 - 0.25 - 4);
});
