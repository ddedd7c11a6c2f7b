import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/index.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';

type Shape = readonly Dim[];
type Input = readonly [shape: Shape, dtype?: DType];

/** A program, and what to run it on; more than one list where sizes differ. */
export interface Case {
  readonly name: string;
  readonly program: Program;
  readonly operands: readonly (readonly Operand[])[];
}

/** A program of its own: inputs by shape, outputs from a function. */
export function program(
  inputs: readonly Input[],
  body: (values: readonly Value[], into: Program) => readonly Value[],
): Program {
  const into = new Program();
  const values = inputs.map(([shape, dtype = 'float32'], k) =>
    into.variable(`x${k}`, { dtype, shape }),
  );
  into.setOutputs(body(values, into).map((value, k) => ({ name: `y${k}`, value })));
  return into;
}

/** Numbers that look random and are the same each time. */
export function given(shape: readonly number[], seed: number, dtype: DType = 'float32'): Operand {
  const length = shape.reduce((product, extent) => product * extent, 1);
  const at = (i: number): number => Math.fround(Math.sin(i * 12.9898 + seed * 78.233) * 2);
  if (dtype === 'int64') {
    return { storage: new Storage(dtype, BigInt64Array.from({ length }, (_, i) => BigInt(seed + i))), shape }; // prettier-ignore
  }
  if (dtype === 'int32') {
    return { storage: new Storage(dtype, Int32Array.from({ length }, (_, i) => Math.abs(Math.trunc(at(i) * 100)))), shape }; // prettier-ignore
  }
  return {
    storage: new Storage(
      'float32',
      Float32Array.from({ length }, (_, i) => at(i)),
    ),
    shape,
  };
}

const number = (into: Program, value: number, dtype: 'float32' | 'int32' = 'float32'): Value =>
  into.constant({
    type: { dtype, shape: [] },
    data: dtype === 'float32' ? Float32Array.of(value) : Int32Array.of(value),
  });

/** A case whose inputs have these shapes. */
function known(
  name: string,
  shapes: readonly (readonly number[])[],
  body: (values: readonly Value[], into: Program) => readonly Value[],
): Case {
  const operands = shapes.map((shape, k) => given(shape, k + 1));
  return { name, program: program(shapes.map((shape) => [shape]), body), operands: [operands] }; // prettier-ignore
}

const n = symbol('n');

/** A recurrent step whose product is worth dividing. */
const cell = program([[[5, 33]], [[5, 33]], [[33, 33]]], ([x, h, w]) => {
  const next = ops.tanh<Value>(ops.add<Value>(x, ops.matmul<Value>(h, w)));
  return [next, next];
});

/** One whose weights are turned, and kept while the loop runs. */
const wideCell = program([[[32, 260]], [[32, 260]], [[260, 260]]], ([x, h, w]) => {
  const turned = ops.swapaxes<Value>(w, 0, 1);
  const next = ops.tanh<Value>(ops.add<Value>(x, ops.matmul<Value>(h, turned)));
  return [next, next];
});

const [someWeights, otherWeights] = [given([170, 97], 7), given([170, 97], 8)];
const weightsInTurn = [someWeights, someWeights, someWeights, someWeights, otherWeights, otherWeights, otherWeights, someWeights]; // prettier-ignore

const counted = program([[[], 'int32'], [[40, 30]]], ([i], into) => [
  ops.less<Value>(i, number(into, 5, 'int32')),
]);
const rotated = program([[[], 'int32'], [[40, 30]]], ([i, x], into) => [
  ops.add<Value>(i, number(into, 1, 'int32')),
  ops.add<Value>(ops.transpose<Value>(ops.reshape<Value>(x, [30, 40])), ops.mul<Value>(x, number(into, 0.5))), // prettier-ignore
]);

const larger = program([[[70, 9]], [[70, 9]]], ([x, y]) => [
  ops.mul<Value>(x, y),
  ops.sum<Value>(y, 1),
]);
const smaller = program([[[70, 9]], [[70, 9]]], ([x, y]) => [
  ops.softmax<Value>(y, 1),
  ops.sum<Value>(ops.add<Value>(x, y), 1),
]);

/** Scalars change places while rows are computed beside them. */
const turning = program([[[3, 200]], [[200]], [[200]]], ([x, a, b]) => {
  const row = ops.sum<Value>(x, 0);
  return [ops.mul<Value>(row, a), b, ops.add<Value>(a, row)];
});

/** Programs of every kind of kernel and of control, of sizes that no number of threads divides. */
export const corpus: readonly Case[] = [
  known('elementwise', [[1013], [1013]], ([x, y]) => [
    ops.add<Value>(ops.tanh<Value>(ops.mul<Value>(x, y)), x),
  ]),
  known('two results of one kernel', [[37, 29]], ([x]) => [
    ops.exp<Value>(x),
    ops.mul<Value>(ops.exp<Value>(x), x),
  ]),
  known('a chain with a transposition', [[131, 97]], ([x]) => [
    ops.add<Value>(ops.transpose<Value>(ops.exp<Value>(x)), ops.transpose<Value>(x)),
  ]),
  known('sums along both axes', [[61, 83]], ([x]) => [
    ops.sum<Value>(x, 1),
    ops.sum<Value>(x, 0),
    ops.max<Value>(ops.sum<Value>(x, 0)),
  ]),
  known('sums over outer axes of many columns', [[7, 5, 300]], ([x]) => [
    ops.sum<Value>(x, [0, 1]),
    ops.sum<Value>(x, 1),
  ]),
  known('sums of several blocks', [[403, 3, 130]], ([x]) => [
    ops.sum<Value>(x, 0),
    ops.sum<Value>(x, [0, 2]),
    ops.var<Value>(x, [0, 1]),
    ops.sum<Value>(x, [1, 2]),
  ]),
  known('softmax', [[45, 67]], ([x]) => [ops.softmax<Value>(x, 1), ops.softmax<Value>(x, 0)]),
  known(
    'layer norm and product',
    [
      [33, 50],
      [50, 41],
    ],
    ([x, w]) => [
      ops.relu<Value>(ops.matmul<Value>(ops.layerNorm<Value>(x, ops.sum<Value>(x, 0), ops.sum<Value>(x, 0)), w)), // prettier-ignore
    ],
  ),
  known(
    'products',
    [
      [67, 71],
      [71, 53],
    ],
    ([x, y]) => [
      ops.matmul<Value>(x, y),
      ops.matmul<Value>(ops.transpose<Value>(y), ops.transpose<Value>(x)),
    ],
  ),
  known(
    'a packed product',
    [
      [131, 150],
      [150, 141],
    ],
    ([x, y]) => [ops.matmul<Value>(x, y)],
  ),
  known(
    'products of few rows',
    [
      [3, 301],
      [301, 515],
    ],
    ([x, y]) => [ops.matmul<Value>(x, y)],
  ),
  known(
    'products of a batch',
    [
      [5, 13, 17],
      [5, 17, 11],
    ],
    ([x, y]) => [ops.matmul<Value>(x, y)],
  ),
  known('a product with a vector', [[203, 101], [101]], ([x, y]) => [ops.matmul<Value>(x, y)]),
  known(
    'a convolution',
    [
      [2, 3, 17, 19],
      [5, 3, 3, 3],
    ],
    ([x, w]) => [ops.conv2d<Value>(x, w, { padding: 1 })],
  ),
  known(
    'a convolution and pooling',
    [
      [3, 4, 12, 12],
      [6, 4, 3, 3],
    ],
    ([x, w]) => [ops.maxPool2d<Value>(ops.relu<Value>(ops.conv2d<Value>(x, w)), 2)],
  ),
  known('sorts and scans', [[23, 47]], ([x]) => [
    ops.cumsum<Value>(x, 1),
    ops.sort<Value>(x, 1),
    ops.argmax<Value>(x, 1),
  ]),
  known(
    'pieces put together',
    [
      [19, 31],
      [19, 12],
    ],
    ([x, y]) => [
      ops.concat<Value>([x, y, x], 1),
      ops.exp<Value>(ops.pad<Value>(x, [[2, 3], [1, 0]])), // prettier-ignore
    ],
  ),
  {
    name: 'random numbers',
    program: program([[[2], 'int64']], ([state]) => [
      ops.randomUniform<Value>(state, [500]),
      ops.randomNormal<Value>(state, [33, 31]),
    ]),
    operands: [[given([2], 5, 'int64')]],
  },
  {
    name: 'sizes that are known late',
    program: program([[[n, 40]], [[40, 23]]], ([x, w]) => [
      ops.softmax<Value>(ops.matmul<Value>(x, w), 1),
      ops.sum<Value>(ops.tanh<Value>(x), 0),
      ops.add<Value>(x, x),
    ]),
    operands: [0, 1, 2, 5, 64, 151].map((size) => [given([size, 40], 1), given([40, 23], 2)]),
  },
  {
    name: 'a recurrence',
    program: program([[[n, 5, 33]], [[5, 33]], [[33, 33]]], ([x, h, w]) =>
      ops.foreach<Value>(cell, { data: [x], states: [h], captures: [w] }),
    ),
    operands: [0, 1, 7].map((steps) => [
      given([steps, 5, 33], 1),
      given([5, 33], 2),
      given([33, 33], 3),
    ]),
  },
  {
    name: 'a recurrence with weights of some size',
    program: program([[[n, 32, 260]], [[32, 260]], [[260, 260]]], ([x, h, w]) =>
      ops.foreach<Value>(wideCell, { data: [x], states: [h], captures: [w] }),
    ),
    operands: [0, 2].map((steps) => [
      given([steps, 32, 260], steps),
      given([32, 260], 3),
      given([260, 260], 4),
    ]),
  },
  {
    name: 'weights that stay the same for some runs',
    program: program([[[17, 97]], [[170, 97]]], ([x, w]) => [
      ops.matmul<Value>(x, ops.swapaxes<Value>(w, 0, 1)),
    ]),
    operands: weightsInTurn.map((w, at) => [given([17, 97], at), w]),
  },
  {
    name: 'states that change places',
    program: program([[[6, 3, 200]], [[200]], [[200]]], ([x, a, b]) =>
      ops.foreach<Value>(turning, { data: [x], states: [a, b], captures: [] }),
    ),
    operands: [[given([6, 3, 200], 1), given([200], 2), given([200], 3)]],
  },
  {
    name: 'a loop that a condition ends',
    program: program([[[], 'int32'], [[40, 30]]], ([i, x]) =>
      ops.whileLoop<Value>(counted, rotated, { states: [i, x], captures: [] }),
    ),
    operands: [0, 2, 5, 9].map((begin) => [
      { storage: new Storage('int32', Int32Array.of(begin)), shape: [] },
      given([40, 30], 1),
    ]),
  },
  {
    name: 'branches',
    program: program([[[70, 9]], [[70, 9]]], ([x, y]) => {
      const both = [ops.exp<Value>(x), ops.mul<Value>(y, y)];
      const test = ops.less<Value>(ops.sum<Value>(both[0]), ops.sum<Value>(both[1]));
      const [a, b] = ops.cond<Value>(test, larger, smaller, both);
      return [ops.add<Value>(a, x), ops.mul<Value>(b, b)];
    }),
    operands: [
      [given([70, 9], 1), given([70, 9], 2)],
      [given([70, 9], 3), { storage: new Storage('float32', new Float32Array(630)), shape: [70, 9] }],
    ], // prettier-ignore
  },
  {
    name: 'sizes that the program finds',
    program: program([[[300]], [[300]]], ([x, y]) => {
      const kept = ops.booleanMask<Value>(x, ops.greater<Value>(x, y));
      return [ops.sum<Value>(ops.exp<Value>(kept)), ops.sum<Value>(kept)];
    }),
    operands: [[given([300], 1), given([300], 2)]],
  },
];
