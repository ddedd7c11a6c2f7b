import { test } from 'node:test';
import { hoistRowWork } from '../../../src/passes/loops/ahead.js';
import { sinkSums } from '../../../src/passes/loops/collect.js';
import { agree, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';
import { operand } from '../../support/programs.js';

/** A backward loop: the gradient of a weight, that of a bias, and what is carried back. */
const backward = (counted: boolean): string => `program {
  input h: float32[t, 2, 3]
  input dy: float32[t, 2, 4]
  input dh: float32[2, 4]
  input dw: float32[3, 4]
  input db: float32[4]
  input u: float32[4, 4]
  input count: int32[]
  %0, %1, %2 = foreach(h, dy, dh, dw, db, u${counted ? ', count' : ''}) {data: 2, states: 3, reverse: true, counted: ${counted}, save: "auto"} [@0 {
    input h: float32[2, 3]
    input dy: float32[2, 4]
    input dh: float32[2, 4]
    input dw: float32[3, 4]
    input db: float32[4]
    input u: float32[4, 4]
    %0 = add(dy, dh): float32[2, 4]
    %1 = swapaxes(h) {axis1: -1, axis2: -2}: float32[3, 2]
    %2 = matmul(%1, %0): float32[3, 4]
    %3 = add(dw, %2): float32[3, 4]
    %4 = sum(%0) {axes: [0], keepdims: false}: float32[4]
    %5 = add(%4, db): float32[4]
    %6 = matmul(%0, u): float32[2, 4]
    output dh = %6
    output dw = %3
    output db = %5
  }]: float32[2, 4], float32[3, 4], float32[4]
  output dh = %0
  output dw = %1
  output db = %2
}`;

test('the gradient of a weight is one product over time and batch, that of a bias one sum', () => {
  turns(
    sinkSums,
    backward(false),
    `program {
      input h: float32[t, 2, 3]
      input dy: float32[t, 2, 4]
      input dh: float32[2, 4]
      input dw: float32[3, 4]
      input db: float32[4]
      input u: float32[4, 4]
      input count: int32[]
      %0, %1 = foreach(h, dy, dh, u) {data: 2, states: 1, reverse: true, counted: false, save: "auto"} [@0 {
        input h: float32[2, 3]
        input dy: float32[2, 4]
        input dh: float32[2, 4]
        input u: float32[4, 4]
        %0 = add(dy, dh): float32[2, 4]
        %1 = matmul(%0, u): float32[2, 4]
        output kept = %0
        output dh = %1
      }]: float32[t, 2, 4], float32[2, 4]
      %2 = transpose(h) {axes: [0, 2, 1]}: float32[t, 3, 2]
      %3 = reshape(%2) {shape: ["t", 3, 2]}: float32[t, 3, 2]
      %4 = swapaxes(%3) {axis1: 1, axis2: 2}: float32[t, 2, 3]
      %5 = reshape(%4) {shape: ["2*t", 3]}: float32[2*t, 3]
      %6 = swapaxes(%5) {axis1: 0, axis2: 1}: float32[3, 2*t]
      %7 = reshape(%0) {shape: ["2*t", 4]}: float32[2*t, 4]
      %8 = matmul(%6, %7): float32[3, 4]
      %9 = reshape(%8) {shape: [3, 4]}: float32[3, 4]
      %10 = add(dw, %9): float32[3, 4]
      %11 = sum(%0) {axes: [0, 1], keepdims: false}: float32[4]
      %12 = reshape(%11) {shape: [4]}: float32[4]
      %13 = add(db, %12): float32[4]
      output dh = %1
      output dw = %10
      output db = %13
    }`,
  );
  const program = parse(backward(false));
  for (const t of [0, 1, 4]) {
    agree(program, sinkSums(program), inputsOf(program, { t }), 1e-5);
  }
});

test('beyond a count, whatever the data holds there adds nothing', () => {
  const program = parse(backward(true));
  const after = sinkSums(program);
  for (const count of [0, 1, 3]) {
    const inputs = inputsOf(program, { t: 4 }).map((array, k) => {
      if (k > 1) return array;
      const [length, ...row] = array.shape;
      const size = row.reduce((a, b) => a * b, 1);
      const elements = Array.from({ length: length * size }, (_, i) =>
        i < count * size ? Number(array.storage.host[i]) : NaN,
      );
      return operand('float32', array.shape, elements);
    });
    const given = [...inputs.slice(0, -1), operand('int32', [], [count])];
    agree(program, after, given, 1e-5);
  }
});

test('sums of what depends on data alone need nothing of the loop', () => {
  const text = `program {
    input x: float32[t, 3]
    input y: float32[t, 3]
    input s: float32[3]
    input w: float32[3]
    %0, %1 = foreach(x, y, s, w) {data: 2, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[3]
      input y: float32[3]
      input s: float32[3]
      input w: float32[3]
      %0 = mul(x, y): float32[3]
      %1 = add(s, %0): float32[3]
      %2 = add(w, %1): float32[3]
      %3 = sub(x, y): float32[3]
      output z = %3
      output s = %2
    }]: float32[t, 3], float32[3]
    output z = %0
    output s = %1
  }`;
  const program = parse(text);
  const after = hoistRowWork(sinkSums(program));
  turns(
    () => after,
    text,
    `program {
      input x: float32[t, 3]
      input y: float32[t, 3]
      input s: float32[3]
      input w: float32[3]
      %0 = sub(x, y): float32[t, 3]
      %1 = mul(x, y): float32[t, 3]
      %2 = sum(%1) {axes: [0], keepdims: false}: float32[3]
      %3 = cast(%2) {dtype: "float32"}: float32[3]
      %4 = broadcastTo(w) {shape: ["t", 3]}: float32[t, 3]
      %5 = sum(%4) {axes: [0], keepdims: false}: float32[3]
      %6 = cast(%5) {dtype: "float32"}: float32[3]
      %7 = add(s, %3): float32[3]
      %8 = add(%7, %6): float32[3]
      output z = %0
      output s = %8
    }`,
  );
  for (const t of [0, 1, 5]) agree(program, after, inputsOf(program, { t }), 1e-5);
});

test('what a sum starts from is not added where it is nothing', () => {
  turns(
    sinkSums,
    `program {
      input x: float32[t, 3]
      %0 = fill() {shape: [3], value: 0, dtype: "float32"}: float32[3]
      %1 = foreach(x, %0) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[3]
        input s: float32[3]
        %0 = add(s, x): float32[3]
        output s = %0
      }]: float32[3]
      output s = %1
    }`,
    `program {
      input x: float32[t, 3]
      %0 = fill() {shape: [3], value: 0, dtype: "float32"}: float32[3]
      %1 = sum(x) {axes: [0], keepdims: false}: float32[3]
      %2 = cast(%1) {dtype: "float32"}: float32[3]
      output s = %2
    }`,
  );
});

const sequential = (term: string, more = ''): string => `program {
  input x: float32[t, 3]
  input s: float32[3]
  input h: float32[3]
  %0, %1 = foreach(x, s, h) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
    input x: float32[3]
    input s: float32[3]
    input h: float32[3]
    %0 = mul(x, h): float32[3]
    %1 = ${term}: float32[3]
    ${more}output s = %1
    output h = %0
  }]: float32[3], float32[3]
  output s = %0
  output h = %1
}`;

test('elementwise work that no row holds is added up in place', () => {
  leaves(sinkSums, sequential('add(s, %0)'));
});

test('a sum that is read in the loop, or that is none, stays', () => {
  leaves(sinkSums, sequential('add(s, s)'));
  leaves(sinkSums, sequential('mul(s, x)'));
  leaves(sinkSums, sequential('add(s, x)').replace('%0 = mul(x, h)', '%0 = mul(s, h)'));
});

test('operands that are much larger than the sum of products are not stored', () => {
  leaves(
    sinkSums,
    `program {
      input x: float32[t, 90]
      input s: float32[]
      input h: float32[90]
      %0, %1 = foreach(x, s, h) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[90]
        input s: float32[]
        input h: float32[90]
        %0 = mul(x, h): float32[90]
        %1 = matmul(%0, h): float32[]
        %2 = add(s, %1): float32[]
        output s = %2
        output h = %0
      }]: float32[], float32[90]
      output s = %0
      output h = %1
    }`,
  );
});

test('what has sizes that an iteration finds is added up in it', () => {
  const text = `program {
    input n: int32[t]
    input h: float32[4, 3]
    input dw: float32[3, 3]
    %0, %1 = foreach(n, h, dw) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
      input n: int32[]
      input h: float32[4, 3]
      input dw: float32[3, 3]
      %0 = extents(n) {most: null}: bool[size_0]
      %1 = slice(h) {indices: [[0, "size_0", 1]]}: float32[min(4, size_0), 3]
      %2 = swapaxes(%1) {axis1: -1, axis2: -2}: float32[3, min(4, size_0)]
      %3 = tanh(%1): float32[min(4, size_0), 3]
      %4 = matmul(%2, %3): float32[3, 3]
      %5 = add(dw, %4): float32[3, 3]
      %6 = tanh(h): float32[4, 3]
      output h = %6
      output dw = %5
    }]: float32[4, 3], float32[3, 3]
    output h = %0
    output dw = %1
  }`;
  leaves(sinkSums, text);
});
