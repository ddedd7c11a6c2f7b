import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verify } from '../../../src/ir/verify.js';
import { unrollLoops } from '../../../src/passes/loops/unroll.js';
import { agree, counts, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const loop = (length: string, reverse: boolean): string => `program {
  input x: float32[${length}, 3]
  input h: float32[3]
  input w: float32[3]
  %0, %1 = foreach(x, h, w) {data: 1, states: 1, reverse: ${reverse}, counted: false, save: "auto"} [@0 {
    input x: float32[k]
    input h: float32[k]
    input w: float32[k]
    %0 = mul(x, h): float32[k]  // cell.ts:1:1
    %1 = add(%0, w): float32[k]
    output y = %0
    output h = %1
  }]: float32[${length}, 3], float32[3]
  output y = %0
  output h = %1
}`;

test('a short loop becomes its iterations one after the other', () => {
  turns(
    unrollLoops,
    loop('2', true),
    `program {
      input x: float32[2, 3]
      input h: float32[3]
      input w: float32[3]
      %0 = slice(x) {indices: [1]}: float32[3]
      %1 = mul(%0, h): float32[3]  // cell.ts:1:1
      %2 = add(%1, w): float32[3]
      %3 = slice(x) {indices: [0]}: float32[3]
      %4 = mul(%3, %2): float32[3]  // cell.ts:1:1
      %5 = add(%4, w): float32[3]
      %6 = expandDims(%4) {axes: [0]}: float32[1, 3]
      %7 = expandDims(%1) {axes: [0]}: float32[1, 3]
      %8 = concat(%6, %7) {axis: 0}: float32[2, 3]
      output y = %8
      output h = %5
    }`,
  );
  for (const reverse of [false, true]) {
    for (const length of ['0', '1', '3', '8']) {
      const program = parse(loop(length, reverse));
      const after = unrollLoops(program);
      verify(after);
      assert.deepEqual(counts(after, 'foreach'), { outside: 0, inside: 0 });
      agree(program, after, inputsOf(program));
    }
  }
});

test('long loops, and those of unknown length, stay loops', () => {
  leaves(unrollLoops, loop('9', false));
  leaves(unrollLoops, loop('n', false));
});

test('an inner loop is written out where it stands', () => {
  const program = parse(`program {
    input x: float32[n, 2, 3]
    input h: float32[3]
    %0, %1 = foreach(x, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[2, 3]
      input h: float32[3]
      %0, %1 = foreach(x, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@1 {
        input x: float32[3]
        input h: float32[3]
        %0 = sub(x, h): float32[3]
        output y = %0
        output h = %0
      }]: float32[2, 3], float32[3]
      output y = %0
      output h = %1
    }]: float32[n, 2, 3], float32[3]
    output y = %0
    output h = %1
  }`);
  const after = unrollLoops(program);
  verify(after);
  assert.deepEqual(counts(after, 'foreach'), { outside: 1, inside: 0 });
  agree(program, after, inputsOf(program, { n: 3 }));
});
