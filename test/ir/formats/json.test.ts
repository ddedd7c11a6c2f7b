import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../src/base/attributes/attribute.js';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { FormatError, GraphError } from '../../../src/base/errors.js';
import { programFromJSON, programToJSON } from '../../../src/ir/formats/json.js';
import { printProgram } from '../../../src/ir/formats/text.js';
import { type CallNode, Program, type Value } from '../../../src/ir/program.js';
import { add, mul } from '../../../src/ops/elementwise/arithmetic.js';
import { booleanMask } from '../../../src/ops/dynamic/boolean-mask.js';
import { nonMaxSuppression } from '../../../src/ops/dynamic/non-max-suppression.js';
import { sum } from '../../../src/ops/reduction/sum.js';

const known = new Map(
  [mul, sum, add, booleanMask, nonMaxSuppression].map((f) => [f.declaration.name, f.declaration]),
);
const lookup = (name: string) => known.get(name);

function sample(): Program {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [symbol('n', { max: 9 }), 3] });
  program.setOutputs([{ name: 'y', value: sum<Value>(mul<Value>(x, 2), 1) }]);
  return program;
}

test('the form is what is documented', () => {
  assert.deepEqual(programToJSON(sample()), {
    format: 'kaon-program',
    version: 4,
    programs: [
      {
        dims: [['n', 0, 9]],
        nodes: [
          { input: 'x', type: ['float32', ['n', 3]] },
          { constant: ['float32', []], elements: ['2'] },
          { call: 'mul', operands: [[0, 0], [1, 0]], types: [['float32', ['n', 3]]] },
          {
            call: 'sum',
            operands: [[2, 0]],
            attributes: { axes: [1], keepdims: false },
            types: [['float32', ['n']]],
          },
        ],
        outputs: [['y', 3, 0]],
      },
    ],
  }); // prettier-ignore
});

/** Every JSON that differs from `json` in one place, where it holds `other` or nothing. */
function* mutations(json: Json, other: unknown): Generator<unknown> {
  if (typeof json !== 'object' || json === null) return;
  for (const key of Object.keys(json)) {
    const entry = (json as Record<string, Json>)[key];
    const rebuilt = (value: unknown): unknown => {
      if (!Array.isArray(json)) return { ...json, [key]: value };
      return (json as readonly unknown[]).map((old, i) => (String(i) === key ? value : old));
    };
    yield rebuilt(other);
    for (const inner of mutations(entry, other)) yield rebuilt(inner);
  }
}

test('foreign JSON gives a typed error or a program, never anything else', () => {
  const json = programToJSON(sample());
  let deep: unknown = [];
  for (let i = 0; i < 20_000; i++) deep = [deep];
  const others: unknown[] = [
    null, undefined, true, 0, -1, 1.5, NaN, 1e300, '', 'x', '__proto__', 'constructor', 'n*n', 'n -', [], [[]],
    {}, { constructor: null }, JSON.parse('{"__proto__": {"polluted": true}}'), deep, Object.create(null),
    '-'.repeat(100_000), 'max('.repeat(100_000),
  ]; // prettier-ignore
  let refused = 0;
  for (const other of others) {
    for (const changed of [other, ...mutations(json, other)]) {
      try {
        programFromJSON(changed, lookup);
      } catch (error) {
        refused++;
        if (!(error instanceof FormatError) && !(error instanceof GraphError)) throw error;
      }
    }
  }
  assert.ok(refused > 500, `${refused} refused`);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test('errors name the place', () => {
  const json = JSON.stringify(programToJSON(sample()));
  const cases: [string, string, RegExp][] = [
    ['"kaon-program"', '"other"', /not a program of Kaon/],
    ['"version":4', '"version":1', /another version/],
    ['"call":"mul"', '"call":"mull"', /no operator "mull"/],
    [
      '[[0,0],[1,0]]',
      '[[0,0],[2,0]]',
      /programs\[0\]\.nodes\[2\]\.operands\[1\]\[0\] does not read/,
    ],
    ['"float32",["n"]', '"float32",["m"]', /operator infers/],
    ['"axes":[1]', '"axes":"1"', /programs\[0\]\.nodes\[3\]\.attributes does not read/],
    ['["2"]', '["2","3"]', /another number of elements/],
    ['["n",0,9]', '["n",9,0]', /not a range of sizes/],
    ['["y",3,0]', '["y",3,1]', /programs\[0\]\.outputs\[0\]\[1\]/],
  ];
  for (const [from, to, message] of cases) {
    assert.ok(json.includes(from), from);
    assert.throws(
      () => programFromJSON(JSON.parse(json.replace(from, to)), lookup),
      (error) =>
        (error instanceof FormatError || error instanceof GraphError) &&
        message.test(error.message),
      from,
    );
  }
});

/** Elements that one mask selects from two arrays, and boxes of which at most five are chosen. */
function deciding(): Program {
  const program = new Program();
  const n = symbol('n');
  const input = (name: string, dtype: DType, ...shape: Dim[]): Value =>
    program.variable(name, { dtype, shape });
  const keep = input('keep', 'bool', n);
  const [a, b] = ['a', 'b'].map((name) => booleanMask<Value>(input(name, 'float32', n), keep));
  const options = { maxOutputSize: 5 };
  const chosen = nonMaxSuppression<Value>(
    input('boxes', 'float32', n, 4),
    input('scores', 'float32', n),
    options,
  );
  program.setOutputs([
    { name: 'sum', value: add<Value>(a, b) },
    { name: 'chosen', value: chosen },
  ]);
  return program;
}

test('the sizes that calls decide are kept, with their bounds', () => {
  const program = deciding();
  const read = programFromJSON(programToJSON(program), lookup);
  assert.equal(printProgram(read), printProgram(program));
  const decided = [...read.graph.nodes()].flatMap((id) => {
    const node = read.node(id);
    if (node.kind !== 'call') return [];
    return node.decides.map(({ size, most }) => `${node.op.name} ${String(size)} ${String(most)}`);
  });
  assert.deepEqual(decided, [
    'booleanMask count_0 n',
    'booleanMask count_0 n',
    'nonMaxSuppression count_1 min(5, n)',
  ]);
  assert.deepEqual(
    [...read.decidedSizes].map(([name, { node }]) => [name, (read.node(node) as CallNode).op.name]),
    [
      ['count_0', 'booleanMask'],
      ['count_1', 'nonMaxSuppression'],
    ],
  );
});

test('a file of version 2, whose calls state no sizes, is read', () => {
  const program = deciding();
  const text = JSON.stringify(programToJSON(program), (key, value: unknown) =>
    key === 'decides' ? undefined : value,
  );
  const old = text.replace('"version":4', '"version":2');
  assert.ok(!old.includes('decides'));
  assert.equal(printProgram(programFromJSON(JSON.parse(old), lookup)), printProgram(program));
  assert.throws(() => programFromJSON(JSON.parse(text), lookup), /does not state a size/);
});
