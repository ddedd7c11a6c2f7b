import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { extents } from '../../../src/ops/dynamic/extents.js';
import {
  booleanMask,
  nonMaxSuppression,
  nonzero,
  repeatEach,
  unique,
} from '../../../src/ops/index.js';
import { decompose } from '../../../src/passes/simplify/decompose.js';
import { foldConstants } from '../../../src/passes/simplify/fold.js';
import { isExtents } from '../../../src/passes/rewrite/measure.js';

/** What the sizes that a program finds are at most, as its calls say; null where they do not. */
function bounds(build: (x: Value, mask: Value) => Value): unknown {
  const program = new Program();
  const [n, m] = [symbol('n'), symbol('m', { max: 7 })];
  const x = program.variable('x', { dtype: 'float32', shape: [n, m] });
  const mask = program.variable('mask', { dtype: 'bool', shape: [n] });
  program.setOutputs([{ name: 'y', value: build(x, mask) }]);
  const lowest = decompose(program);
  return [...lowest.graph.nodes()].flatMap((id) => {
    const node = lowest.node(id);
    if (node.kind !== 'call' || !isExtents(node)) return [];
    const most = node.attributes['most'] as readonly unknown[] | null;
    return [most === null ? null : most.map(String)];
  });
}

test('sizes that data decides keep what they are at most, in sizes that are known before', () => {
  assert.deepEqual(
    bounds((x, mask) => booleanMask<Value>(x, mask)),
    [['n']],
  );
  assert.deepEqual(
    bounds((x) => nonzero<Value>(x)),
    [['m*n']],
  );
  assert.deepEqual(
    bounds((x) => unique(x, { axis: 1 })),
    [['m']],
  );
  const twice = bounds((x, mask) => {
    const rows = booleanMask<Value>(x, mask);
    return nonzero<Value>(rows);
  }) as string[][];
  assert.deepEqual(twice[0], ['n']);
  assert.match(twice[1][0], /^count\w*\*m$/);
});

test('the number of boxes that are kept is the lesser of two bounds', () => {
  const count = (maxOutputSize?: number): unknown => {
    const program = new Program();
    const boxes = program.variable('boxes', { dtype: 'float32', shape: [symbol('n'), 4] });
    const scores = program.variable('scores', { dtype: 'float32', shape: [symbol('n')] });
    const kept = nonMaxSuppression<Value>(boxes, scores, maxOutputSize === undefined ? {} : { maxOutputSize }); // prettier-ignore
    program.setOutputs([{ name: 'y', value: kept }]);
    const lowest = decompose(program);
    const calls = [...lowest.graph.nodes()].map((id) => lowest.node(id));
    const [extents] = calls.filter((node) => node.kind === 'call' && isExtents(node));
    return extents.kind === 'call' ? String(extents.attributes['most']) : null;
  };
  assert.equal(count(), 'n');
  assert.equal(count(5), 'min(5, n)');
});

test('a number of repetitions has no bound', () => {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [3] });
  const counts = program.variable('counts', { dtype: 'int32', shape: [3] });
  program.setOutputs([{ name: 'y', value: repeatEach<Value>(x, counts) }]);
  const lowest = decompose(program);
  const found = [...lowest.graph.nodes()].map((id) => lowest.node(id));
  const extents = found.flatMap((node) => (node.kind === 'call' && isExtents(node) ? [node] : []));
  assert.deepEqual(
    extents.map(({ attributes }) => attributes['most']),
    [null],
  );
});

test('sizes that are known need no data, unless one of them is impossible', () => {
  const isLeft = (sizes: readonly number[], most: readonly number[]): boolean => {
    const program = new Program();
    const given = program.constant({
      type: { dtype: 'int64', shape: [sizes.length] },
      data: BigInt64Array.from(sizes, BigInt),
    });
    program.setOutputs([{ name: 'y', value: extents<Value>(given, { most }) }]);
    const folded = foldConstants(program, { evaluate: () => null });
    return [...folded.graph.nodes()].some((id) => {
      const node = folded.node(id);
      return node.kind === 'call' && isExtents(node);
    });
  };
  assert.equal(isLeft([3, 4], [5, 4]), false);
  assert.equal(isLeft([0, 0], [5, 4]), false);
  assert.equal(isLeft([3, 5], [5, 4]), true);
  assert.equal(isLeft([6, 4], [5, 4]), true);
  assert.equal(isLeft([6, 5], [5, 4]), true);
  assert.equal(isLeft([3, -1], [5, 4]), true);
  assert.equal(isLeft([-1, 3], [5, 4]), true);
});
