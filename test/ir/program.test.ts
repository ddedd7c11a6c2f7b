import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../src/base/dim/index.js';
import { ArgumentError, GraphError } from '../../src/base/errors.js';
import { int } from '../../src/base/attributes/attribute.js';
import type { Operator } from '../../src/ir/operator.js';
import { namedInputs, Program, typeToString } from '../../src/ir/program.js';
import { sameType } from '../../src/ir/types.js';
import { verify } from '../../src/ir/verify.js';

const scalar = { dtype: 'float32', shape: [] } as const;

/** Two results: its operand's type, and a vector of unknown length. */
const pair: Operator = {
  name: 'pair',
  attributes: { k: int },
  infer: ({ inputs: [x], fresh }) => [x, { dtype: 'int64', shape: [fresh('count', { max: 9 })] }],
};

test('a program grows, and knows its nodes, operands and results', () => {
  const program = new Program();
  const x = program.variable('x', scalar);
  const c = program.constant({
    type: { dtype: 'float32', shape: [] },
    data: new Float32Array([2]),
  });
  const [same, found] = program.append(pair, [x], { k: 1 }, { source: 'a.ts:1:1' });
  const [again] = program.append(pair, [same], { k: 2 });
  program.setOutputs([
    { name: 'again', value: again },
    { name: 'x', value: x },
  ]);
  assert.deepEqual(program.operands(again.node), [same]);
  assert.deepEqual(program.results(same.node), [same, found]);
  assert.equal(String(found.type.shape[0]), 'count_0');
  assert.deepEqual(namedInputs(program), [{ name: 'x', type: scalar }]);
  assert.equal(program.node(c.node).kind, 'constant');
  verify(program);
});

test('what a program refuses', () => {
  const program = new Program();
  const x = program.variable('x', scalar);
  const stranger = new Program().variable('y', scalar);
  assert.throws(() => program.variable('x', scalar), GraphError);
  assert.throws(() => program.append(pair, [stranger], { k: 1 }), GraphError);
  assert.throws(() => program.append(pair, [x], {}), ArgumentError);
  assert.throws(() => program.append(pair, [x], { k: 1, l: 2 }), ArgumentError);
  assert.throws(() => program.setOutputs([{ name: 'y', value: stranger }]), GraphError);
  const twice = [
    { name: 'y', value: x },
    { name: 'y', value: x },
  ];
  assert.throws(() => program.setOutputs(twice), GraphError);
  assert.equal(program.graph.nodeCount, 1);
  assert.equal(program.outputs.length, 0);
});

test('fresh dimensions avoid every name in the program, and in the one it is made from', () => {
  const program = new Program();
  program.variable('x', { dtype: 'float32', shape: [symbol('count_0'), symbol('count_2')] });
  assert.equal(String(program.freshDim('count')), 'count_1');
  assert.equal(String(program.freshDim('count')), 'count_3');
  assert.equal(String(program.freshDim('count_3')), 'count_4');
  const original = program;
  const made = Program.from(original, (into) => {
    assert.equal(String(into.freshDim('count')), 'count_1');
    into.variable('y', { dtype: 'float32', shape: [symbol('count_3')] });
    assert.equal(String(into.freshDim('count')), 'count_4');
  });
  assert.equal(String(made.freshDim('other')), 'other_0');
});

test('sources are those of the enclosing scope unless a call has its own', () => {
  const program = new Program();
  const x = program.variable('x', scalar);
  const sourceOf = (source?: string): string | undefined => {
    const [value] = program.append(pair, [x], { k: 1 }, { source });
    const node = program.node(value.node);
    return node.kind === 'call' ? node.source : 'none';
  };
  assert.equal(sourceOf(), undefined);
  program.withSource('a:1:1', () => {
    assert.equal(sourceOf(), 'a:1:1');
    assert.equal(sourceOf('b:2:2'), 'b:2:2');
    assert.throws(() =>
      program.withSource('c:3:3', () => {
        throw new Error('out');
      }),
    );
    assert.equal(sourceOf(), 'a:1:1');
  });
  assert.equal(sourceOf(), undefined);
});

test('types compare and print', () => {
  const n = symbol('n');
  assert.ok(sameType({ dtype: 'int8', shape: [n] }, { dtype: 'int8', shape: [symbol('n')] }));
  assert.ok(!sameType({ dtype: 'int8', shape: [n] }, { dtype: 'uint8', shape: [n] }));
  assert.ok(!sameType({ dtype: 'int8', shape: [n] }, { dtype: 'int8', shape: [n, 1] }));
  assert.equal(typeToString({ dtype: 'bool', shape: [n, 10] }), 'bool[n, 10]');
  assert.equal(program().freshName('x'), 'x_2');
  assert.equal(program().freshName('z'), 'z');
});

function program(): Program {
  const made = new Program();
  made.variable('x', scalar);
  return made;
}
