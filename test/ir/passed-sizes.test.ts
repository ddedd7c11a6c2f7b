import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDim, type Dim, mulDim, sameDim, symbol } from '../../src/base/dim/index.js';
import { GraphError, ShapeError } from '../../src/base/errors.js';
import { bindProgram } from '../../src/ir/bind.js';
import { programFromJSON, programToJSON } from '../../src/ir/formats/json.js';
import { parseProgram } from '../../src/ir/formats/parse.js';
import { printProgram } from '../../src/ir/formats/text.js';
import { Program, type Value } from '../../src/ir/program.js';
import { sameProgram } from '../../src/ir/same-program.js';
import { verify } from '../../src/ir/verify.js';
import { add, booleanMask, foreach, less } from '../../src/ops/index.js';
import { cond } from '../../src/ops/control/cond.js';
import { broadcastTo } from '../../src/ops/reduction/sum.js';
import type { TensorType } from '../../src/ir/types.js';
import { instantiate } from '../../src/passes/rewrite/transform.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { floats, operand } from '../support/programs.js';

/* Programs with size parameters, and the calls that pass them. */

const known = [cond.declaration, broadcastTo.declaration];
const lookup = (name: string) => known.find((each) => each.name === name);
const n = symbol('n', { min: 1, max: 9 });
const scalar = { dtype: 'float32', shape: [] } as const;

/** A number, repeated as often as it is told. */
function repeated(size: Dim = n): Program {
  const program = new Program();
  program.takeSize(n);
  const x = program.variable('x', scalar);
  program.setOutputs([{ name: 'y', value: broadcastTo<Value>(x, [size]) }]);
  return program;
}

/** A choice between so many and one more of a number, for as many as an input has. */
function choice(sizes: (m: Dim) => readonly Dim[], bounds = { min: 1, max: 9 }): Program {
  const program = new Program();
  const m = symbol('m', bounds);
  const p = program.variable('p', { dtype: 'bool', shape: [] });
  const x = program.variable('x', scalar);
  program.variable('like', { dtype: 'float32', shape: [m] });
  const [y] = cond<Value>(p, repeated(), repeated(addDim(n, 1)), [x], sizes(m));
  program.setOutputs([{ name: 'y', value: y }]);
  return program;
}

test('text and JSON have the sizes that a program takes and those that a call passes', () => {
  const program = choice((m) => [m]);
  verify(program);
  const text = printProgram(program);
  assert.match(text, /^ {4}dim 1 <= n <= 9\n {4}size n\n {4}input x: float32\[\]$/m);
  assert.match(text, /= cond\(p, x\) \{sizes: \["m"\]\} \[@0 \{/);
  assert.equal(printProgram(parseProgram(text, lookup)), text);
  const json = JSON.parse(JSON.stringify(programToJSON(program))) as {
    programs: { sizes?: unknown }[];
  };
  assert.deepEqual(
    json.programs.map(({ sizes }) => sizes),
    [['n'], ['n'], undefined],
  );
  assert.equal(printProgram(programFromJSON(json, lookup)), text);
});

test('calls that pass nothing say nothing of it, and files of version 3 are read', () => {
  const branch = new Program();
  branch.setOutputs([{ name: 'y', value: branch.variable('x', scalar) }]);
  const program = new Program();
  const p = program.variable('p', { dtype: 'bool', shape: [] });
  const [y] = cond<Value>(p, branch, branch, [program.variable('x', scalar)]);
  program.setOutputs([{ name: 'y', value: y }]);
  const text = JSON.stringify(programToJSON(program));
  assert.ok(!text.includes('sizes'));
  const old = text.replace('"version":4', '"version":3');
  assert.notEqual(old, text);
  assert.equal(printProgram(programFromJSON(JSON.parse(old), lookup)), printProgram(program));
});

test('the number of sizes and their bounds are checked', () => {
  const refused = (message: RegExp, build: () => unknown): void => {
    assert.throws(build, (error) => error instanceof GraphError || error instanceof ShapeError);
    assert.throws(build, message);
  };
  refused(/the number of sizes that a program is passed differs/, () => choice(() => []));
  refused(/the number of sizes that a program is passed differs/, () => choice((m) => [m, m]));
  refused(/size 0: n is outside its bounds/, () => choice((m) => [m], { min: 0, max: 9 }));
  refused(/size 0: n is outside its bounds/, () => choice((m) => [addDim(m, 1)]));
  const found = JSON.stringify(programToJSON(choice((m) => [m])));
  const less = found.replace('"sizes":["m"]', '"sizes":[]');
  assert.notEqual(less, found);
  refused(/not a proper call: the number of sizes/, () =>
    programFromJSON(JSON.parse(less), lookup),
  );
});

test('a size parameter is a symbol that comes before all that speaks of it', () => {
  const program = new Program();
  program.takeSize(n);
  program.variable('x', { dtype: 'float32', shape: [symbol('m')] });
  const wrong = [n, symbol('m'), mulDim(symbol('k'), 2), addDim(symbol('k'), symbol('l'))];
  for (const size of wrong) {
    assert.throws(() => program.takeSize(size as typeof n), /cannot be a size parameter/);
  }
  assert.deepEqual(program.sizes, [n]);
  assert.ok(program.knowsSize('n'));
  assert.equal(String(program.freshDim('n')), 'n_0');
});

test('a size that a region decides is none that it is passed, though both have one name', () => {
  const vector = (size: Dim): TensorType => ({ dtype: 'float32', shape: [size] });
  /** The negative elements of a vector, whose number the branch calls `count_0`, as often as it is told. */
  const negative = (more: number): Program => {
    const made = new Program();
    made.takeSize(symbol('k'));
    const v = made.variable('v', vector(symbol('i')));
    const some = add<Value>(booleanMask<Value>(v, less(v, 0)), more);
    assert.equal(String(some.type.shape), 'count_0');
    const rows = broadcastTo<Value>(some, [symbol('k'), some.type.shape[0]]);
    made.setOutputs([{ name: 'y', value: rows }]);
    return made;
  };
  const program = new Program();
  const x = program.variable('x', vector(symbol('n')));
  const some = booleanMask<Value>(x, less(0, x));
  const [count] = some.type.shape;
  assert.equal(String(count), 'count_0');
  const p = program.variable('p', { dtype: 'bool', shape: [] });
  const [y] = cond<Value>(p, negative(0), negative(1), [x], [count]);
  assert.ok(sameDim(y.type.shape[0], count));
  assert.ok(!sameDim(y.type.shape[1], count));
  const data = program.variable('data', { dtype: 'float32', shape: [3] });
  const body = Program.from(negative(0), (into) => {
    into.variable('t', scalar);
    const v = into.variable('v', vector(symbol('i')));
    into.setOutputs([{ name: 'y', value: instantiate(negative(0), into, [v])[0] }]);
  });
  const [z] = foreach<Value>(body, { data: [data], states: [], captures: [x], sizes: [count] });
  assert.ok(sameDim(z.type.shape[1], count));
  assert.ok(!sameDim(z.type.shape[2], count));
  program.setOutputs([y, z].map((value, k) => ({ name: `y${k}`, value })));
  verify(program);
  const run = compile(program);
  const results = run.run([floats([4], [1, -2, 3, 4]), operand('bool', [], [1]), floats([3], [0, 0, 0])]); // prettier-ignore
  assert.deepEqual(results.map(({ shape }) => shape), [[3, 1], [3, 3, 1]]); // prettier-ignore
});

test('operands of a program may have sizes that it is passed', () => {
  const program = new Program();
  program.takeSize(n);
  const shape = [mulDim(n, 2), symbol('k')];
  program.variable('x', { dtype: 'float32', shape });
  const bound = (rows: number, size: number): unknown =>
    Object.fromEntries(bindProgram(program, [{ dtype: 'float32', shape: [rows, 3] }], [size]));
  assert.deepEqual(bound(8, 4), { n: 4, k: 3 });
  assert.throws(() => bound(7, 4), /another size on axis 0/);
  assert.throws(() => bound(20, 10), /n is outside its bounds/);
});

test('programs that take other sizes differ', () => {
  const other = new Program();
  other.takeSize(symbol('m', { min: 1, max: 9 }));
  other.takeSize(n);
  const x = other.variable('x', scalar);
  other.setOutputs([{ name: 'y', value: broadcastTo<Value>(x, [n]) }]);
  assert.ok(sameProgram(repeated(), repeated()));
  assert.ok(!sameProgram(repeated(), other));
});
