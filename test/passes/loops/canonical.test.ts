import { test } from 'node:test';
import { canonicalLoops } from '../../../src/passes/loops/canonical.js';
import { agree, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

test('a state that is passed through, and captures of one array, become one capture', () => {
  turns(
    canonicalLoops,
    `program {
      input x: float32[t, 3]
      input w: float32[3]
      %0, %1, %2 = foreach(x, w, w, w, w) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[3]
        input s: float32[3]
        input kept: float32[3]
        input a: float32[3]
        input b: float32[3]
        %0 = mul(a, b): float32[3]
        %1 = add(%0, kept): float32[3]
        %2 = add(%1, s): float32[3]
        %3 = mul(x, %2): float32[3]
        output y = %3
        output s = %2
        output kept = kept
      }]: float32[t, 3], float32[3], float32[3]
      output y = %0
      output s = %1
      output kept = %2
    }`,
    `program {
      input x: float32[t, 3]
      input w: float32[3]
      %0, %1 = foreach(x, w, w) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[3]
        input s: float32[3]
        input a: float32[3]
        %0 = mul(a, a): float32[3]
        %1 = add(%0, a): float32[3]
        %2 = add(%1, s): float32[3]
        %3 = mul(x, %2): float32[3]
        output y = %3
        output s = %2
      }]: float32[t, 3], float32[3]
      output y = %0
      output s = %1
      output kept = w
    }`,
  );
});

const twice = `program {
  input x: float32[n, 2]
  input h: float32[2]
  %0, %1, %2, %3, %4, %5 = foreach(x, x, h, h) {data: 2, states: 2, reverse: true, counted: false, save: "auto"} [@0 {
    input a: float32[2]
    input b: float32[2]
    input s: float32[2]
    input r: float32[2]
    %0 = add(a, s): float32[2]
    %1 = mul(%0, b): float32[2]
    %2 = mul(%1, r): float32[2]
    output y = %2
    output z = %2
    output a = a
    output b = b
    output s = %0
    output r = %0
  }]: float32[n, 2], float32[n, 2], float32[n, 2], float32[n, 2], float32[2], float32[2]
  output y = %0
  output z = %1
  output a = %2
  output b = %3
  output s = %4
  output r = %5
}`;

test('data of one array, rows of one value, states of one course, and rows that are the data', () => {
  turns(
    canonicalLoops,
    twice,
    `program {
      input x: float32[n, 2]
      input h: float32[2]
      %0, %1 = foreach(x, h) {data: 1, states: 1, reverse: true, counted: false, save: "auto"} [@0 {
        input a: float32[2]
        input s: float32[2]
        %0 = add(a, s): float32[2]
        %1 = mul(%0, a): float32[2]
        %2 = mul(%1, s): float32[2]
        output y = %2
        output s = %0
      }]: float32[n, 2], float32[2]
      output y = %0
      output z = %0
      output a = x
      output b = x
      output s = %1
      output r = %1
    }`,
  );
  const program = parse(twice);
  for (const n of [0, 1, 3]) agree(program, canonicalLoops(program), inputsOf(program, { n }));
});

test('constants are made inside, symbols become what they are bound to', () => {
  turns(
    canonicalLoops,
    `program {
      input x: float32[n, k, 2]
      input y: float32[n, k]
      %0 = constant float32[2] [1, 2]
      %1 = fill() {shape: [2], value: 3, dtype: "float32"}: float32[2]
      %2, %3 = foreach(x, y, %0, %1) {data: 2, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[m, j]
        input y: float32[i]
        input a: float32[j]
        input b: float32[j]
        %0 = mul(x, a): float32[m, j]
        %1 = add(%0, b): float32[m, j]
        %2 = expandDims(y) {axes: [1]}: float32[i, 1]
        %3 = fill() {shape: ["i", "j"], value: 1, dtype: "float32"}: float32[i, j]
        %4 = mul(%2, %3): float32[i, j]
        output z = %1
        output u = %4
      }]: float32[n, k, 2], float32[n, k, 2]
      output z = %2
    }`,
    `program {
      input x: float32[n, k, 2]
      input y: float32[n, k]
      %0 = constant float32[2] [1, 2]
      %1 = fill() {shape: [2], value: 3, dtype: "float32"}: float32[2]
      %2, %3 = foreach(x, y) {data: 2, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[m, 2]
        input y: float32[m]
        %0 = constant float32[2] [1, 2]
        %1 = mul(x, %0): float32[m, 2]
        %2 = fill() {shape: [2], value: 3, dtype: "float32"}: float32[2]
        %3 = add(%1, %2): float32[m, 2]
        %4 = expandDims(y) {axes: [1]}: float32[m, 1]
        %5 = fill() {shape: ["m", 2], value: 1, dtype: "float32"}: float32[m, 2]
        %6 = mul(%4, %5): float32[m, 2]
        output z = %3
        output u = %6
      }]: float32[n, k, 2], float32[n, k, 2]
      output z = %2
    }`,
  );
});

test('a counted loop keeps rows that are the data: beyond the count they are zero', () => {
  leaves(
    canonicalLoops,
    `program {
      input x: float32[n, 2]
      input count: int32[]
      %0 = foreach(x, count) {data: 1, states: 0, reverse: false, counted: true, save: "auto"} [@0 {
        input a: float32[2]
        output a = a
      }]: float32[n, 2]
      output y = %0
    }`,
  );
});

const whileText = `program {
  dim 0 <= rows_0 <= 9
  input i: int32[]
  input x: float32[3]
  input w: float32[3]
  %0, %1, %2, %3, %4 = whileLoop(i, x, w, w) {states: 3, limit: 9, padded: false, save: "auto"} [@0 {
    input i: int32[]
    input x: float32[3]
    input w: float32[3]
    input c: float32[3]
    %0 = sum(c) {axes: null, keepdims: false}: float32[]
    %1 = sum(x) {axes: null, keepdims: false}: float32[]
    %2 = less(%1, %0): bool[]
    output go = %2
  }, @1 {
    input i: int32[]
    input x: float32[3]
    input w: float32[3]
    input c: float32[3]
    %0 = add(x, c): float32[3]
    %1 = add(%0, w): float32[3]
    output y = %1
    output i = i
    output x = %0
    output w = w
  }]: float32[rows_0, 3], int32[], float32[3], float32[3], int32[]
  output y = %0
  output i = %1
  output x = %2
  output w = %3
  output count = %4
}`;

test('the regions of a whileLoop change alike', () => {
  turns(
    canonicalLoops,
    whileText,
    `program {
      dim 0 <= rows_0 <= 9
      input i: int32[]
      input x: float32[3]
      input w: float32[3]
      %0, %1, %2 = whileLoop(x, w, i) {states: 1, limit: 9, padded: false, save: "auto"} [@0 {
        input x: float32[3]
        input c: float32[3]
        input i: int32[]
        %0 = sum(c) {axes: null, keepdims: false}: float32[]
        %1 = sum(x) {axes: null, keepdims: false}: float32[]
        %2 = less(%1, %0): bool[]
        output go = %2
      }, @1 {
        input x: float32[3]
        input c: float32[3]
        input i: int32[]
        %0 = add(x, c): float32[3]
        %1 = add(%0, c): float32[3]
        output y = %1
        output x = %0
      }]: float32[rows_0, 3], float32[3], int32[]
      output y = %0
      output i = i
      output x = %1
      output w = w
      output count = %2
    }`,
  );
  const program = parse(whileText);
  agree(
    program,
    canonicalLoops(program),
    inputsOf(program, {}, () => 0.9),
  );
});
