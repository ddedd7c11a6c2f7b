import { test } from 'node:test';
import { hoistFromLoops } from '../../../src/passes/loops/hoist.js';
import { agree, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const text = `program {
  input x: float32[n, 2]
  input w: float32[k, 2]
  %0 = foreach(x, w) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
    input x: float32[2]
    input w: float32[m, 2]
    %0 = swapaxes(w) {axis1: 0, axis2: 1}: float32[2, m]
    %1 = matmul(w, %0): float32[m, m]  // cell.ts:3:1
    %2 = reshape(%1) {shape: ["m", "m", 1]}: float32[m, m, 1]
    %3 = exp(w): float32[m, 2]
    %4 = matmul(%3, x): float32[m]
    %5 = add(%2, %4): float32[m, m, m]
    output y = %5
  }]: float32[n, k, k, k]
  output y = %0
}`;

test('what depends on captures alone moves before the loop, views stay', () => {
  turns(
    hoistFromLoops,
    text,
    `program {
      input x: float32[n, 2]
      input w: float32[k, 2]
      %0 = swapaxes(w) {axis1: 0, axis2: 1}: float32[2, k]
      %1 = matmul(w, %0): float32[k, k]  // cell.ts:3:1
      %2 = exp(w): float32[k, 2]
      %3 = foreach(x, w, %1, %2) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2]
        input w: float32[m, 2]
        input hoisted: float32[m, m]
        input hoisted_2: float32[m, 2]
        %0 = reshape(hoisted) {shape: ["m", "m", 1]}: float32[m, m, 1]
        %1 = matmul(hoisted_2, x): float32[m]
        %2 = add(%0, %1): float32[m, m, m]
        output y = %2
      }]: float32[n, k, k, k]
      output y = %3
    }`,
  );
  const program = parse(text);
  for (const n of [0, 2]) agree(program, hoistFromLoops(program), inputsOf(program, { n, k: 3 }));
});

test('a result that is larger than all it is made from stays, and so does what is only moved', () => {
  leaves(
    hoistFromLoops,
    `program {
      input x: float32[n, 4, 5]
      input a: float32[4, 1]
      input b: float32[5]
      %0 = foreach(x, a, b) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[4, 5]
        input a: float32[4, 1]
        input b: float32[5]
        %0 = add(a, b): float32[4, 5]
        %1 = mul(%0, x): float32[4, 5]
        %2 = fill() {shape: [4, 5], value: 2, dtype: "float32"}: float32[4, 5]
        %3 = mul(%1, %2): float32[4, 5]
        output y = %3
      }]: float32[n, 4, 5]
      output y = %0
    }`,
  );
});

const refusing = (length: string): string => `program {
  input x: float32[${length}, 2]
  input w: float32[7, 2]
  input at: int32[]
  %0 = foreach(x, w, at) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
    input x: float32[2]
    input w: float32[7, 2]
    input at: int32[]
    %0 = exp(w): float32[7, 2]
    %1 = take(%0, at) {axis: 0, mode: "clip"}: float32[2]
    %2 = sin(%1): float32[2]
    %3 = add(%2, x): float32[2]
    output y = %3
  }]: float32[${length}, 2]
  output y = %0
}`;

test('what a product reads in another order is turned once, before the loop', () => {
  const turned = `program {
    input x: float32[n, 3, 4]
    input w: float32[5, 4]
    %0 = foreach(x, w) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[3, 4]
      input w: float32[5, 4]
      %0 = swapaxes(w) {axis1: 0, axis2: 1}: float32[4, 5]
      %1 = matmul(x, %0): float32[3, 5]
      output y = %1
    }]: float32[n, 3, 5]
    output y = %0
  }`;
  turns(
    hoistFromLoops,
    turned,
    `program {
      input x: float32[n, 3, 4]
      input w: float32[5, 4]
      %0 = swapaxes(w) {axis1: 0, axis2: 1}: float32[4, 5]
      %1 = foreach(x, w, %0) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[3, 4]
        input w: float32[5, 4]
        input hoisted: float32[4, 5]
        %0 = matmul(x, hoisted): float32[3, 5]
        output y = %0
      }]: float32[n, 3, 5]
      output y = %1
    }`,
  );
  const program = parse(turned);
  for (const n of [0, 2]) agree(program, hoistFromLoops(program), inputsOf(program, { n }));
});

test('what may refuse its elements stays where the loop may not run', () => {
  turns(
    hoistFromLoops,
    refusing('n'),
    `program {
      input x: float32[n, 2]
      input w: float32[7, 2]
      input at: int32[]
      %0 = exp(w): float32[7, 2]
      %1 = foreach(x, w, at, %0) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2]
        input w: float32[7, 2]
        input at: int32[]
        input hoisted: float32[7, 2]
        %0 = take(hoisted, at) {axis: 0, mode: "clip"}: float32[2]
        %1 = sin(%0): float32[2]
        %2 = add(%1, x): float32[2]
        output y = %2
      }]: float32[n, 2]
      output y = %1
    }`,
  );
  turns(
    hoistFromLoops,
    refusing('3'),
    `program {
      input x: float32[3, 2]
      input w: float32[7, 2]
      input at: int32[]
      %0 = exp(w): float32[7, 2]
      %1 = take(%0, at) {axis: 0, mode: "clip"}: float32[2]
      %2 = sin(%1): float32[2]
      %3 = foreach(x, w, at, %2) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2]
        input w: float32[7, 2]
        input at: int32[]
        input hoisted: float32[2]
        %0 = add(hoisted, x): float32[2]
        output y = %0
      }]: float32[3, 2]
      output y = %3
    }`,
  );
});

const searching = `program {
  input x: float32[3]
  input w: float32[3]
  %0, %1 = whileLoop(x, w) {states: 1, limit: 20, padded: false, save: "auto"} [@0 {
    input x: float32[3]
    input w: float32[3]
    %0 = exp(w): float32[3]
    %1 = sum(%0) {axes: null, keepdims: false}: float32[]
    %2 = sum(x) {axes: null, keepdims: false}: float32[]
    %3 = less(%2, %1): bool[]
    output go = %3
  }, @1 {
    input x: float32[3]
    input w: float32[3]
    %0 = exp(w): float32[3]
    %1 = add(x, %0): float32[3]
    output x = %1
  }]: float32[3], int32[]
  output x = %0
  output count = %1
}`;

test('conditions and bodies of whileLoop hoist alike', () => {
  turns(
    hoistFromLoops,
    searching,
    `program {
      input x: float32[3]
      input w: float32[3]
      %0 = exp(w): float32[3]
      %1 = exp(w): float32[3]
      %2 = sum(%1) {axes: null, keepdims: false}: float32[]
      %3, %4 = whileLoop(x, w, %0, %2) {states: 1, limit: 20, padded: false, save: "auto"} [@0 {
        input x: float32[3]
        input w: float32[3]
        input hoisted: float32[3]
        input hoisted_2: float32[]
        %0 = sum(x) {axes: null, keepdims: false}: float32[]
        %1 = less(%0, hoisted_2): bool[]
        output go = %1
      }, @1 {
        input x: float32[3]
        input w: float32[3]
        input hoisted: float32[3]
        input hoisted_2: float32[]
        %0 = add(x, hoisted): float32[3]
        output x = %0
      }]: float32[3], int32[]
      output x = %3
      output count = %4
    }`,
  );
  const program = parse(searching);
  agree(program, hoistFromLoops(program), inputsOf(program));
});

test('what is the same in an outer loop too leaves both', () => {
  const inner = (body: string): string => `program {
    input x: float32[n, m]
    input w: float32[3]
    ${body}
    output y = %LAST
  }`;
  turns(
    hoistFromLoops,
    inner(`%0 = foreach(x, w) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[m]
      input w: float32[3]
      %0 = foreach(x, w) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@1 {
        input x: float32[]
        input w: float32[3]
        %0 = exp(w): float32[3]
        %1 = mul(%0, x): float32[3]
        output y = %1
      }]: float32[m, 3]
      output y = %0
    }]: float32[n, m, 3]`).replace('%LAST', '%0'),
    inner(`%0 = exp(w): float32[3]
    %1 = foreach(x, w, %0) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[m]
      input w: float32[3]
      input hoisted: float32[3]
      %0 = foreach(x, w, hoisted) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@1 {
        input x: float32[]
        input w: float32[3]
        input hoisted: float32[3]
        %0 = mul(hoisted, x): float32[3]
        output y = %0
      }]: float32[m, 3]
      output y = %0
    }]: float32[n, m, 3]`).replace('%LAST', '%1'),
  );
});
