import { test } from 'node:test';
import { sinkRowWork } from '../../../src/passes/loops/behind.js';
import { agree, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const projected = (size: number): string => `program {
  input x: float32[t, 2, 4]
  input h: float32[2, 4]
  input v: float32[4, ${size}]
  input bias: float32[${size}]
  %0, %1, %2 = foreach(x, h, v, bias) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
    input x: float32[2, 4]
    input h: float32[2, 4]
    input v: float32[4, ${size}]
    input bias: float32[${size}]
    %0 = add(x, h): float32[2, 4]
    %1 = tanh(%0): float32[2, 4]
    %2 = exp(%1): float32[2, 4]
    %3 = matmul(%2, v): float32[2, ${size}]
    %4 = add(%3, bias): float32[2, ${size}]
    %5 = neg(%2): float32[2, 4]
    output y = %4
    output z = %5
    output h = %1
  }]: float32[t, 2, ${size}], float32[t, 2, 4], float32[2, 4]
  output y = %0
  output z = %1
  output h = %2
}`;

test('a product that no iteration waits for is one product after the loop', () => {
  turns(
    sinkRowWork,
    projected(3),
    `program {
      input x: float32[t, 2, 4]
      input h: float32[2, 4]
      input v: float32[4, 3]
      input bias: float32[3]
      %0, %1, %2 = foreach(x, h, v, bias) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2, 4]
        input h: float32[2, 4]
        input v: float32[4, 3]
        input bias: float32[3]
        %0 = add(x, h): float32[2, 4]
        %1 = tanh(%0): float32[2, 4]
        %2 = exp(%1): float32[2, 4]
        %3 = neg(%2): float32[2, 4]
        output z = %3
        output kept = %1
        output h = %1
      }]: float32[t, 2, 4], float32[t, 2, 4], float32[2, 4]
      %3 = exp(%1): float32[t, 2, 4]
      %4 = reshape(%3) {shape: ["2*t", 4]}: float32[2*t, 4]
      %5 = matmul(%4, v): float32[2*t, 3]
      %6 = reshape(%5) {shape: ["t", 2, 3]}: float32[t, 2, 3]
      %7 = add(%6, bias): float32[t, 2, 3]
      output y = %7
      output z = %0
      output h = %2
    }`,
  );
  const program = parse(projected(3));
  for (const t of [0, 1, 4]) {
    agree(program, sinkRowWork(program), inputsOf(program, { t }), 1e-5);
  }
});

test('it stays where the loop would store more than it saves', () => {
  leaves(
    sinkRowWork,
    `program {
      input x: float32[t, 4]
      input h: float32[9, 4]
      input v: float32[4]
      %0, %1 = foreach(x, h, v) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[4]
        input h: float32[9, 4]
        input v: float32[4]
        %0 = add(x, h): float32[9, 4]
        %1 = matmul(%0, v): float32[9]
        output y = %1
        output h = %0
      }]: float32[t, 9], float32[9, 4]
      output y = %0
      output h = %1
    }`,
  );
});

test('what a state needs stays, and so does a loop over a count of rows', () => {
  const text = (outputs: string, head = 'false'): string => `program {
    input x: float32[t, 2, 4]
    input h: float32[2, 4]
    input v: float32[4, 4]
    input count: int32[]
    %0, %1 = foreach(x, h, v${head === 'true' ? ', count' : ''}) {data: 1, states: 1, reverse: false, counted: ${head}, save: "auto"} [@0 {
      input x: float32[2, 4]
      input h: float32[2, 4]
      input v: float32[4, 4]
      %0 = add(x, h): float32[2, 4]
      %1 = matmul(%0, v): float32[2, 4]
      ${outputs}
    }]: float32[t, 2, 4], float32[2, 4]
    output y = %0
    output h = %1
  }`;
  leaves(sinkRowWork, text('output y = %1\n      output h = %1'));
  leaves(sinkRowWork, text('output y = %1\n      output h = %0', 'true'));
});

test('what reads values of sizes that an iteration finds stays', () => {
  const text = `program {
    input n: int32[t]
    input h: float32[4, 3]
    input w: float32[3, 3]
    %0, %1 = foreach(n, h, w) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
      input n: int32[]
      input h: float32[4, 3]
      input w: float32[3, 3]
      %0 = extents(n) {most: null}: bool[size_0]
      %1 = slice(h) {indices: [[0, "size_0", 1]]}: float32[min(4, size_0), 3]
      %2 = matmul(%1, w): float32[min(4, size_0), 3]
      %3 = slice(h) {indices: [["size_0", null, 1]]}: float32[-min(4, size_0) + 4, 3]
      %4 = concat(%2, %3) {axis: 0}: float32[4, 3]
      %5 = tanh(h): float32[4, 3]
      output y = %4
      output h = %5
    }]: float32[t, 4, 3], float32[4, 3]
    output y = %0
    output h = %1
  }`;
  leaves(sinkRowWork, text);
});
