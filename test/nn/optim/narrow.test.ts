import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { makers as make, rules } from './reference.js';

/** Parameters of 16 bits: state and update in float32, one rounding of the weight. */

const digits = { float16: 11, bfloat16: 8 } as const;
const start = [0.5, -1.5, 3, 0.0625];
/** Numbers of both dtypes, whose squares are none of float16: the last overflow, the first vanish. */
const gradients = [
  [1 / 4096, -1.25, 300, 1],
  [1 / 8192, 0.75, 512, -2],
  [-1 / 4096, 1.125, -768, 0.5],
  [1 / 2048, -0.875, 640, 3],
  [1 / 4096, 0.25, 320, -1],
];

/** The distance between floats around a number. */
function ulp(dtype: keyof typeof digits, value: number): number {
  return 2 ** (Math.floor(Math.log2(Math.abs(value))) - digits[dtype] + 1);
}

function prepare(kind: string, dtype: keyof typeof digits, isCaptured: boolean) {
  const weight = new kn.nn.Parameter({ shape: [start.length], dtype });
  weight.assign(start);
  const optimizer = make[kind](new Map([['w', weight]]));
  const plain = (g: kn.NDArray): void => {
    kn.autograd.record(() => weight.value.mul(g).sum()).backward();
    optimizer.step();
  };
  return { weight, optimizer, step: isCaptured ? kn.hybridize(plain) : plain };
}

for (const dtype of ['float16', 'bfloat16'] as const) {
  for (const kind of Object.keys(make)) {
    for (const isCaptured of [false, true]) {
      test(`${kind} trains ${dtype}, ${isCaptured ? 'captured' : 'eagerly'}`, () => {
        const { weight, optimizer, step } = prepare(kind, dtype, isCaptured);
        const plain = start.map(() => rules[kind]());
        for (const [t, row] of gradients.entries()) {
          const before = weight.value.tolist() as number[];
          step(kn.array(row, { dtype }));
          const after = weight.value.tolist() as number[];
          before.forEach((w, i) => {
            const exact = plain[i](w, row[i]);
            // Half a unit is the rounding of the weight, the rest what float32 has rounded.
            const slack = 0.5 * ulp(dtype, exact) + 1e-5 * Math.max(Math.abs(exact), Math.abs(w));
            assert.ok(
              Math.abs(after[i] - exact) <= slack,
              `step ${t + 1}, weight ${i}: ${after[i]} instead of ${exact}`,
            );
          });
        }
        assert.equal(weight.value.dtype, dtype);
        for (const slot of optimizer.state().arrays.values()) assert.equal(slot.dtype, 'float32');
      });
    }
  }

  test(`a checkpoint keeps the state of ${dtype} in float32`, () => {
    class Holder extends kn.nn.Block {
      readonly weight = new kn.nn.Parameter({ shape: [2], dtype });
      forward(x: kn.NDArray): kn.NDArray {
        return x.mul(this.weight.value);
      }
    }
    const run = () => {
      const holder = new Holder();
      holder.weight.assign([1, 2]);
      const optimizer = new kn.optim.Adam(holder.parameters(), { learningRate: 0.1 });
      const step = (): void => {
        const x = kn.array([0.1, 3], { dtype });
        kn.autograd.record(() => holder.call(x).sum()).backward();
        optimizer.step();
      };
      return { net: holder, optimizer, step };
    };
    const whole = run();
    whole.step();
    const resumed = run();
    kn.decodeCheckpoint(kn.encodeCheckpoint(whole), resumed);
    const state = ({ net: { weight }, optimizer }: ReturnType<typeof run>): unknown => [
      weight.value.tolist(),
      [...optimizer.state().arrays].map(([name, slot]) => [name, slot.dtype, slot.tolist()]),
    ];
    assert.deepEqual(state(resumed), state(whole));
    for (const each of [whole, resumed]) each.step();
    assert.deepEqual(state(resumed), state(whole));
  });

  test(`the norm of ${dtype} gradients is that of float32`, () => {
    const weight = new kn.nn.Parameter({ shape: [2], dtype });
    weight.assign([1, 1]);
    const all = new Map([['w', weight]]);
    kn.autograd.record(() => weight.value.mul(kn.array([384, 512], { dtype })).sum()).backward();
    const norm = kn.optim.clipGlobalNorm(all, 320);
    assert.deepEqual([norm.item(), norm.dtype], [640, 'float32']);
    assert.deepEqual(weight.grad!.tolist(), [192, 256]);
  });
}
