import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Program } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import { eliminateDeadCode } from '../../../src/passes/rewrite/dce.js';
import { eliminateDeadLoopParts } from '../../../src/passes/loops/dead.js';
import { agree, counts, inputsOf } from './support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const text = `program {
  input x: float32[n, 2]
  input u: float32[n, 2]
  input h: float32[2]
  input w: float32[2]
  %0 = exp(u): float32[n, 2]
  %1 = exp(w): float32[2]
  %2, %3, %4, %5, %6 = foreach(x, %0, h, h, h, %1) {data: 2, states: 3, reverse: false, counted: false, save: "auto"} [@0 {
    input x: float32[2]
    input u: float32[2]
    input s: float32[2]
    input p: float32[2]
    input q: float32[2]
    input w: float32[2]
    %0 = add(x, s): float32[2]
    %1 = mul(u, w): float32[2]
    %2 = add(p, q): float32[2]
    %3 = mul(q, p): float32[2]
    output y = %0
    output z = %1
    output s = %0
    output p = %2
    output q = %3
  }]: float32[n, 2], float32[n, 2], float32[2], float32[2], float32[2]
  %7 = neg(%3): float32[n, 2]
  output y = %2
}`;

test('rows and states that nobody reads go, with all that only they needed', () => {
  turns(
    eliminateDeadLoopParts,
    text,
    `program {
      input x: float32[n, 2]
      input u: float32[n, 2]
      input h: float32[2]
      input w: float32[2]
      %0, %1 = foreach(x, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2]
        input s: float32[2]
        %0 = add(x, s): float32[2]
        output y = %0
        output s = %0
      }]: float32[n, 2], float32[2]
      output y = %0
    }`,
  );
  const program = parse(text);
  for (const n of [0, 1, 3])
    agree(program, eliminateDeadLoopParts(program), inputsOf(program, { n }));
});

test('a state that another one reads stays', () => {
  leaves(
    eliminateDeadLoopParts,
    `program {
      input x: float32[n]
      input h: float32[]
      %0, %1 = foreach(x, h, h) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[]
        input s: float32[]
        input r: float32[]
        %0 = add(s, r): float32[]
        %1 = add(x, r): float32[]
        output s = %0
        output r = %1
      }]: float32[], float32[]
      output s = %0
    }`,
  );
});

test('something of the length of the data stays to iterate over', () => {
  turns(
    eliminateDeadLoopParts,
    `program {
      input x: float32[n, 2]
      input h: float32[2]
      %0 = exp(x): float32[n, 2]
      %1 = foreach(%0, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[2]
        input s: float32[2]
        %0 = square(s): float32[2]
        output s = %0
      }]: float32[2]
      output s = %1
    }`,
    `program {
      input x: float32[n, 2]
      input h: float32[2]
      %0 = fill() {shape: ["n"], value: 0, dtype: "bool"}: bool[n]
      %1 = foreach(%0, h) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: bool[]
        input s: float32[2]
        %0 = square(s): float32[2]
        output s = %0
      }]: float32[2]
      output s = %1
    }`,
  );
});

test('of an operand that only has a size of the body, the size is passed', () => {
  turns(
    eliminateDeadLoopParts,
    `program {
      input x: float32[n]
      input w: float32[k, 2]
      input v: float32[k]
      %0, %1 = foreach(x, v, w, v) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@0 {
        input x: float32[]
        input s: float32[i]
        input w: float32[j, 2]
        input v: float32[i]
        %0 = fill() {shape: ["j"], value: 2, dtype: "float32"}: float32[j]
        %1 = mul(%0, x): float32[j]
        output y = %1
        output s = v
      }]: float32[n, k], float32[k]
      output y = %0
    }`,
    `program {
      input x: float32[n]
      input w: float32[k, 2]
      input v: float32[k]
      %0 = foreach(x) {data: 1, states: 0, reverse: false, counted: false, save: "auto", sizes: ["k"]} [@0 {
        size j
        input x: float32[]
        %0 = fill() {shape: ["j"], value: 2, dtype: "float32"}: float32[j]
        %1 = mul(%0, x): float32[j]
        output y = %1
      }]: float32[n, k]
      output y = %0
    }`,
  );
});

test('condition and body are passed the same sizes', () => {
  turns(
    eliminateDeadLoopParts,
    `program {
      input i: int64[]
      input w: float32[n, m]
      %0, %1 = whileLoop(i, w) {states: 1, limit: null, padded: false, save: "auto"} [@0 {
        input i: int64[]
        input w: float32[a, b]
        %0 = fill() {shape: ["b"], value: 1, dtype: "int64"}: int64[b]
        %1 = sum(%0) {axes: null, keepdims: false}: int64[]
        %2 = less(i, %1): bool[]
        output go = %2
      }, @1 {
        input i: int64[]
        input w: float32[c, d]
        %0 = fill() {shape: ["c", "d"], value: 1, dtype: "int64"}: int64[c, d]
        %1 = sum(%0) {axes: null, keepdims: false}: int64[]
        %2 = add(i, %1): int64[]
        output i = %2
      }]: int64[], int32[]
      output y = %0
    }`,
    `program {
      input i: int64[]
      input w: float32[n, m]
      %0, %1 = whileLoop(i) {states: 1, limit: null, padded: false, save: "auto", sizes: ["m", "n"]} [@0 {
        size b
        size size_0
        input i: int64[]
        %0 = fill() {shape: ["b"], value: 1, dtype: "int64"}: int64[b]
        %1 = sum(%0) {axes: null, keepdims: false}: int64[]
        %2 = less(i, %1): bool[]
        output go = %2
      }, @1 {
        size d
        size c
        input i: int64[]
        %0 = fill() {shape: ["c", "d"], value: 1, dtype: "int64"}: int64[c, d]
        %1 = sum(%0) {axes: null, keepdims: false}: int64[]
        %2 = add(i, %1): int64[]
        output i = %2
      }]: int64[], int32[]
      output y = %0
    }`,
  );
});

const loop = (outputs: string): string => `program {
  input i: int32[]
  input x: float32[3]
  input w: float32[3]
  %0, %1, %2, %3, %4 = whileLoop(i, x, x, w) {states: 3, limit: null, padded: false, save: "auto"} [@0 {
    input i: int32[]
    input x: float32[3]
    input z: float32[3]
    input w: float32[3]
    %0 = constant int32[] [5]
    %1 = less(i, %0): bool[]
    output go = %1
  }, @1 {
    input i: int32[]
    input x: float32[3]
    input z: float32[3]
    input w: float32[3]
    %0 = constant int32[] [1]
    %1 = add(i, %0): int32[]
    %2 = add(x, w): float32[3]
    %3 = mul(z, x): float32[3]
    output y = %3
    output i = %1
    output x = %2
    output z = %3
  }]: float32[rows_0, 3], int32[], float32[3], float32[3], int32[]
  ${outputs}
}`;

test('what the condition of a whileLoop reads is alive', () => {
  turns(
    eliminateDeadLoopParts,
    loop('output count = %4'),
    `program {
      input i: int32[]
      input x: float32[3]
      input w: float32[3]
      %0, %1 = whileLoop(i) {states: 1, limit: null, padded: false, save: "auto"} [@0 {
        input i: int32[]
        %0 = constant int32[] [5]
        %1 = less(i, %0): bool[]
        output go = %1
      }, @1 {
        input i: int32[]
        %0 = constant int32[] [1]
        %1 = add(i, %0): int32[]
        output i = %1
      }]: int32[], int32[]
      output count = %1
    }`,
  );
  const program = parse(loop('output x = %2'));
  agree(program, eliminateDeadLoopParts(program), inputsOf(program));
});

test('of two lists of rows whose number only the loop decides, the one that is read stays', () => {
  const program = parse(`program {
    input i: int32[]
    %0, %1, %2, %3 = whileLoop(i) {states: 1, limit: null, padded: false, save: "auto"} [@0 {
      input i: int32[]
      %0 = constant int32[] [5]
      %1 = less(i, %0): bool[]
      output go = %1
    }, @1 {
      input i: int32[]
      %0 = constant int32[] [1]
      %1 = add(i, %0): int32[]
      output dead = i
      output read = %1
      output i = %1
    }]: int32[rows_0], int32[rows_0], int32[], int32[]
    output read = %1
  }`);
  const after = eliminateDeadLoopParts(program);
  verify(after);
  const body = after.node(after.outputs[0].value.node);
  assert.ok(body.kind === 'call');
  assert.deepEqual(
    body.regions[1].outputs.map(({ name }) => name),
    ['read', 'i'],
  );
  agree(program, after, inputsOf(program));
});

test('rows stay where their number is spoken of', () => {
  const program = parse(
    loop(`%5 = fill() {shape: ["rows_0"], value: 1, dtype: "float32"}: float32[rows_0]
  output ones = %5`),
  );
  const after = eliminateDeadLoopParts(program);
  verify(after);
  assert.equal(after, program);
});

test('rows stay where a later loop reads nothing of them but their number', () => {
  const program = parse(
    loop(`%5 = foreach(x, %0, %0) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@2 {
    input x: float32[]
    input r: float32[k, 3]
    input s: float32[k, 3]
    %0 = fill() {shape: ["k"], value: 1, dtype: "float32"}: float32[k]
    %1 = sum(%0) {axes: null, keepdims: false}: float32[]
    %2 = mul(%1, x): float32[]
    output y = %2
  }]: float32[3]
  output y = %5
  output count = %4`),
  );
  const after = eliminateDeadLoopParts(program);
  verify(after);
  const [last] = after.outputs.map(({ value }) => value.node);
  assert.equal(after.operands(last).length, 1);
  const [rows] = after.sizeReads(last);
  const maker = after.node(rows.node);
  assert.ok(maker.kind === 'call');
  assert.equal(maker.op.name, 'whileLoop');
  agree(program, after, inputsOf(program));
});

test('rows stay of whose number something is required', () => {
  const program = parse(
    loop(`output count = %4
  require rows_0 - 2 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["2"],"actual":["rows_0"]}`),
  );
  const after = eliminateDeadLoopParts(program);
  verify(after);
  assert.equal(after.requirements.length, 1);
  const [rows] = after.results(after.outputs[0].value.node);
  assert.equal(String(rows.type.shape[0]), 'rows_0');
});

test('what an inner loop no longer reads dies in the outer one', () => {
  const program = parse(`program {
    input x: float32[n, m]
    input h: float32[]
    %0, %1 = foreach(x, h, h) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[k]
      input s: float32[]
      input r: float32[]
      %0 = exp(x): float32[k]
      %1, %2 = foreach(x, %0, s, r) {data: 2, states: 2, reverse: false, counted: false, save: "auto"} [@1 {
        input x: float32[]
        input e: float32[]
        input s: float32[]
        input r: float32[]
        %0 = add(x, s): float32[]
        %1 = add(e, r): float32[]
        output s = %0
        output r = %1
      }]: float32[], float32[]
      output s = %1
      output r = %2
    }]: float32[], float32[]
    output s = %0
  }`);
  const after = eliminateDeadLoopParts(program);
  verify(after);
  assert.deepEqual(counts(after, 'exp'), { outside: 0, inside: 0 });
  assert.deepEqual(counts(after, 'add'), { outside: 0, inside: 1 });
  agree(program, after, inputsOf(program, { n: 3, m: 2 }));
});

test('what finds a size in data stays where something is required of the size', () => {
  const program = (required: string): Program =>
    parse(`program {
      input x: float32[n]
      %0 = nonzero(x): int64[found, 1]
      %1 = neg(x): float32[n]
      output y = %1
      ${required}
    }`);
  const free = eliminateDeadCode(program(''));
  assert.deepEqual(counts(free, 'nonzero'), { outside: 0, inside: 0 });
  const required = program(
    `require found - 2 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["2"],"actual":["found"]}`,
  );
  const after = eliminateDeadCode(required);
  verify(after);
  assert.deepEqual(counts(after, 'nonzero'), { outside: 1, inside: 0 });
});

test('what a loop in a loop starts from stays, although its body does not read it', () => {
  // Where the inner loop has no iterations, its result is what it started from.
  const program = parse(`program {
    input x: float32[n, m]
    input a: float32[]
    %0, %1, %2 = foreach(x, a, a, a) {data: 1, states: 3, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[m]
      input a: float32[]
      input b: float32[]
      input c: float32[]
      %0 = foreach(x, a) {data: 1, states: 1, reverse: false, counted: false, save: "auto"} [@1 {
        input x: float32[]
        input s: float32[]
        %0 = neg(x): float32[]
        output s = %0
      }]: float32[]
      %1 = add(b, %0): float32[]
      %2 = add(a, a): float32[]
      %3 = exp(c): float32[]
      output a = %2
      output b = %1
      output c = %3
    }]: float32[], float32[], float32[]
    output b = %1
  }`);
  const after = eliminateDeadLoopParts(program);
  verify(after);
  assert.deepEqual(counts(after, 'exp'), { outside: 0, inside: 0 });
  assert.deepEqual(counts(after, 'add'), { outside: 0, inside: 2 });
  for (const [n, m] of [
    [3, 2],
    [3, 0],
    [0, 2],
  ]) {
    agree(program, after, inputsOf(program, { n, m }));
  }
});
