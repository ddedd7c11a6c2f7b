import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostArray } from '../../../src/base/dtype.js';
import type { Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import {
  add,
  argmax,
  equal,
  flip,
  greater,
  matmul,
  mul,
  sub,
  sum,
} from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile.js';
import { cpu } from '../../../src/runtime/device.js';
import type { Executable, Operand } from '../../../src/runtime/executable.js';
import { type Trial, tryBeside } from '../../../src/runtime/native/trial.js';
import { Storage } from '../../../src/runtime/storage.js';
import { elementsOf, floats, programOf } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

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
