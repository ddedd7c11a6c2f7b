import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simplifyBranches } from '../../../src/passes/branches/simplify-branches.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import { operand } from '../../support/programs.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

/** The end of a path behind a `break`: the next number, whether that is below a limit, and an array. */
const ends = `program {
  input p: bool[]
  input i: int32[]
  input x: float32[n]
  input t: bool[]
  %0, %1, %2, %3 = cond(p, i, x, t) [@0 {
    input i: int32[]
    input x: float32[n]
    input t: bool[]
    %0 = constant int32[] [1]
    %1 = add(i, %0): int32[]
    %2 = constant int32[] [6]
    %3 = less(%1, %2): bool[]
    %4 = exp(x): float32[n]
    output next = %1
    output test = %3
    output y = %4
    output other = t
  }, @1 {
    input i: int32[]
    input x: float32[n]
    input t: bool[]
    %0 = constant bool[] [false]
    %1 = constant bool[] [true]
    output next = i
    output test = %0
    output y = x
    output other = %1
  }]: int32[], bool[], float32[n], bool[]
  output next = %0
  output test = %1
  output y = %2
  output other = %3
}`;

test('single integers and bools of the paths are selected, and what the predicate says is logic', () => {
  turns(
    simplifyBranches,
    ends,
    `program {
      input p: bool[]
      input i: int32[]
      input x: float32[n]
      input t: bool[]
      %0 = constant int32[] [1]
      %1 = add(i, %0): int32[]
      %2 = where(p, %1, i): int32[]
      %3 = constant int32[] [1]
      %4 = add(i, %3): int32[]
      %5 = constant int32[] [6]
      %6 = less(%4, %5): bool[]
      %7 = logicalAnd(p, %6): bool[]
      %8 = logicalNot(p): bool[]
      %9 = logicalOr(%8, t): bool[]
      %10 = cond(p, x) [@0 {
        input x: float32[n]
        %0 = exp(x): float32[n]
        output y = %0
      }, @1 {
        input x: float32[n]
        output y = x
      }]: float32[n]
      output next = %2
      output test = %7
      output y = %10
      output other = %9
    }`,
  );
});

test('selections give what the branch gives', () => {
  for (const p of [0, 1]) {
    for (const t of [0, 1]) {
      for (const i of [4, 5, 2 ** 31 - 1]) {
        const given = [
          operand('bool', [], [p]),
          operand('int32', [], [i]),
          operand('float32', [2], [0, 1]),
          operand('bool', [], [t]),
        ];
        const [next, below, y, other] = compile(parse(ends)).run(given).map((each) => [...numbersOf(each)]); // prettier-ignore
        const after = (i + 1) | 0;
        assert.deepEqual([next, below, other], p === 1 ? [[after], [Number(after < 6)], [t]] : [[i], [0], [1]]); // prettier-ignore
        assert.ok(Math.abs(y[1] - (p === 1 ? Math.E : 1)) < 1e-6);
      }
    }
  }
});

/** The body of a loop, in which a path computes numbers of a dtype by some calls. */
const within = (dtype: string, calls: string, last: string): string => `program {
  input p: bool[]
  input i: ${dtype}[]
  %0, %1, %2 = whileLoop(p, i) {states: 2, limit: 9, padded: false, save: "auto"} [@0 {
    input p: bool[]
    input i: ${dtype}[]
    output p = p
  }, @1 {
    input p: bool[]
    input i: ${dtype}[]
    %0 = cond(p, i) [@2 {
      input i: ${dtype}[]
      ${calls}
      output next = ${last}
    }, @3 {
      input i: ${dtype}[]
      output next = i
    }]: ${dtype}[]
    output p = p
    output i = %0
  }]: bool[], ${dtype}[], int32[]
  output i = %1
}`;

test('in the body of a loop, too', () => {
  turns(
    simplifyBranches,
    within('int32', '%0 = neg(i): int32[]', '%0'),
    `program {
      input p: bool[]
      input i: int32[]
      %0, %1, %2 = whileLoop(p, i) {states: 2, limit: 9, padded: false, save: "auto"} [@0 {
        input p: bool[]
        input i: int32[]
        output p = p
      }, @1 {
        input p: bool[]
        input i: int32[]
        %0 = neg(i): int32[]
        %1 = where(p, %0, i): int32[]
        output p = p
        output i = %1
      }]: bool[], int32[], int32[]
      output i = %1
    }`,
  );
});

test('floats that a path computes stay in it, whose gradients the other path must not spoil, and long computations', () => {
  leaves(simplifyBranches, within('float32', '%0 = neg(i): float32[]', '%0'));
  const long = Array.from({ length: 5 }, (_, k) => `%${k} = neg(${k === 0 ? 'i' : `%${k - 1}`}): int32[]`); // prettier-ignore
  leaves(simplifyBranches, within('int32', long.join('\n'), '%4'));
});
