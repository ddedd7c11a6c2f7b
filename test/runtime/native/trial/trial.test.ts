import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostArray } from '../../../../src/base/dtype.js';
import type { Value } from '../../../../src/ir/program.js';
import type { TensorType } from '../../../../src/ir/types.js';
import {
  add,
  argmax,
  attentionGradient,
  cast,
  equal,
  flip,
  greater,
  matmul,
  mean,
  mul,
  roll,
  slice,
  softmax,
  sub,
  sum,
} from '../../../../src/ops/index.js';
import { compile } from '../../../../src/runtime/compile/compile.js';
import { cpu } from '../../../../src/runtime/memory/device.js';
import type { Executable, Operand } from '../../../../src/runtime/execution/executable.js';
import { type Trial, tryBeside } from '../../../../src/runtime/native/trial/trial.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { elementsOf, floats, programOf } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

type Into = readonly (Storage | null)[] | undefined;

function compiled(
  inputs: Readonly<Record<string, TensorType>>,
  build: (values: Readonly<Record<string, Value>>) => Readonly<Record<string, Value>>,
): Executable {
  return compile(programOf(inputs, build), { tier: 'wasm' });
}

/** Code that does what other code does, and then something to the elements of its first result. */
function altered(of: Executable, change: (elements: HostArray) => void): Executable {
  return {
    program: of.program,
    run: (inputs, into) => {
      const results = of.run(inputs, into);
      change(results[0].storage.host);
      return results;
    },
    release: () => of.release(),
    tiers: () => of.tiers(),
  };
}

function trial(
  old: Executable,
  next: Executable,
  inputs: readonly Operand[],
  into?: Into,
  counts: 'old' | 'next' = 'old',
): Trial {
  return tryBeside({ old, next, device: cpu, inputs, into, counts, ways: 1 });
}

const random = generator(5);

function noise(...shape: number[]): Operand {
  const length = shape.reduce((product, extent) => product * extent, 1);
  return floats(
    shape,
    Array.from({ length }, () => 2 * random() - 1),
  );
}

const float = (...shape: number[]): TensorType => ({ dtype: 'float32', shape });

const [x, w] = [noise(16, 900), noise(900, 8)];
const product = compiled({ x: float(16, 900), w: float(900, 8) }, ({ x: a, w: b }) => ({
  y: matmul(a, b),
}));
const lines = (change: (elements: HostArray) => void): string | null =>
  trial(product, altered(product, change), [x, w]).objection;

test('a sum that is rounded otherwise is the same sum', () => {
  assert.equal(
    lines(() => {}),
    null,
  );
  // Some units in the last place of what is added up, which is more than that of results near zero.
  const off = (elements: HostArray): void => {
    for (let i = 0; i < elements.length; i++) (elements as Float32Array)[i] += ((i % 5) - 2) * 4e-6;
  };
  assert.equal(lines(off), null);
});

test('one term too few in one of many sums is another sum', () => {
  const term = elementsOf(x)[3 * 900 + 7]! as number;
  const missing = (elements: HostArray): void => {
    elements[3 * 8 + 2] = Number(elements[3 * 8 + 2]) - term * Number(elementsOf(w)[7 * 8 + 2]);
  };
  assert.match(lines(missing)!, /^its result y is wrong: element 26 is .* instead of /);
});

test('what is not a number, infinite, or of the wrong sign is wrong', () => {
  for (const value of [NaN, Infinity, 0]) {
    assert.match(
      lines((elements) => void (elements[5] = value))!,
      /wrong: element 5 is/,
    );
  }
  assert.match(
    lines((elements) => void (elements[0] = -Number(elements[0])))!,
    /wrong: element 0/,
  );
});

test('what cancels may come out differently by as much as its terms are uncertain', () => {
  const difference = compiled({ x: float(16, 900) }, ({ x: a }) => ({
    y: sub(sum(mul(a, 3), 1), mul(sum(flip(a, 1), 1), 3)),
  }));
  const by = (error: number): string | null => {
    const next = altered(
      difference,
      (elements) => void (elements[4] = Number(elements[4]) + error),
    );
    return trial(difference, next, [x]).objection;
  };
  assert.equal(by(1e-6), null);
  assert.match(by(0.5)!, /wrong: element 4/);
});

test('what is nothing but rounding may come out differently where all operands are whole numbers, too', () => {
  const whole = floats([16, 900], Array.from({ length: 16 * 900 }, (_, i) => 1 + ((7 * i) % 9))); // prettier-ignore
  const nothing = compiled({ x: float(16, 900) }, ({ x: a }) => ({
    y: sub(sum(mul(a, 0.001), 1), mul(sum(a, 1), 0.001)),
  }));
  const by = (error: number): string | null => {
    const next = altered(nothing, (elements) => void (elements[4] = Number(elements[4]) + error));
    return trial(nothing, next, [whole]).objection;
  };
  assert.equal(by(2e-7), null);
  // One term is a thousandth at least.
  for (const error of [0.001, -0.009]) assert.match(by(error)!, /wrong: element 4/);
});

test('a kernel that divides and takes powers rounds whole numbers, too', () => {
  const four = floats(
    [4, 4],
    Array.from({ length: 16 }, (_, i) => (5 * i) % 3),
  );
  // All keys are equal, so that all gradients of queries are nothing but rounding.
  const ones = floats([4, 4], Array(16).fill(1));
  const types = { q: float(4, 4), k: float(4, 4), v: float(4, 4), g: float(4, 4) };
  const slopes = compiled(types, ({ q, k, v, g }) => ({
    y: attentionGradient<Value>(q, k, v, g, null, { causal: false, scale: null }).q,
  }));
  const by = (error: number): string | null => {
    const next = altered(slopes, (elements) => void (elements[4] = Number(elements[4]) + error));
    return trial(slopes, next, [four, ones, four, four]).objection;
  };
  assert.equal(by(3e-7), null);
  for (const error of [0.01, -0.2]) assert.match(by(error)!, /wrong: element 4/);
});

test('whole numbers that choose excuse nothing', () => {
  const labels = floats([900], Array.from({ length: 900 }, (_, i) => i % 3)); // prettier-ignore
  const chosen = compiled({ l: float(900), x: float(900) }, ({ l, x: a }) => ({
    y: mul(equal(l, 1), a),
  }));
  const next = altered(chosen, (elements) => void (elements[4] = 0));
  assert.match(trial(chosen, next, [labels, noise(900)]).objection!, /wrong: element 4 is 0/);
});

test('integers and truth values are equal, unless the code itself cannot decide', () => {
  const choice = compiled({ x: float(16, 900), w: float(900, 8) }, ({ x: a, w: b }) => ({
    y: argmax(matmul(a, b), 1),
    z: greater(matmul(a, b), 0),
  }));
  const other = altered(choice, (elements) => {
    elements[2] = typeof elements[2] === 'bigint' ? (elements[2] + 1n) % 8n : (elements[2] + 1) % 8;
  });
  assert.match(trial(choice, other, [x, w]).objection!, /^its result y is wrong: element 2/);
  // Columns that are all but equal: which is the greatest is a matter of rounding.
  const columns = elementsOf(w).map((_, i) => Number(elementsOf(w)[i - (i % 8)]));
  const alike = floats(
    [900, 8],
    columns.map((value, i) => value * (1 + (i % 8) * 1e-7)),
  );
  assert.equal(trial(choice, other, [x, alike]).objection, null);
});

for (const isPinned of [false, true]) {
  const where = isPinned ? 'pinned' : 'ordinary';
  const update = compiled({ state: float(40), by: float(40) }, ({ state, by }) => ({
    next: add(state, by),
    total: sum(by),
  }));
  const numbers = Array.from({ length: 40 }, (_, i) => i / 7);
  const by = floats([40], numbers);
  const fresh = (): Storage => {
    const storage = new Storage('float32', Float32Array.from(numbers));
    if (isPinned) storage.pin();
    return storage;
  };
  const expectOnce = (state: Storage): void => {
    for (const [i, value] of [...(state.host as Float32Array)].entries()) {
      assert.ok(Math.abs(value - (2 * i) / 7) < 1e-5, `element ${i}: ${value}`);
    }
  };

  test(`${where} state is updated once, whatever the new code does to it`, () => {
    const failing: Executable = {
      ...altered(update, () => {}),
      run: (inputs, into) => {
        (into![0]!.host as Float32Array).fill(-1);
        throw new Error(`no ${inputs.length}`);
      },
    };
    const codes: readonly [Executable, RegExp | null][] = [
      [altered(update, () => {}), null],
      [altered(update, (elements) => (elements as Float32Array).fill(9)), /result next is wrong/],
      [failing, /^it fails: no 2$/],
    ];
    for (const [next, why] of codes) {
      for (const counts of ['old', 'next'] as const) {
        const state = fresh();
        const into = [state, null];
        const operands = [{ storage: state, shape: [40] }, by];
        const { results, objection } = trial(update, next, operands, into, counts);
        if (why === null) assert.equal(objection, null);
        else assert.match(objection!, why);
        assert.equal(results[0].storage, state);
        expectOnce(state);
        assert.deepEqual(elementsOf(by), elementsOf(floats([40], numbers)));
      }
    }
  });

  test(`${where} state has the results that count`, () => {
    for (const [counts, expected] of [['old', 1], ['next', 1 + 2 ** -20]] as const) {
      const state = fresh();
      (state.host as Float32Array).fill(0.5);
      const halves = floats([40], Array<number>(40).fill(0.5));
      const next = altered(update, (elements) => (elements as Float32Array).fill(1 + 2 ** -20));
      trial(update, next, [{ storage: state, shape: [40] }, halves], [state, null], counts);
      assert.deepEqual([...(state.host as Float32Array)], Array<number>(40).fill(expected));
    }
  }); // prettier-ignore
}

test('a program that refuses operands a little off gives no second opinion, and no error', () => {
  const sums = compiled({ x: { dtype: 'float32', shape: [64] } }, ({ x }) => ({ y: sum(x) }));
  const given = [noise(64)];
  const picky: Executable = {
    ...altered(sums, () => undefined),
    run: (inputs, into) => {
      if (inputs[0].storage !== given[0].storage) throw new RangeError('not these');
      return sums.run(inputs, into);
    },
  };
  const wrong = altered(sums, (elements) => (elements[0] = Number(elements[0]) + 1));
  const { results, objection } = trial(picky, wrong, given);
  assert.match(objection ?? '', /^its result y is wrong: .*; on operands a little off the program fails: not these$/); // prettier-ignore
  assert.deepEqual(elementsOf(results[0]), elementsOf(sums.run(given)[0]));
});

/** Programs by a name, each with operands, and the wrong ones that a fault in a compiler may make of them. */
interface Faults {
  readonly name: string;
  readonly inputs: Readonly<Record<string, TensorType>>;
  readonly operands: readonly Operand[];
  readonly right: Builder;
  /** What roundings may make of it: more where more is summed; 0 for what is decided. */
  readonly rounding: number;
  readonly wrong: Readonly<Record<string, Builder>>;
}

type Builder = (values: Readonly<Record<string, Value>>) => Value;

const [left, right] = [noise(12, 300), noise(12, 300)];
const rows = { x: float(12, 300), y: float(12, 300) };

/** Sums that cancel, gradients that are zero by their formulas, and what is summed for long. */
const faults: readonly Faults[] = [
  {
    name: 'a product',
    inputs: { x: float(16, 900), w: float(900, 8) },
    operands: [x, w],
    rounding: 3e-6,
    right: ({ x, w }) => matmul(x, w),
    wrong: {
      'a missing term': ({ x, w }) => matmul(slice(x, ':', [1]), slice(w, [1])),
      'an index off by one': ({ x, w }) => matmul(roll(x, 1, 1), w),
      'a constant': ({ x, w }) => mul(matmul(x, w), 1.001),
    },
  },
  {
    name: 'a gradient that is zero by its formula',
    inputs: rows,
    operands: [left, right],
    // That of the sum of a softmax.
    rounding: 3e-10,
    right: ({ x, y }) => weighed(softmax(x), add(mul(y, 0), 1)),
    wrong: {
      'a constant': ({ x, y }) => weighed(mul(softmax(x), 1.001), add(mul(y, 0), 1)),
      'a missing term': ({ x, y }) => {
        const weights = softmax(x);
        const ones = add(mul(y, 0), 1);
        return mul(weights, sub(ones, sum(slice(mul(ones, weights), ':', [1]), 1, { keepdims: true }))); // prettier-ignore
      },
    },
  },
  {
    name: 'a mean that is taken away and looked for again',
    inputs: rows,
    operands: [left, right],
    rounding: 3e-8,
    right: ({ x, y }) => mean(mul(sub(x, mean(x, 1, { keepdims: true })), add(mul(y, 0), 3)), 1),
    wrong: {
      'a missing term': ({ x, y }) =>
        mean(mul(sub(x, mean(slice(x, ':', [1]), 1, { keepdims: true })), add(mul(y, 0), 3)), 1),
      'an operand in the place of the other': ({ x, y }) =>
        mean(mul(sub(x, mean(y, 1, { keepdims: true })), add(mul(y, 0), 3)), 1),
      'a constant': ({ x }) => mean(sub(mul(x, 1.0001), mean(x, 1, { keepdims: true })), 1),
    },
  },
  {
    name: 'differences of products',
    inputs: rows,
    operands: [left, right],
    rounding: 3e-6,
    right: ({ x, y }) => sub(sum(mul(x, y), 1), sum(mul(flip(x, 1), flip(y, 1)), 1)),
    wrong: {
      "operands in each other's places": ({ x, y }) =>
        sub(sum(mul(x, y), 1), sum(mul(flip(x, 1), y), 1)),
      'an index off by one': ({ x, y }) =>
        sub(sum(mul(x, y), 1), sum(mul(flip(x, 1), roll(flip(y, 1), 1, 1)), 1)),
      'a missing term': ({ x, y }) =>
        sub(sum(mul(x, y), 1), sum(slice(mul(flip(x, 1), flip(y, 1)), ':', [1]), 1)),
    },
  },
  {
    name: 'what follows from which is greater',
    inputs: rows,
    operands: [left, right],
    rounding: 0,
    right: ({ x, y }) => cast(argmax(sub(x, y), 1), 'float32'),
    wrong: {
      "operands in each other's places": ({ x, y }) => cast(argmax(sub(y, x), 1), 'float32'),
      'an index off by one': ({ x, y }) => cast(add(argmax(sub(x, y), 1), 1), 'float32'),
    },
  },
];

/** The gradient of `sum(weights * g)` through a softmax. */
function weighed(weights: Value, g: Value): Value {
  return mul(weights, sub(g, sum(mul(g, weights), 1, { keepdims: true })));
}

for (const { name, inputs, operands, right, rounding, wrong } of faults) {
  const code = (build: Builder): Executable => compiled(inputs, (values) => ({ r: build(values) }));
  const old = code(right);

  test(`${name}: other roundings are accepted, faults are not`, () => {
    // As far apart as sums in another order are.
    const rounded = altered(old, (elements) => {
      for (let i = 0; i < elements.length; i++)
        elements[i] = Number(elements[i]) + ((i % 3) - 1) * rounding;
    });
    assert.equal(trial(old, rounded, operands).objection, null);
    for (const [fault, build] of Object.entries(wrong))
      assert.match(trial(old, code(build), operands).objection ?? '', /is wrong/, fault);
  });

  test(`${name}: of two results the right one is told, whichever code gives it`, () => {
    if (rounding === 0) return;
    const worse = altered(old, (elements) => {
      for (let i = 0; i < elements.length; i++)
        elements[i] = Number(elements[i]) * 1.006 + 0.001 * ((i % 3) - 1);
    });
    assert.equal(trial(worse, old, operands).objection, null);
    assert.match(trial(old, worse, operands).objection ?? '', /is wrong/);
  });
}

test('a sum of which the old code has lost digits does not keep better code away', () => {
  const length = 300_000;
  const tenths = floats([1, length], Array<number>(length).fill(0.1));
  const ones = floats([length, 1], Array<number>(length).fill(1));
  const total = compiled({ x: float(1, length), w: float(length, 1) }, ({ x: a, w: b }) => ({
    y: matmul(a, b),
  }));
  const lossy = altered(total, (elements) => {
    let added = 0;
    for (let i = 0; i < length; i++) added = Math.fround(added + Math.fround(0.1));
    elements[0] = added;
  });
  const operands = [tenths, ones];
  assert.ok(Math.abs(Number(elementsOf(lossy.run(operands)[0])[0]) / 30_000 - 1) > 1e-4);
  assert.equal(trial(lossy, total, operands).objection, null);
  assert.match(trial(total, lossy, operands).objection!, /result y is wrong/);
});
