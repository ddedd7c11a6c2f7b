import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hoistRowWork } from '../../../src/passes/loops/ahead.js';
import { agree, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const recurrent = `program {
  input x: float32[t, b, 3]
  input h: float32[b, 5]
  input w: float32[3, 5]
  input u: float32[5, 5]
  input bias: float32[5]
  %0, %1 = foreach(x, h, w, u, bias) {data: 1, states: 1, reverse: true, counted: false, save: "auto"} [@0 {
    input x: float32[n, 3]
    input h: float32[n, 5]
    input w: float32[3, 5]
    input u: float32[5, 5]
    input bias: float32[5]
    %0 = matmul(x, w): float32[n, 5]  // cell.ts:2:3
    %1 = add(%0, bias): float32[n, 5]  // cell.ts:2:9
    %2 = matmul(h, u): float32[n, 5]
    %3 = add(%1, %2): float32[n, 5]
    %4 = tanh(%3): float32[n, 5]
    output y = %4
    output h = %4
  }]: float32[t, b, 5], float32[b, 5]
  output y = %0
  output h = %1
}`;

test('the products of all rows with what is the same for all of them are one product', () => {
  turns(
    hoistRowWork,
    recurrent,
    `program {
      input x: float32[t, b, 3]
      input h: float32[b, 5]
      input w: float32[3, 5]
      input u: float32[5, 5]
      input bias: float32[5]
      %0 = reshape(x) {shape: ["b*t", 3]}: float32[b*t, 3]  // cell.ts:2:3
      %1 = matmul(%0, w): float32[b*t, 5]  // cell.ts:2:3
      %2 = reshape(%1) {shape: ["t", "b", 5]}: float32[t, b, 5]  // cell.ts:2:3
      %3 = add(%2, bias): float32[t, b, 5]  // cell.ts:2:9
      %4, %5 = foreach(x, %3, h, w, u, bias) {data: 2, states: 1, reverse: true, counted: false, save: "auto"} [@0 {
        input x: float32[n, 3]
        input ahead: float32[n, 5]
        input h: float32[n, 5]
        input w: float32[3, 5]
        input u: float32[5, 5]
        input bias: float32[5]
        %0 = matmul(h, u): float32[n, 5]
        %1 = add(ahead, %0): float32[n, 5]
        %2 = tanh(%1): float32[n, 5]
        output y = %2
        output h = %2
      }]: float32[t, b, 5], float32[b, 5]
      output y = %4
      output h = %5
    }`,
  );
  const program = parse(recurrent);
  const after = hoistRowWork(program);
  for (const [t, b] of [
    [0, 2],
    [1, 1],
    [4, 3],
    [3, 0],
  ]) {
    agree(program, after, inputsOf(program, { t, b }), 1e-5);
  }
});

test('a map needs no loop', () => {
  const map = `program {
    input x: float32[n, 4]
    input y: float32[n]
    input w: float32[4]
    %0, %1 = foreach(x, y, w) {data: 2, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[4]
      input y: float32[]
      input w: float32[4]
      %0 = mul(x, y): float32[4]
      %1 = add(%0, w): float32[4]
      output z = %1
      output w = w
    }]: float32[n, 4], float32[n, 4]
    output z = %0
    output w = %1
  }`;
  turns(
    hoistRowWork,
    map,
    `program {
      input x: float32[n, 4]
      input y: float32[n]
      input w: float32[4]
      %0 = reshape(y) {shape: ["n", 1]}: float32[n, 1]
      %1 = mul(x, %0): float32[n, 4]
      %2 = add(%1, w): float32[n, 4]
      %3 = broadcastTo(w) {shape: ["n", 4]}: float32[n, 4]
      output z = %2
      output w = %3
    }`,
  );
  const program = parse(map);
  for (const n of [0, 1, 3]) agree(program, hoistRowWork(program), inputsOf(program, { n }));
});

test('data have as many rows as each other, also where only a requirement says so', () => {
  const program = parse(`program {
    input x: float32[n, 4]
    input y: float32[m, 4]
    input w: float32[4, 2]
    %0 = foreach(x, y, w) {data: 2, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[4]
      input y: float32[4]
      input w: float32[4, 2]
      %0 = mul(x, y): float32[4]
      %1 = matmul(%0, w): float32[2]
      output r = %1
    }]: float32[n, 2]
    output r = %0
  }`);
  const after = hoistRowWork(program);
  assert.ok(after.requirements.length > 0);
  for (const n of [0, 1, 3]) agree(program, after, inputsOf(program, { n, m: n }), 1e-5);
});

test('element by element work on data alone stays, and so does a count of rows', () => {
  leaves(
    hoistRowWork,
    `program {
      input x: float32[n, 4]
      input h: float32[4]
      %0 = foreach(x, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[4]
        input h: float32[4]
        %0 = exp(x): float32[4]
        %1 = mul(%0, h): float32[4]
        output h = %1
      }]: float32[4]
      output h = %0
    }`,
  );
  leaves(
    hoistRowWork,
    recurrent
      .replace(
        'input bias: float32[5]\n  %0',
        'input bias: float32[5]\n  input count: int32[]\n  %0',
      )
      .replace('w, u, bias) {', 'w, u, bias, count) {')
      .replace('counted: false', 'counted: true'),
  );
});

test('what varies on both sides is one batched product; a barrier and what draws numbers stay', () => {
  const text = `program {
    input q: float32[n, 2, 3]
    input k: float32[n, 4, 3]
    input h: float32[2, 4]
    %0, %1 = foreach(q, k, h) {data: 2, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
      input q: float32[2, 3]
      input k: float32[4, 3]
      input h: float32[2, 4]
      %0 = swapaxes(k) {axis1: 0, axis2: 1}: float32[3, 4]
      %1 = matmul(q, %0): float32[2, 4]
      %2 = sum(q) {axes: [1], keepdims: true}: float32[2, 1]
      %3 = add(%1, h): float32[2, 4]
      %4 = mul(%3, %2): float32[2, 4]
      %5 = barrier(q): float32[2, 3]
      %6 = sum(%5) {axes: [-1], keepdims: true}: float32[2, 1]
      %7 = mul(%4, %6): float32[2, 4]
      output y = %7
      output h = %3
    }]: float32[n, 2, 4], float32[2, 4]
    output y = %0
    output h = %1
  }`;
  turns(
    hoistRowWork,
    text,
    `program {
      input q: float32[n, 2, 3]
      input k: float32[n, 4, 3]
      input h: float32[2, 4]
      %0 = transpose(k) {axes: [0, 2, 1]}: float32[n, 3, 4]
      %1 = reshape(q) {shape: ["n", 2, 3]}: float32[n, 2, 3]
      %2 = reshape(%0) {shape: ["n", 3, 4]}: float32[n, 3, 4]
      %3 = matmul(%1, %2): float32[n, 2, 4]
      %4 = reshape(%3) {shape: ["n", 2, 4]}: float32[n, 2, 4]
      %5 = sum(q) {axes: [2], keepdims: true}: float32[n, 2, 1]
      %6, %7 = foreach(q, k, %4, %5, h) {data: 4, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input q: float32[2, 3]
        input k: float32[4, 3]
        input ahead: float32[2, 4]
        input ahead_2: float32[2, 1]
        input h: float32[2, 4]
        %0 = add(ahead, h): float32[2, 4]
        %1 = mul(%0, ahead_2): float32[2, 4]
        %2 = barrier(q): float32[2, 3]
        %3 = sum(%2) {axes: [-1], keepdims: true}: float32[2, 1]
        %4 = mul(%1, %3): float32[2, 4]
        output y = %4
        output h = %0
      }]: float32[n, 2, 4], float32[2, 4]
      output y = %6
      output h = %7
    }`,
  );
  const program = parse(text);
  agree(program, hoistRowWork(program), inputsOf(program, { n: 3 }), 1e-5);
});
