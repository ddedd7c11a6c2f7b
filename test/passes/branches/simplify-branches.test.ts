import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printProgram } from '../../../src/ir/formats/text.js';
import type { Program } from '../../../src/ir/program.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { simplifyBranches } from '../../../src/passes/branches/simplify-branches.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import { operand } from '../../support/programs.js';
import { counts } from '../loops/support.js';
import { leaves, parse, turns } from '../../support/program-texts.js';

const mixed = `program {
  input p: bool[]
  input x: float32[n]
  %0 = exp(x): float32[n]
  %1 = sin(x): float32[n]
  %2, %3, %4, %5, %6 = cond(p, x, %0, %1) [@0 {
    input x: float32[n]
    input a: float32[n]
    input b: float32[n]
    %0 = neg(a): float32[n]
    %1 = constant int32[] [2]
    %2 = constant bool[] [true]
    output unread = %0
    output code = %1
    output same = x
    output flag = %2
    output z = b
  }, @1 {
    input x: float32[n]
    input a: float32[n]
    input b: float32[n]
    %0 = add(b, x): float32[n]
    %1 = constant int32[] [0]
    %2 = constant bool[] [false]
    output unread = a
    output code = %1
    output same = x
    output flag = %2
    output z = %0
  }]: float32[n], int32[], float32[n], bool[], float32[n]
  output code = %3
  output same = %4
  output flag = %5
  output z = %6
}`;

test('results that are unread, known or the same in both branches go, with what only they needed', () => {
  turns(
    simplifyBranches,
    mixed,
    `program {
      input p: bool[]
      input x: float32[n]
      %0 = sin(x): float32[n]
      %1 = constant int32[] [2]
      %2 = constant int32[] [0]
      %3 = where(p, %1, %2): int32[]
      %4 = cond(p, x, %0) [@0 {
        input x: float32[n]
        input b: float32[n]
        output z = b
      }, @1 {
        input x: float32[n]
        input b: float32[n]
        %0 = add(b, x): float32[n]
        output z = %0
      }]: float32[n]
      output code = %3
      output same = x
      output flag = p
      output z = %4
    }`,
  );
});

test('programs with simpler branches compute the same', () => {
  const data = [0.5, -1, 2];
  for (const isTrue of [true, false]) {
    for (const numbers of [data, [], [3]]) {
      const results = compile(parse(mixed)).run([
        operand('bool', [], [Number(isTrue)]),
        operand('float32', [numbers.length], numbers),
      ]);
      const [code, same, flag, z] = results.map((each) => [...numbersOf(each)]);
      assert.deepEqual([code, same, flag], [[isTrue ? 2 : 0], numbers, [Number(isTrue)]]);
      const expected = numbers.map((x) => Math.sin(x) + (isTrue ? 0 : x));
      z.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-6));
    }
  }
});

test('what is computed of a known end of a path is the predicate or its negation', () => {
  const ends = (code: string): string => `program {
    input p: bool[]
    input x: float32[4]
    %0 = cond(p) [@0 {
      %0 = constant int32[] [2]
      output code = %0
    }, @1 {
      %0 = constant int32[] [0]
      output code = %0
    }]: int32[]
    %1 = constant int32[] [${code}]
    %2 = equal(%0, %1): bool[]
    %3 = cond(%2, x) [@2 {
      input x: float32[4]
      %0 = exp(x): float32[4]
      output y = %0
    }, @3 {
      input x: float32[4]
      output y = x
    }]: float32[4]
    output y = %3
    output holds = %2
  }`;
  const taken = (code: string): Program =>
    simplifyBranches(parse(ends(code)), { evaluate: evaluateConstant });
  const [exp, same] = ['%0 = exp(x): float32[4]\noutput y = %0', 'output y = x'];
  const branch = (first: string, second: string): string => `cond(p, x) [@0 {
    input x: float32[4]
    ${first}
  }, @1 {
    input x: float32[4]
    ${second}
  }]: float32[4]`;
  const texts: Readonly<Record<string, string>> = {
    2: `%0 = ${branch(exp, same)}
        output y = %0
        output holds = p`,
    0: `%0 = logicalNot(p): bool[]
        %1 = ${branch(same, exp)}
        output y = %1
        output holds = %0`,
  };
  for (const [code, body] of Object.entries(texts)) {
    const expected = parse(`program { input p: bool[]\ninput x: float32[4]\n${body} }`);
    assert.equal(printProgram(taken(code)), printProgram(expected));
  }
  // A number that neither path has.
  assert.match(printProgram(taken('1')), /constant bool\[\] \[false\]/);
});

test('what a branch computes twice is one result; a negated predicate turns the branches', () => {
  turns(
    simplifyBranches,
    `program {
      input p: bool[]
      input x: float32[4]
      %0 = logicalNot(p): bool[]
      %1, %2 = cond(%0, x) [@0 {
        input x: float32[4]
        %0 = exp(x): float32[4]
        output a = %0
        output b = %0
      }, @1 {
        input x: float32[4]
        output a = x
        output b = x
      }]: float32[4], float32[4]
      output a = %1
      output b = %2
    }`,
    `program {
      input p: bool[]
      input x: float32[4]
      %0 = cond(p, x) [@0 {
        input x: float32[4]
        output a = x
      }, @1 {
        input x: float32[4]
        %0 = exp(x): float32[4]
        output a = %0
      }]: float32[4]
      output a = %0
      output b = %0
    }`,
  );
});

test('of operands that only have sizes of the branches, the sizes are passed', () => {
  turns(
    simplifyBranches,
    `program {
      input p: bool[]
      input x: float32[]
      input a: float32[n, m]
      input b: float32[n]
      %0 = cond(p, x, a, b) [@0 {
        input x: float32[]
        input a: float32[i, j]
        input b: float32[i]
        %0 = fill() {shape: ["j"], value: 2, dtype: "float32"}: float32[j]
        %1 = mul(%0, x): float32[j]
        require j - 2 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["2"],"actual":["j"]}
        output y = %1
      }, @1 {
        input x: float32[]
        input a: float32[k, l]
        input b: float32[k]
        %0 = broadcastTo(x) {shape: ["l"]}: float32[l]
        require k - 1 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["1"],"actual":["k"]}
        output y = %0
      }]: float32[m]
      output y = %0
    }`,
    `program {
      input p: bool[]
      input x: float32[]
      input a: float32[n, m]
      input b: float32[n]
      %0 = cond(p, x) {sizes: ["m", "n"]} [@0 {
        size j
        size size_0
        input x: float32[]
        %0 = fill() {shape: ["j"], value: 2, dtype: "float32"}: float32[j]
        %1 = mul(%0, x): float32[j]
        require j - 2 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["2"],"actual":["j"]}
        output y = %1
      }, @1 {
        size l
        size k
        input x: float32[]
        %0 = broadcastTo(x) {shape: ["l"]}: float32[l]
        require k - 1 >= 0 {"error":"shape","op":"topK","problem":["too few"],"expected":["1"],"actual":["k"]}
        output y = %0
      }]: float32[m]
      output y = %0
    }`,
  );
});

test('branches in loops become simpler until nothing is left to do', () => {
  // The state s only passes through the branch, so it passes through the loop.
  const text = `program {
    input x: float32[n]
    input s: float32[]
    input t: float32[]
    %0, %1, %2 = foreach(x, s, t) {data: 1, states: 2, reverse: false, counted: false, save: "auto"} [@0 {
      input x: float32[]
      input s: float32[]
      input t: float32[]
      %0 = greater(x, s): bool[]
      %1, %2 = cond(%0, s, t, x) [@1 {
        input s: float32[]
        input t: float32[]
        input x: float32[]
        %0 = add(t, x): float32[]
        output s = s
        output t = %0
      }, @2 {
        input s: float32[]
        input t: float32[]
        input x: float32[]
        output s = s
        output t = t
      }]: float32[], float32[]
      output y = %2
      output s = %1
      output t = %2
    }]: float32[n], float32[], float32[]
    output y = %0
    output s = %1
    output t = %2
  }`;
  const made = runPipeline(parse(text));
  const loop = [...made.graph.nodes()].map((id) => made.node(id)).find((each) => each.kind === 'call' && each.regions.length > 0); // prettier-ignore
  assert.equal(loop?.kind === 'call' && loop.attributes['states'], 1);
  assert.equal(counts(made, 'cond').inside, 1);
});

test('branches that need all they have, or decide sizes, stay', () => {
  leaves(
    simplifyBranches,
    `program {
      input p: bool[]
      input x: float32[n]
      %0 = cond(p, x) [@0 {
        input x: float32[n]
        %0 = exp(x): float32[n]
        output y = %0
      }, @1 {
        input x: float32[n]
        output y = x
      }]: float32[n]
      output y = %0
    }`,
  );
  leaves(
    simplifyBranches,
    `program {
      input p: bool[]
      input m: bool[n]
      input x: float32[n]
      %0, %1 = cond(p, m, x) [@0 {
        input m: bool[n]
        input x: float32[n]
        %0 = booleanMask(x, m): float32[size_0] decides [size_0 <= n]
        output y = %0
        output z = x
      }, @1 {
        input m: bool[n]
        input x: float32[n]
        output y = x
        output z = x
      }]: float32[size_0], float32[n] decides [size_0]
      output y = %0
    }`,
  );
});
