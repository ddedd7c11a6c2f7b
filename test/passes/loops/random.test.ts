import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { verify } from '../../../src/ir/verify.js';
import * as ops from '../../../src/ops/index.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { operand } from '../../support/programs.js';
import { agree, generator, inputsOf } from './support.js';

/** All values are [2, 3], so that any can be an operand of any. */
const shape = [2, 3] as const;
const type = { dtype: 'float64', shape } as const;

type Random = () => number;
const below = (random: Random, count: number): number => Math.floor(random() * count);
const pick = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)];

/** A value made of some of those there are. */
function step(random: Random, values: readonly Value[]): Value {
  const [x, y, z] = Array.from({ length: 3 }, () => pick(random, values));
  const make: readonly (() => Value)[] = [
    () => ops.add(x, y),
    () => ops.sub(x, ops.mul(y, 0.5)),
    () => ops.mul(x, ops.tanh(y)),
    () => ops.tanh(x),
    () => ops.matmul(ops.matmul(x, ops.swapaxes(y, 0, 1)), z),
    () => ops.tanh(ops.matmul(x, ops.matmul(ops.transpose(y), z))),
    () => ops.mul(x, ops.sum(y, 1, { keepdims: true })),
    () => ops.add(x, ops.max(y, 0)),
    () => ops.add(ops.reshape(ops.swapaxes(x, 0, 1), [2, 3]), y),
    () => ops.concat([ops.slice(x, [0, 1]), ops.slice(y, [1, 2])]),
    () => ops.where(ops.greater(x, y), z, 0.25),
    () => ops.take(x, [2, 0, -1], { axis: 1 }),
    () =>
      ops.add(
        ops.gather(
          x,
          [
            [1, 0, 1],
            [-1, 0, 0],
          ],
          0,
        ),
        y,
      ),
    () =>
      ops.scatterAdd(
        x,
        [
          [0, 0, 2],
          [1, -1, 1],
        ],
        y,
        1,
      ),
    () =>
      ops.slice(
        ops.pad(
          x,
          [
            [1, 0],
            [0, 2],
          ],
          { mode: 'wrap' },
        ),
        [1],
        [2],
      ),
    () => convolved(x, y),
  ];
  return pick(random, make)();
}

/** Each operand is an image of two channels or, without its last column, two by two weights of one position. */
function convolved(x: Value, y: Value): Value {
  const weights = ops.reshape(ops.slice(y, ':', [0, 2]), [2, 2, 1]);
  return ops.tanh(ops.reshape(ops.conv(ops.reshape(x, [1, 2, 3]), weights), [2, 3]));
}

interface Surroundings {
  readonly random: Random;
  readonly count: Value | undefined;
  readonly depth: number;
}

/** A loop on some of the values, and everything it gives in one value of their shape. */
function loop(
  { random, count, depth }: Surroundings,
  data: readonly Value[],
  values: readonly Value[],
): readonly Value[] {
  const body = new Program();
  const states = Array.from({ length: below(random, 4) }, () => pick(random, values));
  const captures = Array.from({ length: below(random, 4) }, () => pick(random, values));
  const inputs = [...data, ...states, ...captures].map((_, k) => body.variable(`x${k}`, type));
  const inside = [...inputs];
  for (let left = 2 + below(random, 7); left > 0; left--) inside.push(step(random, inside));
  if (depth > 0 && random() < 0.5) {
    const inner = Array.from({ length: 2 }, () => {
      const rows = [pick(random, inside), pick(random, inside), pick(random, inside)];
      return ops.stack(rows);
    });
    inside.push(...loop({ random, count: undefined, depth: depth - 1 }, inner, inside));
  }
  const next = states.map((_, k): Value => {
    const state = inputs[data.length + k];
    // Sums of what is computed, now and then, as in gradients.
    if (random() < 0.4) return ops.add(state, pick(random, inside));
    return pick(random, inside);
  });
  const rows = Array.from({ length: 1 + below(random, 3) }, () => pick(random, inside));
  const outputs = [...rows, ...next.map((value) => ops.mul(value, 0.9))].map((value, k) =>
    // Half of the states are exactly what was picked.
    k < rows.length || random() < 0.5 ? value : next[k - rows.length],
  );
  body.setOutputs(outputs.map((value, k) => ({ name: `y${k}`, value })));
  const made = ops.foreach<Value>(body, {
    data,
    states,
    captures,
    count,
    reverse: random() < 0.5,
  });
  const used = made.filter(() => random() < 0.7);
  return used.map((value) => (value.type.shape.length > 2 ? ops.sum(value, 0) : value));
}

function randomProgram(seed: number, length: Dim): Program {
  const random = generator(seed);
  for (let k = 0; k < 20; k++) random();
  const program = new Program();
  const data = Array.from({ length: 1 + below(random, 2) }, (_, k) =>
    program.variable(`d${k}`, { dtype: 'float64', shape: [length, ...shape] }),
  );
  const values = Array.from({ length: 3 }, (_, k) => program.variable(`v${k}`, type));
  const count = program.variable('count', { dtype: 'int32', shape: [] });
  const isCounted = random() < 0.3;
  const counted = isCounted ? count : undefined;
  const results = loop({ random, count: counted, depth: 1 }, data, values);
  program.setOutputs([...results, values[0]].map((value, k) => ({ name: `r${k}`, value })));
  return program;
}

for (let seed = 1; seed <= 40; seed++) {
  test(`random loops, seed ${seed}: every pass leaves a proper program of the same results`, () => {
    const length = seed % 3 === 0 ? symbol('t') : [0, 1, 3, 9][seed % 4];
    const program = randomProgram(seed, length);
    const after = runPipeline(program, passes, {
      evaluate: evaluateConstant,
      observe: ({ name, after: made, unchanged }) => {
        if (unchanged) return;
        try {
          verify(made);
        } catch (error) {
          throw new Error(`after ${name}:\n${printProgram(made)}`, { cause: error });
        }
      },
    });
    for (const t of typeof length === 'number' ? [length] : [0, 4]) {
      const inputs = inputsOf(program, { t }, generator(seed));
      const count = Math.min(t, seed % 4);
      agree(program, after, [...inputs.slice(0, -1), operand('int32', [], [count])], 1e-9);
    }
    assert.ok(after.outputs.length > 0);
  });
}
