import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addDim, symbol } from '../../../src/base/dim/index.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { add, clip, cond, foreach, greater, matmul, mean, mul, neg, slice, sub, swapaxes } from '../../../src/ops/index.js'; // prettier-ignore
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { Inspectable, Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { elementsOf, programOf } from '../../support/programs.js';
import { program } from '../threads/corpus.js';

/** Sizes at which WebAssembly copies panels of weights. */
const [m, k, n] = [125, 130, 140];
const weightBytes = 4 * k * n;
const inputs = {
  x: { dtype: 'float32', shape: [m, k] },
  w: { dtype: 'float32', shape: [k, n] },
} as const;
const product = programOf(inputs, ({ x, w }) => ({ y: matmul(x, w) }));

/** Small whole numbers, so that products are exact in any order. */
function whole(shape: readonly number[], seed: number): Operand {
  const length = shape.reduce((size, extent) => size * extent, 1);
  const elements = Float32Array.from({ length }, (_, i) => ((i * 7919 + seed * 31) % 11) - 5);
  return { storage: new Storage('float32', elements), shape };
}

/** The product by definition. */
function productOf(x: Operand, w: Operand): number[] {
  const [a, b] = [x.storage.host, w.storage.host] as Float32Array[];
  const [m, k] = x.shape;
  const [, n] = w.shape;
  const sums = Array<number>(m * n).fill(0);
  for (let row = 0; row < m; row++)
    for (let i = 0; i < k; i++) {
      const left = a[row * k + i];
      for (let column = 0; column < n; column++) sums[row * n + column] += left * b[i * n + column];
    }
  return sums;
}

/** An executable on a device of its own, and how to see what it keeps. */
function onDevice(program: Program, options: ConstructorParameters<typeof Device>[0] = {}) {
  const device = new Device(options);
  const executable = compile(program, { device, tier: 'wasm' });
  return { device, run: (...given: readonly Operand[]) => executable.run(given), executable };
}

describe('weights that stay the same', () => {
  test('are copied once they have been the same twice, and read from there', () => {
    const { device, run } = onDevice(product);
    const [x, other, w] = [whole([m, k], 1), whole([m, k], 2), whole([k, n], 3)];
    w.storage.pin(device);
    const kept: number[] = [];
    for (const left of [x, other, x, other]) {
      assert.deepEqual(elementsOf(run(left, w)[0]), productOf(left, w));
      kept.push(device.residents.bytes);
    }
    assert.deepEqual(kept, [0, weightBytes, weightBytes, weightBytes]);
  });

  test('are known by what they are, however they are changed', () => {
    const { run, device } = onDevice(product);
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    const { storage } = w;
    const another = (seed: number): Float32Array => whole([k, n], seed).storage.host as Float32Array; // prettier-ignore
    const changes: Readonly<Record<string, () => void>> = {
      'new elements': () => storage.write(another(4)),
      'other elements in the same array': () => storage.fill(another(5)),
      pinned: () => storage.pin(device),
      'new elements, pinned': () => storage.write(another(6)),
      'other elements, pinned': () => storage.fill(another(7)),
      'no longer pinned': () => storage.unpin(),
    };
    for (const [what, change] of Object.entries(changes)) {
      for (let i = 0; i < 4; i++) assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w), what);
      change();
      for (let i = 0; i < 4; i++) assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w), what);
    }
  });

  test('may be written by other programs, where they are or as a result they take over', () => {
    const { run, executable, device } = onDevice(product);
    const [x, w, difference] = [whole([m, k], 1), whole([k, n], 3), whole([k, n], 4)];
    const types = { w: inputs.w, d: inputs.w };
    const update = compile(programOf(types, ({ w, d }) => ({ w: sub(w, d) })), { device, replaced: [0], tier: 'wasm' }); // prettier-ignore
    for (const isPinned of [false, true]) {
      if (isPinned) w.storage.pin(device);
      for (let step = 0; step < 4; step++) {
        for (let i = 0; i < 3; i++) {
          assert.deepEqual(elementsOf(executable.run([x, w])[0]), productOf(x, w));
        }
        const before = elementsOf(w) as number[];
        update.run([w, difference], [w.storage]);
        assert.notDeepEqual(elementsOf(w), before);
        assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
      }
    }
  });

  test('cost no memory where they change with every run, as in training', () => {
    const { run, device } = onDevice(product);
    const x = whole([m, k], 1);
    for (let step = 0; step < 4; step++) {
      const w = whole([k, n], step);
      assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
    }
    assert.equal(device.residents.bytes, 0);
    const trained = programOf(inputs, ({ x, w }) => ({ y: mean(matmul(x, w)), w: mul(w, 2) }));
    const step = compile(trained, { device, replaced: [null, 1], tier: 'wasm' });
    const w = whole([k, n], 0);
    for (let at = 0; at < 4; at++) {
      const expected = productOf(x, w).reduce((sum, y) => sum + y, 0) / (m * n);
      const [y] = step.run([x, w], [null, w.storage]);
      assert.ok(
        Math.abs((elementsOf(y)[0] as number) - expected) < 1e-3 * (1 + Math.abs(expected)),
      );
    }
    assert.equal(device.residents.bytes, 0);
  });

  test('of which two take turns are not kept, and not mixed up', () => {
    const { run } = onDevice(product);
    const x = whole([m, k], 1);
    const weights = [whole([k, n], 3), whole([k, n], 4)];
    for (const at of [0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0])
      assert.deepEqual(elementsOf(run(x, weights[at])[0]), productOf(x, weights[at]));
  });

  test('give way to whatever else needs memory, and come back', () => {
    const { run, device } = onDevice(product);
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    w.storage.pin(device);
    for (let i = 0; i < 3; i++) run(x, w);
    assert.equal(device.residents.bytes, weightBytes);
    assert.ok(device.residents.evict());
    assert.equal(device.residents.bytes, 0);
    for (let i = 0; i < 3; i++) assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
    assert.equal(device.residents.bytes, weightBytes);
  });

  test('stay where they are on a device on which nothing is to stay', () => {
    const { run, device } = onDevice(product, { residentBytes: weightBytes - 1 });
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    for (let i = 0; i < 4; i++) assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
    assert.equal(device.residents.bytes, 0);
  });

  test('are let go with the executable', () => {
    const { run, device, executable } = onDevice(product);
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    w.storage.pin(device);
    for (let i = 0; i < 3; i++) run(x, w);
    executable.release();
    assert.equal(device.residents.bytes, 0);
  });

  test('are looked at anew after a run that was refused', () => {
    const { run, device } = onDevice(product);
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    w.storage.pin(device);
    run(x, w);
    assert.throws(() => run(whole([m, k + 1], 1), w), /inner|shape|k/i);
    assert.throws(() => run(whole([m, k + 1], 1), w));
    for (let i = 0; i < 3; i++) assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
    assert.equal(device.residents.bytes, weightBytes);
  });

  test('that are constants are kept from the first run on', () => {
    const w = whole([k, n], 3);
    const program = programOf({ x: inputs.x }, ({ x }, into) => ({
      y: matmul(x, into.constant({ type: inputs.w, data: w.storage.host })),
    }));
    const { run, device } = onDevice(program);
    for (let i = 1; i < 4; i++) {
      const x = whole([m, k], i);
      assert.deepEqual(elementsOf(run(x)[0]), productOf(x, w));
      assert.equal(device.residents.bytes, weightBytes);
    }
  });

  test('may be computed on the way, from steady operands alone', () => {
    const types = { ...inputs, w: { dtype: 'float32', shape: [n, k] }, b: inputs.w } as const;
    const program = programOf(types, ({ x, w, b }) => ({ y: matmul(x, add(swapaxes(w, 0, 1), b)) })); // prettier-ignore
    const { run } = onDevice(program);
    const [x, w] = [whole([m, k], 1), whole([n, k], 2)];
    const turned = Float32Array.from({ length: k * n }, (_, i) => w.storage.host[(i % n) * k + Math.floor(i / n)] as number); // prettier-ignore
    for (const b of [3, 3, 3, 3, 4, 4, 4].map((seed) => whole([k, n], seed))) {
      const sums = turned.map((value, i) => value + (b.storage.host[i] as number));
      const weights: Operand = { storage: new Storage('float32', sums), shape: [k, n] };
      assert.deepEqual(elementsOf(run(x, w, b)[0]), productOf(x, weights));
    }
  });

  test('are other ones where a size of the run decides which they are', () => {
    const s = symbol('s');
    const types = { x: inputs.x, all: { dtype: 'float32', shape: [k + 9, n] }, some: { dtype: 'float32', shape: [s] } } as const; // prettier-ignore
    const program = programOf(types, ({ x, all, some }) => ({
      y: matmul(x, slice(all, [s, addDim(s, k)])),
      z: neg(some),
    }));
    const { run, device } = onDevice(program);
    const [x, all] = [whole([m, k], 1), whole([k + 9, n], 2)];
    all.storage.pin(device);
    for (const size of [3, 3, 3, 3, 5, 5, 5, 0, 3]) {
      const rows = all.storage.host.slice(size * n, (size + k) * n);
      const w: Operand = { storage: new Storage('float32', rows), shape: [k, n] };
      assert.deepEqual(elementsOf(run(x, all, whole([size], 1))[0]), productOf(x, w));
    }
  });

  test('are there once for all products of a kind that read them', () => {
    const square = { dtype: 'float32', shape: [130, 130] } as const;
    const program = programOf({ x: square, w: square }, ({ x, w }) => ({ y: matmul(matmul(x, w), w) })); // prettier-ignore
    const { run, device } = onDevice(program);
    const w = whole([130, 130], 3);
    w.storage.pin(device);
    const small = Array.from({ length: 4 }, (_, seed) => whole([130, 130], seed));
    for (const x of small) {
      const once = productOf(x, w);
      const between = { storage: new Storage('float32', Float32Array.from(once)), shape: [130, 130] }; // prettier-ignore
      assert.deepEqual(elementsOf(run(x, w)[0]), productOf(between, w));
    }
    assert.equal(device.residents.bytes, 4 * 130 * 130);
  });

  test('that are different constants are told apart', () => {
    const square = { dtype: 'float32', shape: [130, 130] } as const;
    const [u, v] = [whole([130, 130], 3), whole([130, 130], 4)];
    const program = programOf({ x: square }, ({ x }, into) => {
      const [a, b] = [u, v].map(({ storage }) => into.constant({ type: square, data: storage.host })); // prettier-ignore
      return { y: matmul(matmul(x, a), b) };
    });
    const { run } = onDevice(program);
    for (const x of [1, 2, 3].map((seed) => whole([130, 130], seed))) {
      const once = Float32Array.from(productOf(x, u));
      const between = { storage: new Storage('float32', once), shape: [130, 130] };
      assert.deepEqual(elementsOf(run(x)[0]), productOf(between, v));
    }
  });

  test('belong to one size of the others: each executable keeps its own', () => {
    const { device, run } = onDevice(product);
    const half = compile(
      programOf({ ...inputs, x: { dtype: 'float32', shape: [m, k] } }, ({ x, w }) => ({ y: mul(matmul(x, w), 2) })), // prettier-ignore
      { device, tier: 'wasm' },
    );
    const [x, w] = [whole([m, k], 1), whole([k, n], 3)];
    w.storage.pin(device);
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(elementsOf(run(x, w)[0]), productOf(x, w));
      assert.deepEqual(
        elementsOf(half.run([x, w])[0]),
        productOf(x, w).map((y) => 2 * y),
      );
    }
    assert.equal(device.residents.bytes, 2 * weightBytes);
  });
});

describe('weights of a loop', () => {
  /** More than are unrolled. */
  const steps = 10;
  const [m, k] = [125, 130];
  const clamped = (x: Value): Value => clip<Value>(x, -3, 3);
  const next = (h: Value, w: Value): Value => clamped(matmul<Value>(h, w));
  const nextOf = (h: readonly number[], w: readonly number[]): number[] => {
    const operand = (elements: readonly number[], shape: readonly number[]): Operand => ({ storage: new Storage('float32', Float32Array.from(elements)), shape }); // prettier-ignore
    const y = productOf(operand(h, [m, k]), operand(w, [k, k]));
    return y.map((value) => Math.min(3, Math.max(-3, value)));
  };
  const numbers = (operand: Operand): number[] => elementsOf(operand) as number[];

  const start = whole([m, k], 1);
  const [first, second] = [whole([k, k], 3), whole([k, k], 4)];
  const float = (shape: readonly number[]): readonly [shape: readonly number[]] => [shape];
  const rows = whole([steps, m, k], 5);

  /** Whether there is room for all panels for as long as a loop runs. */
  function keepsInLoop({ executable }: ReturnType<typeof onDevice>): boolean {
    return (executable as Inspectable).parts().some(({ plan }) =>
      plan.places.some(({ role, length, first, last }) => {
        const isForPanels = role.kind === 'scratch' && role.name === 'panels';
        return isForPanels && length === k * k && first < last;
      }),
    );
  }

  test('are copied in the first iteration of each run', () => {
    const cell = program([float([m, k]), float([m, k]), float([k, k])], ([x, h, w]) => [
      next(add<Value>(x, h), w),
    ]);
    const looped = program([float([steps, m, k]), float([m, k]), float([k, k])], ([xs, h, w]) => [
      ...foreach<Value>(cell, { data: [xs], states: [h], captures: [w] }),
    ]);
    const made = onDevice(looped);
    assert.ok(keepsInLoop(made));
    for (const w of [first, first, second, first]) {
      let h = numbers(start);
      for (let step = 0; step < steps; step++) {
        const x = numbers(rows).slice(step * m * k, (step + 1) * m * k);
        h = nextOf(
          x.map((value, at) => value + h[at]),
          numbers(w),
        );
      }
      assert.deepEqual(elementsOf(made.run(rows, start, w)[0]), h);
    }
  });

  test('are copied again where a loop around changes them', () => {
    for (const isState of [true, false]) {
      const inner = program([float([m, k]), float([m, k]), float([k, k])], ([x, h, w]) => [
        next(add<Value>(x, h), w),
      ]);
      // The weights are a state, or computed in the loop around.
      const outer = program(
        [float([k, k]), float([m, k]), float([k, k]), float([steps, m, k])],
        ([change, h, w, xs]) => {
          const weights = isState ? w : sub<Value>(w, change);
          const [state] = foreach<Value>(inner, { data: [xs], states: [h], captures: [weights] });
          return [state, add<Value>(w, change)];
        },
      );
      const nested = program(
        [float([steps, k, k]), float([m, k]), float([k, k]), float([steps, m, k])],
        ([changes, h, w, xs]) =>
          foreach<Value>(outer, { data: [changes], states: [h, w], captures: [xs] }),
      );
      const made = onDevice(nested);
      assert.equal(keepsInLoop(made), !isState);
      const changes = whole([steps, k, k], 6);
      let h = numbers(start);
      let w = numbers(first);
      for (let turn = 0; turn < steps; turn++) {
        const changed = w.map((value, at) => value - (changes.storage.host[turn * k * k + at] as number)); // prettier-ignore
        for (let step = 0; step < steps; step++) {
          const x = numbers(rows).slice(step * m * k, (step + 1) * m * k);
          h = nextOf(
            x.map((value, at) => value + h[at]),
            isState ? w : changed,
          );
        }
        w = w.map((value, at) => 2 * value - changed[at]);
      }
      for (let again = 0; again < 2; again++) {
        const [state, weights] = made.run(changes, start, first, rows);
        assert.deepEqual(elementsOf(state), h);
        assert.deepEqual(elementsOf(weights), w);
      }
    }
  });

  test('are there from the first iteration on that needs them', () => {
    const yes = program([float([m, k]), float([k, k])], ([h, w]) => [next(h, w)]);
    const no = program([float([m, k]), float([k, k])], ([h]) => [neg<Value>(h)]);
    const cell = program([float([]), float([m, k]), float([k, k])], ([flag, h, w], into) => {
      const zero = into.constant({ type: { dtype: 'float32', shape: [] }, data: Float32Array.of(0) }); // prettier-ignore
      return cond<Value>(greater<Value>(flag, zero), yes, no, [h, w]);
    });
    const looped = program([float([12]), float([m, k]), float([k, k])], ([flags, h, w]) => [
      ...foreach<Value>(cell, { data: [flags], states: [h], captures: [w] }),
    ]);
    const made = onDevice(looped);
    assert.ok(keepsInLoop(made));
    const never = Array.from({ length: 12 }, () => 0);
    const late = never.map((_, at) => (at > 2 && at % 3 !== 0 ? 1 : 0));
    for (const pattern of [late, never, never.map(() => 1), late]) {
      // prettier-ignore
      const flags: Operand = { storage: new Storage('float32', Float32Array.from(pattern)), shape: [12] }; // prettier-ignore
      for (const w of [first, second]) {
        let h = numbers(start);
        for (const flag of pattern) h = flag > 0 ? nextOf(h, numbers(w)) : h.map((value) => -value);
        assert.deepEqual(
          elementsOf(made.run(flags, start, w)[0]).map(Number),
          h.map((v) => v + 0),
        );
      }
    }
  });
});
