import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';
import { differences } from '../../front/support.js';
import { assertClose } from '../../support/close.js';
import {
  data,
  flat,
  type Kind,
  kinds,
  type Layer,
  layerOf,
  statesFor,
} from './recurrent-reference.js';

const { autograd } = kn;
const channels = 2;
const size = 2;
const batch = 3;
const time = 3;
const options = { layers: 2, bidirectional: true };
const lengths = [2, 0, 3];

type Inputs = readonly kn.NDArray[];

/** A number that depends on all outputs and final states in different ways. */
function objective(layer: Layer, [x, ...states]: Inputs, isPacked: boolean): kn.NDArray {
  const given = isPacked ? { states, lengths: kn.array(lengths, { dtype: 'int32' }) } : { states };
  const [outputs, ends] = layer.call(x, given);
  return ends.reduce(
    (sum, end, k) =>
      sum.add(
        end
          .sin()
          .mul(k + 2)
          .sum(),
      ),
    outputs.square().sum(),
  );
}

function inputsFor(layer: Layer): Inputs {
  kn.random.seed(4);
  return [data([batch, time, channels]), ...statesFor(layer, batch)];
}

for (const kind of kinds) {
  for (const isPacked of [false, true]) {
    const what = `${kind}${isPacked ? ' with lengths' : ''}`;
    for (const hybridized of [false, true]) {
      test(`gradients are finite differences: ${what}, ${hybridized ? 'captured' : 'eager'}`, () => {
        const layer = layerOf(kind, size, channels, options);
        const inputs = inputsFor(layer);
        const plain = layerOf(kind, size, channels, options);
        if (hybridized) layer.hybridize();
        inputs.forEach((input) => input.attachGrad());
        autograd.record(() => objective(layer, inputs, isPacked)).backward();

        inputs.forEach((input, k) => {
          const moved = (value: kn.NDArray): kn.NDArray =>
            objective(plain, inputs.with(k, value.reshape(input.shape)), isPacked);
          assertClose(flat(input.grad!), differences(moved, flat(input)), 1e-6, `input ${k}`);
        });
        const parameters = plain.parameters();
        for (const [name, { grad }] of layer.parameters()) {
          const parameter = parameters.get(name)!;
          const { value, shape } = parameter;
          const at = flat(value);
          const moved = (point: kn.NDArray): kn.NDArray => {
            parameter.assign(point.reshape(shape as number[]));
            return objective(plain, inputs, isPacked);
          };
          assertClose(flat(grad!), differences(moved, at), 1e-6, name);
          parameter.assign(kn.array(at, { dtype: 'float64', shape: shape as number[] }));
        }
      });
    }
  }

  test(`gradients are those of a loop over cells: ${kind}`, () => {
    const layer = layerOf(kind, size, channels);
    const [x] = inputsFor(layer);
    x.attachGrad();
    const observe = (run: () => kn.NDArray): number[][] => {
      autograd.record(() => run().square().sum()).backward();
      return [x, ...[...layer.parameters().values()].map(({ value }) => value)].map(({ grad }) =>
        flat(grad!),
      );
    };
    const [cell] = layer.cells;
    const unrolled = observe(() => {
      let states = cell.beginState(batch).map((state) => state.astype('float64'));
      const outputs = Array.from({ length: time }, (_, t) => {
        const [output, next] = cell.call(x.slice(':', t), states);
        states = next;
        return output;
      });
      return kn.stack(outputs, 1);
    });
    const looped = observe(() => layer.call(x)[0]);
    layer.hybridize();
    const captured = observe(() => layer.call(x)[0]);
    unrolled.forEach((expected, k) => {
      assertClose(looped[k], expected, 1e-12);
      assertClose(captured[k], expected, 1e-12);
    });
  });

  test(`a whole captured step trains like the eager one, with and without lengths: ${kind}`, () => {
    const make = (): { layer: Layer; step: (x: kn.NDArray, lengths: kn.NDArray) => kn.NDArray } => {
      const layer = layerOf(kind, size, channels, options);
      const optimizer = new kn.optim.Adam(layer.parameters(), { learningRate: 0.01 });
      const step = (x: kn.NDArray, given: kn.NDArray): kn.NDArray => {
        const loss = autograd.record(() => {
          const [packed] = layer.call(x, { lengths: given });
          const [full, ends] = layer.call(x);
          return packed.square().sum().add(full.sin().sum()).add(ends[0].sum());
        });
        loss.backward();
        optimizer.step();
        return loss;
      };
      return { layer, step };
    };
    const [eager, captured] = [make(), make()];
    const step = kn.hybridize(captured.step);
    kn.random.seed(7);
    for (const given of [
      [3, 1, 2],
      [0, 3, 3],
      [2, 2, 2],
      [0, 0, 0],
    ]) {
      const x = data([batch, time, channels]);
      const steps = kn.array(given, { dtype: 'int32' });
      assertClose([Number(step(x, steps).item())], [Number(eager.step(x, steps).item())], 1e-10);
    }
    const values = ({ layer }: typeof eager): number[] =>
      [...layer.parameters().values()].flatMap(({ value }) => flat(value));
    assertClose(values(captured), values(eager), 1e-8);
    assert.equal(step.explain().traces.length, 1);
  });
}

for (const hybridized of [false, true]) {
  test(`what stands in the padding reaches nothing, ${hybridized ? 'captured' : 'eager'}`, () => {
    const observe = (kind: Kind, padding: number): number[] => {
      const layer = layerOf(kind, size, channels, options);
      const [x, ...states] = inputsFor(layer);
      const exists = kn.arange(time, { dtype: 'int32' }).less(kn.array(lengths).expandDims(1));
      const padded = kn.where(exists.expandDims(-1), x, padding);
      padded.attachGrad();
      if (hybridized) layer.hybridize();
      const loss = autograd.record(() => objective(layer, [padded, ...states], true));
      loss.backward();
      const gradients = [...layer.parameters().values()].map(({ grad }) => grad!);
      return [loss, padded.grad!, ...gradients].flatMap(flat);
    };
    for (const kind of kinds) {
      const expected = observe(kind, 0);
      assert.ok(expected.every(Number.isFinite));
      for (const padding of [NaN, Infinity, 1e300]) {
        assert.deepEqual(observe(kind, padding), expected);
      }
    }
  });
}
