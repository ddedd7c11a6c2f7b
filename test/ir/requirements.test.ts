import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  type Dim,
  type DimExpr,
  evaluateDim,
  mulDim,
  subDim,
  symbol,
} from '../../src/base/dim/index.js';
import { ArgumentError, FormatError, GraphError, ShapeError } from '../../src/base/errors.js';
import { checkRequirements } from '../../src/ir/check-requirements.js';
import { programFromJSON, programToJSON } from '../../src/ir/formats/json.js';
import { parseProgram } from '../../src/ir/formats/parse.js';
import { Program } from '../../src/ir/program.js';
import {
  atLeast,
  type Condition,
  divisible,
  equalSizes,
  requireAt,
  requireNow,
  requireOrKeep,
  type Requirement,
  speaksOnlyOf,
  words,
} from '../../src/ir/requirement.js';
import { printProgram } from '../../src/ir/formats/text.js';
import { verify } from '../../src/ir/verify.js';
import { call, mul, reshape, topK } from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { eliminateDeadCode } from '../../src/passes/rewrite/dce.js';
import { inline } from '../../src/passes/rewrite/inline.js';
import { jointProgram } from '../../src/passes/gradient/joint.js';
import { withOutputs } from '../../src/passes/rewrite/outputs.js';
import { programOf } from '../support/programs.js';

const [n, m] = [symbol('n'), symbol('m')];
const float = (...shape: Dim[]) => ({ dtype: 'float32' as const, shape });
const lookup = (name: string): ReturnType<typeof registry.get> => registry.get(name);

function requirementOf(condition: Condition): Requirement {
  const kept: Requirement[] = [];
  requireOrKeep((requirement) => kept.push(requirement))(condition, () => ({
    error: 'argument',
    op: 'test',
    problem: words`problem with ${n}`,
    expected: words`[${[n, 3]}]`,
    actual: words`${m}`,
  }));
  assert.equal(kept.length, 1);
  return kept[0];
}

/** Whether a condition holds at these sizes. */
function holds(condition: Condition, sizes: ReadonlyMap<string, number>): boolean {
  if (typeof condition === 'boolean') return condition;
  try {
    requireAt(requirementOf(condition), sizes, requireNow);
    return true;
  } catch (error) {
    assert.ok(error instanceof ArgumentError);
    return false;
  }
}

const polynomials: fc.Arbitrary<Dim> = fc
  .tuple(
    fc.integer({ min: -3, max: 3 }),
    fc.integer({ min: -3, max: 3 }),
    fc.integer({ min: -6, max: 6 }),
  ) // prettier-ignore
  .map(([a, b, c]) => subDim(subDim(mulDim(a, n), mulDim(b, m)), c));

test('conditions mean what arithmetic says, decided early or late', () => {
  const size = fc.integer({ min: 0, max: 7 });
  fc.assert(
    fc.property(polynomials, polynomials, fc.integer({ min: 1, max: 4 }), size, size, (a, b, by, i, j) => {
      const sizes = new Map([['n', i], ['m', j]]);
      const [x, y] = [a, b].map((dim) => evaluateDim(dim, sizes));
      assert.equal(holds(atLeast(a, b), sizes), x >= y);
      assert.equal(holds(equalSizes(a, b), sizes), x === y);
      assert.equal(holds(divisible(a, by), sizes), ((x % by) + by) % by === 0);
    }),
    { seed: 16, numRuns: 500 },
  ); // prettier-ignore
});

test('what the ranges of symbols decide is settled at once', () => {
  const k = symbol('k', { min: 2, max: 5 });
  assert.equal(atLeast(k, 2), true);
  assert.equal(atLeast(k, 6), false);
  assert.equal(equalSizes(k, 7), false);
  assert.equal(equalSizes(n, n), true);
  assert.equal(divisible(mulDim(4, n), 2), true);
  assert.notEqual(typeof atLeast(k, 3), 'boolean');
});

test('an equation is the same one from both sides', () => {
  const program = new Program();
  program.variable('x', float(n, m));
  program.require(requirementOf(equalSizes(n, m)));
  program.require(requirementOf(equalSizes(m, n)));
  program.require(requirementOf(atLeast(n, m)));
  assert.equal(program.requirements.length, 2);
});

test('appending a call collects what it requires, once, with the line of the first', () => {
  const program = programOf({ x: float(n) }, ({ x }) => {
    const { program: into } = x;
    const values = into.withSource('model.ts:3:1', () => topK(x, 3).values);
    into.withSource('model.ts:4:1', () => topK(x, 3).values);
    into.withSource('model.ts:5:1', () => reshape(x, [-1, 2]));
    return { y: values };
  });
  const at = program.requirements.map(({ op, source }) => [op, source]);
  assert.deepEqual(at, [
    ['topK', 'model.ts:3:1'],
    ['reshape', 'model.ts:5:1'],
  ]);
});

test('a failed check names operator, sizes and line; others are tried anew', () => {
  const program = programOf({ x: float(n) }, ({ x }) =>
    x.program.withSource('model.ts:3:1', () => ({ y: topK(x, 3).values })),
  );
  const check = (size: number): void => checkRequirements(program, [{ type: float(size) }]);
  for (let time = 0; time < 2; time++) {
    check(3);
    assert.throws(() => check(2), (error: unknown) => {
      assert.ok(error instanceof ShapeError);
      const { op, code, problem, expected, actual, source } = error;
      assert.deepEqual(
        { op, code, problem, expected, actual, source },
        {
          op: 'topK',
          code: 'KAON_SHAPE',
          problem: 'axis 0 does not have 3 elements',
          expected: 'at least 3 elements on axis 0',
          actual: '[2]',
          source: 'model.ts:3:1',
        },
      );
      return true;
    }); // prettier-ignore
  }
  assert.throws(() => checkRequirements(program, [{ type: float(2, 2) }]), /another rank/);
});

const demanding = (): Program =>
  programOf({ x: float(n, m) }, ({ x }) =>
    x.program.withSource('model.ts:3:1', () => ({ y: reshape(topK(x, 3, 0).values, [3, -1, 2]) })),
  );

test('text and JSON say requirements and read them back', () => {
  const program = demanding();
  assert.equal(program.requirements.length, 2);
  const text = printProgram(program);
  assert.match(text, /require n - 3 >= 0 \{.*op: "topK".*\} {2}\/\/ model\.ts:3:1/);
  assert.match(text, /require .*floorDiv\(3\*m, 6\).* = 0 \{.*op: "reshape"/);
  const json = JSON.stringify(programToJSON(program));
  for (const read of [parseProgram(text, lookup), programFromJSON(JSON.parse(json), lookup)]) {
    assert.deepEqual(read.requirements, program.requirements);
    assert.equal(printProgram(read), text);
    assert.equal(JSON.stringify(programToJSON(read)), json);
  }
});

test('a program from outside cannot leave out what its calls require', () => {
  const program = demanding();
  const lines = printProgram(program).split('\n');
  const bare = lines.filter((line) => !line.includes('require')).join('\n');
  assert.deepEqual(parseProgram(bare, lookup).requirements, program.requirements);
  const json = JSON.parse(JSON.stringify(programToJSON(program))) as {
    programs: {
      nodes: { require?: unknown; operands?: [number, number][] }[];
      outputs: Output[];
    }[];
  };
  type Output = [name: string, node: number, port: number];
  const [body] = json.programs;
  const kept = body.nodes.flatMap(({ require }, id) => (require === undefined ? [id] : []));
  assert.equal(kept.length, body.nodes.length - 2);
  body.nodes = kept.map((id) => body.nodes[id]);
  const moved = (id: number): number => kept.indexOf(id);
  for (const { operands = [] } of body.nodes) for (const at of operands) at[0] = moved(at[0]);
  body.outputs = body.outputs.map(([name, id, port]) => [name, moved(id), port]);
  assert.deepEqual(programFromJSON(json, lookup).requirements, program.requirements);
});

test('requirements of another form are refused', () => {
  interface Check {
    require: Record<string, unknown>;
    source: string;
  }
  const brokenCheck = (change: (check: Check) => void): (() => unknown) => {
    const json = JSON.parse(JSON.stringify(programToJSON(demanding()))) as {
      programs: { nodes: Partial<Check>[] }[];
    };
    change(json.programs[0].nodes.find((node) => node.require !== undefined) as Check);
    return () => programFromJSON(json, lookup);
  };
  const broken = (change: (requirement: Record<string, unknown>) => void): (() => unknown) =>
    brokenCheck(({ require }) => change(require));
  assert.throws(
    broken((one) => (one.is = 'odd')),
    FormatError,
  );
  assert.throws(
    broken((one) => (one.dim = 3)),
    FormatError,
  );
  assert.throws(
    broken((one) => (one.error = 'device')),
    FormatError,
  );
  assert.throws(
    broken((one) => (one.problem = 'text')),
    FormatError,
  );
  assert.throws(
    brokenCheck((one) => (one.source = 'a\nb')),
    FormatError,
  );
  assert.throws(
    broken((one) => (one.dim = 'nowhere - 1')),
    GraphError,
  );
});

test('the verifier refuses requirements of dimensions that are not there', () => {
  const program = programOf({ x: float(n) }, ({ x }) => ({ y: mul(x, 2) }));
  program.require(requirementOf(equalSizes(n, 3)));
  assert.throws(() => verify(program), /speaks of dimension m/);
});

test('requirements of a region are those of the call that owns it, for its operands', () => {
  const body = demanding();
  const k = symbol('k');
  const outer = programOf({ z: float(k, 4) }, ({ z }) => ({ y: call(body, z)[0] }));
  assert.deepEqual(
    outer.requirements.map(({ op, condition, source }) => [op, String(condition.dim), source]),
    [['topK', 'k - 3', 'model.ts:3:1']], // 6 divides 3 * 4
  );
  verify(outer);
  assert.throws(
    () => programOf({ z: float(2, 4) }, ({ z }) => ({ y: call(body, z)[0] })),
    (error: unknown) => error instanceof ShapeError && error.op === 'topK',
  );
  const flat = inline(outer);
  assert.deepEqual(flat.requirements, outer.requirements);
  verify(flat);
});

test('passes carry requirements along, those of calls that nothing reads, too', () => {
  const program = programOf({ x: float(n) }, ({ x }) => {
    topK(x, 3);
    return { y: mul(reshape(x, [-1, 2]), 2) };
  });
  const lean = eliminateDeadCode(program);
  assert.notEqual(lean, program);
  assert.deepEqual(lean.requirements, program.requirements);
  assert.deepEqual(withOutputs(program, []).requirements, program.requirements);
  const { forward, backward } = jointProgram(program, [true]);
  for (const requirement of program.requirements) {
    assert.ok(forward.requirements.some(({ op }) => op === requirement.op));
  }
  verify(forward);
  verify(backward);
});

test('a requirement speaks only of names that are all known, in its condition and in its words', () => {
  const [a, b] = [symbol('a'), symbol('b')];
  const of = (dim: DimExpr, said: Dim): Requirement => ({
    op: 'op',
    error: 'shape',
    condition: { dim, relation: '=' },
    problem: ['problem'],
    expected: words`${said}`,
    actual: ['0'],
  });
  const sum = subDim(a, b) as DimExpr;
  for (const [requirement, names, expected] of [
    [of(a, a), ['a'], true],
    [of(sum, a), ['a'], false],
    [of(sum, a), ['b'], false],
    [of(sum, a), ['a', 'b'], true],
    [of(a, sum), ['a'], false],
    [of(a, sum), ['a', 'b', 'c'], true],
    [of(a, 3), [], false],
  ] as const) {
    assert.equal(speaksOnlyOf(requirement, new Set<string>(names)), expected);
  }
});
