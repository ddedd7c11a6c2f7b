import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dim } from '../../src/base/attributes/attribute.js';
import { type Dim, symbol } from '../../src/base/dim/index.js';
import { GraphError } from '../../src/base/errors.js';
import type { Operator } from '../../src/ir/operator.js';
import { Program } from '../../src/ir/program.js';
import type { TensorType } from '../../src/ir/types.js';
import { verify } from '../../src/ir/verify.js';

const n = symbol('n');
const f32 = (...shape: Dim[]): TensorType => ({ dtype: 'float32', shape });

const same: Operator = { name: 'same', attributes: {}, infer: ({ inputs: [x] }) => [x] };
const sized: Operator = {
  name: 'sized',
  attributes: { length: dim },
  infer: ({ attributes: { length } }) => [f32(length as Dim)],
};
const found: Operator = {
  name: 'found',
  attributes: {},
  infer: ({ inputs: [x], fresh }) => {
    const count = fresh('count', { max: 9 });
    return [f32(count, x.shape[0]), f32(count)];
  },
};

function refuses(message: RegExp, build: (program: Program) => void): void {
  const program = new Program();
  build(program);
  assert.throws(
    () => verify(program),
    (error) => error instanceof GraphError && message.test(error.message),
  );
}

test('introduced dimensions may have any names, as long as they agree', () => {
  const count = symbol('anything', { max: 9 });
  const program = new Program();
  const x = program.variable('x', f32(n));
  program.appendTyped(found, [x], {}, [f32(count, n), f32(count)]);
  program.append(found, [x]);
  verify(program);
  refuses(/operator infers/, (program) => {
    const x = program.variable('x', f32(n));
    program.appendTyped(found, [x], {}, [f32(count, n), f32(symbol('other', { max: 9 }))]);
  });
  refuses(/operator infers/, (program) => {
    const x = program.variable('x', f32(n));
    program.appendTyped(found, [x], {}, [f32(symbol('unbounded'), n), f32(symbol('unbounded'))]);
  });
});

test('types must be what the operator infers', () => {
  for (const types of [
    [f32(3)],
    [],
    [f32(n), f32(n)],
    [{ dtype: 'float64', shape: [n] }],
  ] as const) {
    refuses(/same: node 1[^]*operator infers[^]*at: {7}a.ts:1:1/, (program) => {
      const x = program.variable('x', f32(n));
      program.appendTyped(same, [x], {}, types, { source: 'a.ts:1:1' });
    });
  }
});

test('an inference that fails is a finding, whatever it throws', () => {
  refuses(/not a proper call/, (program) => void program.appendTyped(same, [], {}, [f32(n)]));
});

test('attributes must be the operator’s, and their dimensions known', () => {
  refuses(/there is no option more/, (program) => {
    program.appendTyped(sized, [], { length: 3, more: 1 }, [f32(3)]);
  });
  refuses(/dimension n is not defined/, (program) => {
    program.appendTyped(sized, [], { length: n }, [f32(n)]);
  });
});

test('extents are sizes, symbols have one range, constants have their elements', () => {
  refuses(/no size/, (program) => void program.variable('x', f32(-1)));
  refuses(/no size/, (program) => void program.variable('x', f32(1.5)));
  refuses(/dimension n has two ranges/, (program) => {
    program.variable('x', f32(n));
    program.variable('y', f32(symbol('n', { max: 3 })));
  });
  refuses(/does not hold the elements/, (program) => {
    program.constant({ type: { dtype: 'float32', shape: [2] }, data: new Float32Array(3) });
  });
  refuses(/does not hold the elements/, (program) => {
    program.constant({ type: { dtype: 'int32', shape: [2] }, data: new Float32Array(2) });
  });
});

test('a fault in a region is found', () => {
  const region = new Program();
  region.variable('x', f32(-1));
  refuses(/no size/, (program) => {
    const x = program.variable('x', f32(n));
    program.appendTyped(same, [x], {}, [f32(n)], { regions: [region] });
  });
});
