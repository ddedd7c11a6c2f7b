import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Transformer } from '../../examples/attention/model.js';
import { Speller } from '../../examples/decoding/model.js';
import { DigitNet } from '../../examples/digits/model.js';
import { batchTrees } from '../../examples/listops/batch.js';
import { drawExpression } from '../../examples/listops/data.js';
import { TreeReader } from '../../examples/listops/model.js';
import { NameReader } from '../../examples/names/model.js';
import { nestedControlFlow, ResidualNet } from '../../examples/shipping/networks.js';
import { seeded } from '../../examples/support/random.js';
import * as kn from '../../src/index.js';
import { registerOnnxruntime } from '../../src/onnxruntime.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { type Margin, marginsByNoise } from '../laws/margins.js';
import { runtimes } from './installed.js';

/* The networks of the examples: the parts that onnxruntime takes run there, all else here, in the same call. */

type Arrays = readonly kn.NDArray[];

/** A network and its inputs. */
interface Case {
  readonly inputs: Arrays;
  readonly call: (...inputs: kn.NDArray[]) => readonly kn.NDArray[];
}

const ints = (high: number, shape: readonly number[]): kn.NDArray => kn.random.randint(0, high, shape).computed(); // prettier-ignore

const networks: Readonly<Record<string, () => Case>> = {
  'digits, convolutions with batch norm': () => {
    const net = new DigitNet().initialize();
    return { inputs: [kn.random.normal([3, 1, 8, 8])], call: (x) => [net.call(x)] };
  },
  'attention, a transformer': () => {
    const net = new Transformer({ size: 8, heads: 2, layers: 2, capacity: 8 }).initialize();
    return { inputs: [ints(12, [2, 6])], call: (x) => [net.call(x)] };
  },
  'names, an LSTM with lengths': () => {
    const net = new NameReader(9, 6).initialize();
    const lengths = kn.array([5, 2, 3], { dtype: 'int32' });
    return { inputs: [ints(9, [3, 5]), lengths], call: (x, n) => [net.call(x, n)] };
  },
  'decoding, a loop over a cell': () => {
    const net = new Speller({ alphabet: 9, languages: 4, size: 6 }).initialize();
    const call = (languages: kn.NDArray, before: kn.NDArray): Arrays => [net.call({ languages, before })]; // prettier-ignore
    return { inputs: [ints(4, [3]), ints(9, [4, 3])], call };
  },
  'listops, trees': () => {
    const net = new TreeReader(6).initialize();
    const draw = seeded(3);
    const batch = batchTrees(Array.from({ length: 3 }, () => drawExpression(draw, { depth: 3, longest: 3 }))); // prettier-ignore
    const { symbols, children, begin, end, roots, values } = batch;
    return {
      inputs: [symbols, children, begin, end, roots],
      call: (...given) => [net.call({ symbols: given[0], children: given[1], begin: given[2], end: given[3], roots: given[4], values })], // prettier-ignore
    };
  },
  'shipping, a residual network': () => {
    const net = new ResidualNet().initialize();
    return { inputs: [kn.random.normal([2, 3, 16, 16])], call: (x) => [net.call(x)] };
  },
  'shipping, a loop and a branch inside of a loop': () => ({
    inputs: [kn.random.normal([4, 3]), kn.array(2)],
    call: (rows, limit) => Object.values(nestedControlFlow(rows, limit)),
  }),
};

/** Networks that onnxruntime has no part of: it is given sub-graphs with a product or a convolution. */
const withoutProducts = new Set(['shipping, a loop and a branch inside of a loop']);

const operandOf = (array: kn.NDArray): Operand => ({ storage: array.computed().storage, shape: array.shape }); // prettier-ignore

/** How far results may be apart: what noise of the size of roundings makes of them (`laws/margins`). */
function marginsOfNetwork({ inputs, call }: Case): readonly Margin[] {
  const captured = kn.hybridize((...given: kn.NDArray[]) => call(...given));
  const { program, reads } = captured.graphFor(...inputs).parts;
  const state = reads.map((read) => {
    assert.ok(read.kind === 'array' && read.of instanceof kn.NDArray);
    return operandOf(read.of);
  });
  const executable = compile(program);
  return marginsByNoise((operands) => executable.run(operands), [...inputs.map(operandOf), ...state], 16); // prettier-ignore
}

for (const { name, runtime, skip } of runtimes) {
  if (runtime !== null) registerOnnxruntime({ name, runtime });
  for (const [title, make] of Object.entries(networks)) {
    test(`${name}: ${title}`, { skip }, async () => {
      kn.random.seed(5);
      const { inputs, call } = make();
      const expected = call(...inputs).map((each) => each.computed());
      const margins = marginsOfNetwork({ inputs, call });
      const captured = kn.hybridize((...given: kn.NDArray[]) => call(...given), { backend: name });
      const results = await Promise.all(captured(...inputs).map((each) => each.cpu()));
      results.forEach((result, k) => {
        const [found, wanted] = [result, expected[k]].map((each) => Array.from(each.dataSync(), Number)); // prettier-ignore
        assert.deepEqual(result.shape, expected[k].shape);
        wanted.forEach((value, i) => {
          const allowed = result.dtype === 'float32' ? margins[k]![i] : 0;
          assert.ok(Math.abs(found[i] - value) <= allowed, `element ${i}: ${found[i]}, not ${value}; ${allowed} is allowed`); // prettier-ignore
        });
      });
      const { parts } = captured.explain().traces[0];
      const there = parts.some(({ backend, runs }) => backend === name && runs > 0);
      assert.equal(there, !withoutProducts.has(title));
    });
  }
}
