import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { benchModule } from './load.js';

type Parameters = Record<string, Float64Array>;
type Sizes = Record<string, unknown>;
interface Loss {
  loss: number;
  gradients(): Parameters;
}
type LossOf = (parameters: Parameters, x: Float64Array, labels: Int32Array, sizes: Sizes) => Loss;
interface Networks {
  transformerShapes(sizes: Sizes): Record<string, number[]>;
  transformerLoss: LossOf;
  convolutionalShapes(sizes: Sizes): Record<string, number[]>;
  convolutionalLoss: LossOf;
  losses(lossOf: (p: Parameters) => Loss, start: Parameters, rate: number, count: number): Float64Array; // prettier-ignore
}
type Operands = [q: Float64Array, k: Float64Array, v: Float64Array];
interface Layers {
  causalAttention(...operands: [...Operands, Record<string, number>]): { y: Float64Array };
}
interface Memory {
  attention(...operands: [...Operands, Record<string, number>]): Float64Array;
}
interface Data {
  randomData(length: number, seed: number, scale?: number): Float32Array;
}

const networks = (await benchModule('reference/networks.mjs')) as Networks;
const { causalAttention } = (await benchModule('reference/layers.mjs')) as Layers;
const { attention } = (await benchModule('reference/memory.mjs')) as Memory;
const { randomData } = (await benchModule('harness/data.mjs')) as Data;

const random = (length: number, seed: number): Float64Array =>
  Float64Array.from(randomData(length, seed, 0.5));
const drawn = (shapes: Record<string, number[]>): Parameters =>
  Object.fromEntries(
    Object.entries(shapes).map(([name, shape], i) => [
      name,
      random(
        shape.reduce((a, b) => a * b, 1),
        i + 5,
      ),
    ]),
  );

/** Some elements of each gradient against central differences of the loss. */
function checkGradients(lossOf: (p: Parameters) => Loss, parameters: Parameters): void {
  const grads = lossOf(parameters).gradients();
  assert.deepEqual(Object.keys(grads).sort(), Object.keys(parameters).sort());
  const step = 1e-5;
  for (const [name, data] of Object.entries(parameters)) {
    for (const at of new Set([0, data.length >> 1, data.length - 1])) {
      const kept = data[at];
      const [up, down] = [step, -step].map((by) => {
        data[at] = kept + by;
        return lossOf(parameters).loss;
      });
      data[at] = kept;
      const slope = (up - down) / (2 * step);
      assert.ok(Math.abs(grads[name][at] - slope) < 1e-8, `${name}[${at}]: ${grads[name][at]}, ${slope}`); // prettier-ignore
    }
  }
}

describe('networks of the references', () => {
  const transformer = { layers: 2, width: 6, heads: 2, hidden: 10, classes: 3, batch: 2, time: 4 };
  const tokens = transformer.batch * transformer.time;
  const x = random(tokens * transformer.width, 1);
  const labels = Int32Array.from({ length: tokens }, (_, i) => (i * 2) % 3);
  const lossOf = (p: Parameters, input = x): Loss =>
    networks.transformerLoss(p, input, labels, transformer);

  it('differentiate a transformer', () => {
    checkGradients(lossOf, drawn(networks.transformerShapes(transformer)));
  });

  it('let positions see none after them, and the last one all', () => {
    const { heads, time, width } = transformer;
    const sizes = { batch: 1, heads, time, width };
    const [q, k, v] = [1, 2, 3].map((seed) => random(time * width, seed));
    const { y } = causalAttention(q, k, v, sizes);
    const later = v.map((value, i) => (i < 2 * width ? value : value + 1));
    const changed = causalAttention(q, k, later, sizes).y;
    assert.deepEqual(changed.slice(0, 2 * width), y.slice(0, 2 * width));
    assert.ok(changed.every((value, i) => i < 2 * width || value !== y[i]));
    const size = width / heads;
    const byHead = (data: Float64Array): Float64Array =>
      data.map((_, i) => data[(Math.floor(i / size) % time) * width + Math.floor(i / size / time) * size + (i % size)]); // prettier-ignore
    const all = attention(byHead(q), byHead(k), byHead(v), { heads, length: time, size });
    for (let i = 0; i < width; i++) {
      const expected = all[(Math.floor(i / size) * time + time - 1) * size + (i % size)];
      assert.ok(Math.abs(y[(time - 1) * width + i] - expected) < 1e-12);
    }
  });

  it('differentiate a convolutional network', () => {
    const sizes = { batch: 2, side: 8, channels: [2, 3, 4], classes: 3 };
    const images = random(2 * 2 * 64, 1);
    checkGradients(
      (p) => networks.convolutionalLoss(p, images, Int32Array.of(2, 1), sizes),
      drawn(networks.convolutionalShapes(sizes)),
    );
  });

  it('descend along the gradient', () => {
    const parameters = drawn(networks.transformerShapes(transformer));
    const [first, second, third] = networks.losses(lossOf, parameters, 0.01, 3);
    assert.equal(first, lossOf(parameters).loss);
    const { loss, gradients } = lossOf(parameters);
    const square = Object.values(gradients()).flatMap((g) => [...g]).reduce((sum, v) => sum + v * v, 0); // prettier-ignore
    assert.ok(Math.abs(loss - second - 0.01 * square) < 0.02 * square * 0.1);
    assert.ok(third < second);
  });
});
