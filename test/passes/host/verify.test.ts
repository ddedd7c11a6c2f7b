import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mulDim, subDim, symbol } from '../../../src/base/dim/index.js';
import { GraphError, ShapeError } from '../../../src/base/errors.js';
import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { add, booleanMask, cond, foreach, greater, less, mul, sum, whileLoop } from '../../../src/ops/index.js'; // prettier-ignore
import { partition } from '../../../src/passes/host/partition.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { routineOf } from '../../../src/passes/host/routine.js';
import type { Handle, HostRoutine, HostStatement, Stretch } from '../../../src/passes/host/statements.js'; // prettier-ignore
import { statementLines } from '../../../src/passes/host/text.js';
import { verifyRoutine } from '../../../src/passes/host/verify.js';
import { forEachStatement } from '../../../src/passes/host/walk.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { program } from '../../runtime/dynamic/host.js';
import { elementsOf, operand } from '../../support/programs.js';
import { call, cases, doubled, handles } from './cases.js';

const [i, n] = [symbol('i'), symbol('n')];
const scalar: TensorType = { dtype: 'float32', shape: [] };
const four: TensorType = { dtype: 'float32', shape: [4] };
const rows: TensorType = { dtype: 'float32', shape: [n, 4] };
const positive = (x: Value): Value => booleanMask(x, greater(x, 0));

/** A routine of statements before which two names have values, and the first three arrays are there. */
function routine(body: readonly HostStatement[], outputs: readonly Stretch[] = []): HostRoutine {
  const sized = new Program();
  sized.takeSize(i);
  sized.takeSize(n);
  const names = new Set(['i', 'n']);
  forEachStatement(body, (statement) => {
    if (statement.kind === 'set' || statement.kind === 'load') names.add(statement.name);
    if (statement.kind !== 'call') return;
    for (const result of statement.results) {
      if (result.kind === 'own')
        for (const name of result.extents) if (name !== null) names.add(name);
    }
  });
  return {
    program: sized,
    inputs: handles.slice(0, 3),
    constants: new Map(),
    body,
    outputs,
    names,
  };
}

test('the statements that do something somewhere are sound', () => {
  for (const [kind, { body, error }] of Object.entries(cases)) {
    if (error !== undefined) continue;
    assert.doesNotThrow(() => verifyRoutine(routine(body)), kind);
  }
});

const [floats, ints, , made] = handles;
const at = (of: Handle, shape: Stretch['shape'] = [2]): Stretch => ({ of, shape });
const part = { name: 'island 0', program: doubled, isElsewhere: false };
const callee = { program: doubled, kind: 'region', isOptional: false } as const;
const site = { where: ['here'], call };
const zero = (dim: Stretch['shape'][number]) => ({ relation: '=', dim }) as const;

/** Faults, and what is said of them. */
const faults: Readonly<Record<string, readonly [readonly HostStatement[], RegExp]>> = {
  'a name without a value': [
    [{ kind: 'set', name: 'again', value: mulDim(symbol('m'), 2) }],
    /the size m has no value, in: set again = 2\*m/,
  ],
  'a name that gets its first value twice': [
    [{ kind: 'set', name: 'i', value: 1 }],
    /the name i has a value already/,
  ],
  'a name that one branch alone gives a value': [
    [
      {
        kind: 'choose',
        when: zero(i),
        consequent: [{ kind: 'set', name: 'm', value: 1 }],
        alternate: [],
      },
      { kind: 'assign', name: 'i', value: symbol('m') },
    ],
    /the size m has no value/,
  ],
  'a name that a loop gives a value behind it': [
    [
      { kind: 'repeat', body: [{ kind: 'leave', when: zero(i) }, { kind: 'set', name: 'm', value: 1 }] }, // prettier-ignore
      { kind: 'assign', name: 'i', value: symbol('m') },
    ],
    /the size m has no value/,
  ],
  'an array that is not there': [
    [{ kind: 'copy', to: at(made), from: at(floats) }],
    /array %3 is not there/,
  ],
  'an array that is there already': [
    [{ kind: 'allocate', stacks: [{ of: floats, row: [] }], rows: n }],
    /array %0 is there already/,
  ],
  'an array that an iteration drops and the next one reads': [
    [{ kind: 'repeat', body: [{ kind: 'leave', when: zero(i) }, { kind: 'drop', handles: [floats] }] }], // prettier-ignore
    /array %0 is not there/,
  ],
  'a copy of other elements': [
    [{ kind: 'copy', to: at(ints), from: at(floats) }],
    /a copy has another type/,
  ],
  'a program that is given another shape': [
    [{ kind: 'run', part, reads: [at(floats, [3])], sizes: [], gives: [made] }],
    /input x0 has another size on axis 0/,
  ],
  'a program that is given sizes that it does not take': [
    [{ kind: 'run', part, reads: [at(floats)], sizes: [n], gives: [made] }],
    /the number of sizes that a program is passed differs/,
  ],
  'a result without a place': [
    [{ kind: 'run', part, reads: [at(floats)], sizes: [], gives: [] }],
    /there are 0 results, not 1/,
  ],
  'a result in a place of another type': [
    [{ kind: 'call', callee, operands: [at(floats)], sizes: [], results: [{ kind: 'into', to: at(ints) }], site }], // prettier-ignore
    /array %1 has the dtype int32, not float32/,
  ],
  'a result in a place of another size': [
    [{ kind: 'call', callee, operands: [at(floats)], sizes: [], results: [{ kind: 'into', to: at(floats, [1]) }], site }], // prettier-ignore
    /result 0, float32\[2\], is written over another type/,
  ],
};

for (const [what, [body, message]] of Object.entries(faults)) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => verifyRoutine(routine(body)),
      (error) => error instanceof GraphError && message.test(error.message),
    );
  });
}

test('a result that is not there is refused', () => {
  assert.throws(() => verifyRoutine(routine([], [at(made)])), /array %3 is not there/);
});

const goesOn = program([scalar, four], (s) => [less(s, 10)]);
const next = program([scalar, four], (s, x) => [positive(mul(x, s)), add(s, 1)]);
const selected = program([four], (x) => [positive(x)]);
const all = program([four], (x) => [mul(x, 2)]);

/** Programs with loops and branches of the host. */
const programs: readonly Program[] = [
  program([{ dtype: 'float32', shape: [n] }], (x) => [sum(mul(positive(x), 2)), positive(x)]),
  program([rows], (x) => [...foreach<Value>(selected, { data: [x], states: [], captures: [] })]),
  program([rows], (x) => [...foreach<Value>(selected, { data: [x], states: [], captures: [], joined: 1 })]), // prettier-ignore
  program([scalar, four], (s, x) => [...whileLoop<Value>(goesOn, next, { states: [s], captures: [x], limit: null, padded: false })]), // prettier-ignore
  program([scalar, four], (s, x) => [sum(cond<Value>(greater(s, 0), selected, all, [x])[0])]),
];

/** Bodies in which one statement that gives something a first value is missing, with that statement. */
function* withoutOne(
  body: readonly HostStatement[],
): Generator<readonly [missing: HostStatement, rest: readonly HostStatement[]]> {
  for (const [k, statement] of body.entries()) {
    const others = (...instead: HostStatement[]): HostStatement[] => body.toSpliced(k, 1, ...instead); // prettier-ignore
    if (statement.kind === 'repeat') {
      for (const [missing, rest] of withoutOne(statement.body)) yield [missing, others({ ...statement, body: rest })]; // prettier-ignore
    } else if (statement.kind === 'choose') {
      for (const [missing, rest] of withoutOne(statement.consequent)) yield [missing, others({ ...statement, consequent: rest })]; // prettier-ignore
      for (const [missing, rest] of withoutOne(statement.alternate)) yield [missing, others({ ...statement, alternate: rest })]; // prettier-ignore
    } else if (['set', 'load', 'allocate', 'run'].includes(statement.kind)) {
      yield [statement, others()];
    } else if (statement.kind === 'call' && statement.results.some(({ kind }) => kind === 'own')) {
      yield [statement, others()];
    }
  }
}

test('no statement that gives a name or an array may be missing', () => {
  let count = 0;
  for (const each of programs) {
    const cut = partition(runPipeline(each), { runsOnHost: ({ regions }) => regions.length > 0 });
    const made = routineOf(cut!);
    verifyRoutine(made);
    for (const [missing, body] of withoutOne(made.body)) {
      count++;
      const [line] = statementLines([missing]);
      assert.throws(() => verifyRoutine({ ...made, body }), GraphError, line);
    }
  }
  assert.ok(count > 30, `${count} statements were left out`);
});

test('a requirement speaks of names that have a value', () => {
  const refusal = { op: 'here', problem: ['no'], expected: ['', symbol('m'), ''], actual: [''] };
  const test = { relation: '=', dim: subDim(i, n) } as const;
  assert.throws(
    () => verifyRoutine(routine([{ kind: 'require', test, refusal }])),
    /the size m has no value/,
  );
});

test('a size that a branch finds again, as in a backward pass, is compared', () => {
  const size = symbol('size', { min: 0, max: 4 });
  const side = (by: number): Program => {
    const region = new Program();
    const x = region.variable('x', four);
    region.setOutputs([{ name: 'y', value: mul(positive(x), by) }]);
    return region;
  };
  const whole = new Program();
  const test = whole.variable('test', { dtype: 'bool', shape: [] });
  const x = whole.variable('x', four);
  const slope = whole.variable('slope', { dtype: 'float32', shape: [size] });
  const found: TensorType = { dtype: 'float32', shape: [size] };
  const [rows] = whole.appendTyped(cond.declaration, [test, x], { sizes: [] }, [found], {
    regions: [side(2), side(3)],
    decides: [{ size, most: null }],
  });
  whole.setOutputs([{ name: 'y', value: mul(rows, slope) }]);
  const executable = compile(whole);
  const run = (isFirst: boolean, elements: readonly number[], slopes: readonly number[]) =>
    executable.run([operand('bool', [], [isFirst]), operand('float32', [4], elements), operand('float32', [slopes.length], slopes)]); // prettier-ignore
  for (const [isFirst, factor] of [[true, 2], [false, 3]] as const) {
    const [y] = run(isFirst, [5, -1, 7, -2], [10, 100]);
    assert.deepEqual(elementsOf(y), [50 * factor, 700 * factor]);
    assert.throws(() => run(isFirst, [5, -1, 7, 2], [10, 100]), ShapeError);
  }
}); // prettier-ignore
