import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateModule } from '../../../../src/formats/stablehlo/evaluate/evaluate.js';
import { exportModule } from '../../../../src/formats/stablehlo/export.js';
import { parse } from '../../../support/program-texts.js';

const [rows, size] = [4, 2];
const matrix = `float32[${rows}, ${size}]`;
const row = `float32[${size}]`;

const loop = (operands: string, isCounted = false): string =>
  `foreach(${operands}) {data: 1, states: 1, reverse: ${isCounted}, counted: ${isCounted}, save: "auto"} [@0 {
    input x0: ${row}
    input x1: ${row}
    %0 = add(x0, x1): ${row}
    output y0 = %0
    output y1 = %0
  }]: ${matrix}, ${row}`;

/** Two loops that add up rows, the second those of the first; `counted` runs only some iterations of the second. */
const twoLoops = (isCounted: boolean, more = ''): string => `program {
  input x: ${matrix}
  input s: ${row}
  input count: int32[]
  %0 = add(x, x): ${matrix}
  %1, %2 = ${loop('%0, s')}
  %3, %4 = ${loop(isCounted ? '%1, s, count' : '%1, s', isCounted).replace('@0', '@1')}
  output sums = %3
  ${more}
}
`;

/** Operations that make the last operand of each loop: its rows to begin with. */
function beginnings(text: string): readonly string[] {
  return [...text.matchAll(/"stablehlo\.while"\((.*?)\)/g)].map(([, operands]) => {
    const name = operands.split(', ').at(-1)!;
    return new RegExp(`^ *${name} = "stablehlo\\.(\\w+)"`, 'm').exec(text)![1];
  });
}

const x = [1, 2, 3, 4, 5, 6, 7, 8];
const s = [10, 20];

/** Running sums of rows, from the last of the first `count` to the first where these are counted. */
function sumsOf(data: readonly number[], count = rows, isReverse = false): number[] {
  const sums = data.map(() => 0);
  const state = [...s];
  for (let i = 0; i < count; i++) {
    const at = isReverse ? count - 1 - i : i;
    for (let k = 0; k < size; k++) sums[at * size + k] = state[k] += data[at * size + k];
  }
  return sums;
}

function results(text: string, count: number): number[][] {
  const found = evaluateModule(text, [
    { dtype: 'float32', shape: [rows, size], data: Float32Array.from(x) },
    { dtype: 'float32', shape: [size], data: Float32Array.from(s) },
    { dtype: 'int32', shape: [], data: Int32Array.of(count) },
  ]);
  return found.map(({ data }) => Array.from(data, Number));
}

const doubled = x.map((value) => 2 * value);

test('rows begin as the array that the loop before has read, where nothing else reads it', () => {
  const text = exportModule(parse(twoLoops(false)));
  assert.deepEqual(beginnings(text), ['constant', 'add']);
  assert.deepEqual(results(text, 0), [sumsOf(sumsOf(doubled))]);
});

test('an array that is read once more stays as it is', () => {
  for (const more of ['output read = %0', '%5 = neg(%0): ' + matrix + '\n  output read = %5']) {
    const text = exportModule(parse(twoLoops(false, more)));
    assert.deepEqual(beginnings(text), ['constant', 'constant']);
    const read = doubled.map((value) => (more.includes('neg') ? -value : value));
    assert.deepEqual(results(text, 0), [sumsOf(sumsOf(doubled)), read]);
  }
});

test('rows that no iteration writes are zeros', () => {
  const text = exportModule(parse(twoLoops(true)));
  assert.deepEqual(beginnings(text), ['constant', 'constant']);
  for (const count of [0, 1, 3, 4]) {
    assert.deepEqual(results(text, count), [sumsOf(sumsOf(doubled), count, true)]);
  }
});
