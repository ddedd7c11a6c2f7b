import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dim } from '../../src/base/attributes/attribute.js';
import { type Dim, mulDim, symbol } from '../../src/base/dim/index.js';
import { GraphError } from '../../src/base/errors.js';
import type { Operator } from '../../src/ir/operator.js';
import { type DecidedSize, Program, type Value } from '../../src/ir/program.js';
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

/** An operator whose results have a size that nobody decides. */
const leaks: Operator = {
  name: 'leaks',
  attributes: {},
  infer: () => [f32(symbol('count', { max: 9 }))],
};

function refuses(message: RegExp, build: (program: Program) => void): void {
  const program = new Program();
  build(program);
  assert.throws(
    () => verify(program),
    (error) => error instanceof GraphError && message.test(error.message),
  );
}

test('decided sizes may have any names, as long as the types agree', () => {
  const count = symbol('anything', { max: 9 });
  const program = new Program();
  const x = program.variable('x', f32(n));
  const decides = [{ size: count, most: null }];
  program.appendTyped(found, [x], {}, [f32(count, n), f32(count)], { decides });
  program.append(found, [x]);
  verify(program);
  refuses(/operator infers/, (program) => {
    const x = program.variable('x', f32(n));
    program.appendTyped(found, [x], {}, [f32(count, n), f32(symbol('other', { max: 9 }))], {
      decides,
    });
  });
});

test('a call states the sizes that it decides, as many as inference asks for and within its bounds', () => {
  const refusesSizes = (message: RegExp, size: Dim, decides: readonly DecidedSize[]): void =>
    refuses(message, (program) => {
      const x = program.variable('x', f32(n));
      program.appendTyped(found, [x], {}, [f32(size, n), f32(size)], { decides });
    });
  const count = symbol('count', { max: 9 });
  const unbounded = symbol('unbounded');
  const decided = { size: count, most: null };
  refusesSizes(/does not state a size/, count, []);
  refusesSizes(/states sizes that its operator does not decide/, count, [decided, decided]);
  refusesSizes(/unbounded is outside its bounds/, unbounded, [{ size: unbounded, most: null }]);
  refusesSizes(/another upper bound/, count, [{ size: count, most: n }]);
  refusesSizes(/dimension m is not defined/, mulDim(symbol('m', { max: 3 }), 2), [
    { size: mulDim(symbol('m', { max: 3 }), 2), most: null },
  ]);
  refuses(/dimension count is not defined/, (program) => {
    program.appendTyped(leaks, [], {}, [f32(count)]);
  });
});

test('a decided size may turn out to be a number, or a size that is known', () => {
  for (const size of [4, symbol('k', { max: 9 })]) {
    const program = new Program();
    const x = program.variable('x', f32(n));
    program.variable('y', f32(size));
    const decides = [{ size, most: null }];
    program.appendTyped(found, [x], {}, [f32(size, n), f32(size)], { decides });
    verify(program);
    assert.equal(program.decidedSizes.size, 0);
  }
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

test('values that are not the results that a node states are refused', () => {
  const tamper: Readonly<Record<string, (values: Value[], other: Value) => void>> = {
    'two results have changed places': (values) => void values.reverse(),
    'one is missing': (values) => void values.pop(),
    'one stands twice': (values) => void values.push(values[0]),
    'one is that of another node': (values, other) => void (values[1] = other),
  };
  for (const change of Object.values(tamper)) {
    const program = new Program();
    const x = program.variable('x', f32(4));
    const y = program.variable('y', f32(4));
    const [r] = program.append(found, [x], {});
    verify(program);
    // A program does not let anybody change its values.
    change(program.results(r.node) as Value[], y);
    assert.throws(() => verify(program), /the values of node 2 are not the results it states/);
  }
});

test('extents of inputs and size parameters tell all dimensions of the inputs', () => {
  const m = symbol('m');
  refuses(/no extent of an input tells dimension m/, (program) => {
    program.variable('x', f32(mulDim(n, m)));
  });
  refuses(/no extent of an input tells dimension n/, (program) => {
    program.takeSize(m);
    program.variable('x', f32(mulDim(n, m)));
  });
  const program = new Program();
  program.takeSize(n);
  program.takeSize(m);
  program.variable('x', f32(mulDim(n, m)));
  program.variable('y', f32(mulDim(symbol('k'), 2)));
  verify(program);
});

test('calls of one operator that decide one size select alike', () => {
  const selects: Operator = { ...found, name: 'selects', sizedBy: [0] };
  const decides = [{ size: symbol('count', { max: 9 }), most: null }];
  const add = (program: Program, x: Value): void => {
    const types = [f32(decides[0].size, x.type.shape[0]), f32(decides[0].size)];
    program.appendTyped(selects, [x], {}, types, { decides });
  };
  const twice = new Program();
  const x = twice.variable('x', f32(n));
  add(twice, x);
  add(twice, twice.append(same, [x])[0]);
  assert.throws(() => verify(twice), /nodes 1 and 3 decide dimension count, and not alike/);
  const alike = new Program();
  const y = alike.variable('x', f32(n));
  add(alike, alike.append(same, [y])[0]);
  add(alike, alike.append(same, [y])[0]);
  verify(alike);
});
