import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { InternalError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { verify } from '../../../src/ir/verify.js';
import { operator, type OperatorFunction } from '../../../src/ops/declare/declare.js';
import { add, neg, square } from '../../../src/ops/elementwise/arithmetic.js';
import type { AttributeSchema } from '../../../src/base/attributes/schema.js';
import type { Lowering } from '../../../src/ops/declare/lowering.js';
import type { Unary } from '../../../src/ops/signatures.js';
import { call } from '../../../src/ops/structure/call.js';
import { eliminateCommonSubexpressions } from '../../../src/passes/simplify/cse.js';
import { decompose } from '../../../src/passes/simplify/decompose.js';
import { foldConstants } from '../../../src/passes/simplify/fold.js';
import { inline } from '../../../src/passes/rewrite/inline.js';
import { passes, type PassReport, runPipeline } from '../../../src/passes/pipeline.js';
import { throughRegions, transform } from '../../../src/passes/rewrite/transform.js';
import * as texts from '../../support/program-texts.js';

/** `square(x) + x`, by way of `doubly` inside. */
const deeply: OperatorFunction<Unary> = operator({
  name: 'deeply',
  family: 'structure',
  attributes: {},
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: 'none',
  lowering: { kind: 'decompose', decompose: ({ inputs: [x] }) => [add(doubly(x), x)] },
  samples: [],
});
const doubly: OperatorFunction<Unary> = operator({
  name: 'doubly',
  family: 'structure',
  attributes: {},
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: 'none',
  lowering: { kind: 'decompose', decompose: ({ inputs: [x] }) => [square(x)] },
  samples: [],
});
const endless: OperatorFunction<Unary> = operator({
  name: 'endless',
  family: 'structure',
  attributes: {},
  call: (x) => ({ inputs: [x], attributes: {} }),
  infer: ({ inputs: [x] }) => [x],
  gradient: 'none',
  lowering: { kind: 'decompose', decompose: ({ inputs: [x] }) => [endless(x)] },
  samples: [],
});
/** A vector whose length only the data knows; `selected` is written with `select`. */
const selecting = (name: string, lowering: Lowering) =>
  operator<Unary, AttributeSchema>({
    name,
    family: 'structure',
    attributes: {},
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: ({ inputs: [x], fresh }) => [{ dtype: x.dtype, shape: [fresh('count', { min: 1 })] }],
    gradient: 'none',
    lowering,
    samples: [],
  });
const select: OperatorFunction<Unary> = selecting('select', { kind: 'view' });
const selected: OperatorFunction<Unary> = selecting('selected', {
  kind: 'decompose',
  decompose: ({ inputs: [x] }) => [select(x)],
});

const own = [deeply, doubly, endless, select, selected].map(({ declaration }) => declaration);
const parse = (text: string): Program => texts.parse(text, own);
const turns = (pass: (program: Program) => Program, before: string, after: string): void =>
  texts.turns(pass, before, after, own);

test('decompose expands to the end and keeps sources', () => {
  turns(
    decompose,
    `program {
      input x: float32[n]
      %0 = deeply(x): float32[n]  // a.ts:1:1
      %1 = deeply(%0): float32[n]  // a.ts:2:1
      output y = %1
    }`,
    `program {
      input x: float32[n]
      %0 = square(x): float32[n]  // a.ts:1:1
      %1 = add(%0, x): float32[n]  // a.ts:1:1
      %2 = square(%1): float32[n]  // a.ts:2:1
      %3 = add(%2, %1): float32[n]  // a.ts:2:1
      output y = %3
    }`,
  );
});

test('a dimension that the expansion introduces replaces the one it stands for', () => {
  const after = decompose(
    parse(`program {
      dim 1 <= count_0
      dim 1 <= count_1
      input x: float32[n]
      %0 = selected(x): float32[count_0]
      %1 = selected(%0): float32[count_1]
      %2 = neg(%1): float32[count_1]
      output y = %2
      output z = %0
    }`),
  );
  verify(after);
  const [y, z] = after.outputs.map(({ value }) => String(value.type.shape[0]));
  assert.notEqual(y, z);
  assert.equal(after.graph.nodeCount, 4);
});

test('decomposition inside regions, and one that never ends', () => {
  turns(
    decompose,
    `program {
      input x: float32[3]
      %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        input a: float32[n]
        %0 = doubly(a): float32[n]
        output b = %0
      }]: float32[3]
      output y = %0
    }`,
    `program {
      input x: float32[3]
      %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        input a: float32[n]
        %0 = square(a): float32[n]
        output b = %0
      }]: float32[3]
      output y = %0
    }`,
  );
  const program = parse('program { input x: float32[] %0 = endless(x): float32[] output y = %0 }');
  assert.throws(() => decompose(program), InternalError);
});

test('inlining renames the dimensions of the region: those that it decides as the call does', () => {
  turns(
    (program) => inline(program),
    `program {
      dim 1 <= found_0
      input x: float32[m, 2]
      %0, %1 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        dim 1 <= count_0
        input a: float32[n, k]
        %0 = select(a): float32[count_0]
        %1 = neg(%0): float32[count_0]
        %2 = neg(a): float32[n, k]
        output b = %1
        output c = %2
      }]: float32[found_0], float32[m, 2]
      %2 = neg(%0): float32[found_0]
      output y = %2
      output z = %1
    }`,
    `program {
      dim 1 <= found_0
      input x: float32[m, 2]
      %0 = select(x): float32[found_0]
      %1 = neg(%0): float32[found_0]
      %2 = neg(x): float32[m, 2]
      %3 = neg(%1): float32[found_0]
      output y = %3
      output z = %2
    }`,
  );
});

test('calls in calls become flat, and a region may return its input', () => {
  turns(
    (program) => inline(program),
    `program {
      input x: float32[3]
      %0 = call(x) {saved: [], flows: [], wrt: [], gives: []} [@0 {
        input a: float32[n]
        %0, %1 = call(a) {saved: [], flows: [], wrt: [], gives: []} [@1 {
          input b: float32[m]
          %0 = neg(b): float32[m]
          output c = %0
          output b = b
        }]: float32[n], float32[n]
        %2 = add(%0, %1): float32[n]
        output d = %2
      }]: float32[3]
      output y = %0
    }`,
    `program {
      input x: float32[3]
      %0 = neg(x): float32[3]
      %1 = add(%0, x): float32[3]
      output y = %1
    }`,
  );
});

test('merging calls that introduce dimensions merges the dimensions', () => {
  turns(
    eliminateCommonSubexpressions,
    `program {
      dim 1 <= count_0
      dim 1 <= count_1
      input x: float32[n]
      %0 = select(x): float32[count_0]
      %1 = select(x): float32[count_1]
      %2 = neg(%1): float32[count_1]
      %3 = neg(%0): float32[count_0]
      output y = %2
      output z = %3
    }`,
    `program {
      dim 1 <= count_0
      input x: float32[n]
      %0 = select(x): float32[count_0]
      %1 = neg(%0): float32[count_0]
      output y = %1
      output z = %1
    }`,
  );
});

test('constants are folded when small, and only then', () => {
  const before = `program {
    input x: float32[2]
    %0 = constant float32[2] [1, 2]
    %1 = mul(%0, %0): float32[2]
    %2 = neg(%1): float32[2]
    %3 = add(x, %2): float32[2]
    %4 = sum(%0) {axes: null, keepdims: false}: float32[]
    output y = %3
    output z = %4
  }`;
  const asked: string[] = [];
  const folded = foldConstants(parse(before), {
    evaluate: ({ op, types: [type] }, [a, b]) => {
      asked.push(op.name);
      if (op.name === 'sum') return null;
      const f =
        op.name === 'mul'
          ? (i: number) => Number(a.data[i]) * Number(b.data[i])
          : (i: number) => -Number(a.data[i]);
      const shape = type.shape as readonly number[];
      return [{ type: { dtype: 'float32', shape }, data: Float32Array.from([0, 1], f) }];
    },
  });
  assert.deepEqual(asked, ['mul', 'neg', 'sum']);
  turns(
    () =>
      runPipeline(
        folded,
        passes.filter(({ name }) => name === 'dce'),
      ),
    before,
    `program {
      input x: float32[2]
      %0 = constant float32[2] [1, 2]
      %1 = constant float32[2] [-1, -4]
      %2 = add(x, %1): float32[2]
      %3 = sum(%0) {axes: null, keepdims: false}: float32[]
      output y = %2
      output z = %3
    }`,
  );
  const never = (): never => {
    throw new Error('asked for something too large');
  };
  const program = parse(
    before.replace(
      '%4 = sum(%0) {axes: null, keepdims: false}: float32[]',
      '%4 = neg(x): float32[2]',
    ),
  );
  assert.equal(foldConstants(program, { evaluate: never, limit: 1 }), program);
});

test('a replacement of another type is our own fault, told with operator and line', () => {
  const program = parse(`program {
    input x: float32[n]
    %0 = neg(x): float32[n]  // a.ts:7:1
    output y = %0
  }`);
  const wrong = (program: Program): Program =>
    transform(program, ({ into }) => [
      into.constant({ type: { dtype: 'float32', shape: [1] }, data: new Float32Array(1) }),
    ]);
  assert.throws(
    () => wrong(program),
    (error) => error instanceof InternalError && error.op === 'neg' && error.source === 'a.ts:7:1',
  );
});

test('nothing to do gives the program itself; regions are visited once', () => {
  const region = new Program();
  region.setOutputs([
    {
      name: 'b',
      value: neg<Value>(region.variable('a', { dtype: 'float32', shape: [symbol('n')] })),
    },
  ]);
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [2] });
  const [once] = call<Value>(region, x);
  const [twice] = call<Value>(region, once);
  program.setOutputs([{ name: 'y', value: twice }]);
  assert.equal(
    transform(program, () => undefined),
    program,
  );
  assert.equal(
    transform(program, (site) => site.copy()),
    program,
  );
  const visited: Program[] = [];
  const result = throughRegions(program, (inner, region) => {
    visited.push(inner);
    return transform(inner, () => undefined, { region });
  });
  assert.equal(result, program);
  assert.deepEqual(visited, [program, region]);
});

test('the pipeline reports every pass', () => {
  const program = parse(`program {
    input x: float32[n]
    %0 = deeply(x): float32[n]
    %1 = square(x): float32[n]
    %2 = neg(%1): float32[n]
    output y = %0
    output z = %1
  }`);
  const reports: PassReport[] = [];
  const result = runPipeline(program, passes, { observe: (report) => reports.push(report) });
  const concerned = passes.filter(({ concerns }) => concerns === undefined);
  assert.deepEqual(
    reports.map(({ name }) => name),
    concerned.map(({ name }) => name),
  );
  const changing = reports.filter(({ unchanged }) => !unchanged).map(({ name }) => name);
  assert.deepEqual(changing, ['decompose', 'cse', 'dce']);
  assert.ok(reports.every(({ milliseconds }) => milliseconds >= 0));
  assert.equal(reports[0].before, program);
  assert.equal(reports.at(-1)!.after, result);
  assert.deepEqual(
    printProgram(result),
    printProgram(
      parse(`program {
      input x: float32[n]
      %0 = square(x): float32[n]
      %1 = add(%0, x): float32[n]
      output y = %1
      output z = %0
    }`),
    ),
  );
  assert.ok(passes.every(({ doc }) => doc.length > 0));
});
