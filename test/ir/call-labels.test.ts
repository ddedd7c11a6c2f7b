import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallLabels } from '../../src/ir/call-labels.js';
import type { Program, Value } from '../../src/ir/program.js';
import { DistinctPrograms } from '../../src/ir/same-program.js';
import { mul } from '../../src/ops/elementwise/arithmetic.js';
import { registry } from '../../src/ops/registry.js';
import { programOf } from '../support/programs.js';

const [add, sum] = ['add', 'sum'].map((name) => registry.get(name)!);
const times = (factor: number): Program =>
  programOf({ x: { dtype: 'float32', shape: [2] } }, ({ x }) => ({ y: mul<Value>(x, factor) }));

test('calls have one label exactly when operator, attributes, regions and bounds are equal', () => {
  const labels = new CallLabels();
  const [first, second] = [times(2), times(3)];
  const twin = { ...add };
  const along = (axes: readonly number[]) => ({ axes, keepdims: false });
  const make = (): readonly number[] => [
    labels.of({ op: add, attributes: {}, regions: [] }),
    labels.of({ op: twin, attributes: {}, regions: [] }),
    labels.of({ op: add, attributes: {}, regions: [] }, '[0,5]'),
    labels.of({ op: add, attributes: {}, regions: [] }, '[0,6]'),
    labels.of({ op: add, attributes: {}, regions: [first] }),
    labels.of({ op: add, attributes: {}, regions: [second] }),
    labels.of({ op: add, attributes: {}, regions: [first, second] }),
    labels.of({ op: add, attributes: {}, regions: [second, first] }),
    labels.of({ op: sum, attributes: along([0]), regions: [] }),
    labels.of({ op: sum, attributes: along([1]), regions: [] }),
    labels.of({ op: sum, attributes: { axes: [0], keepdims: true }, regions: [] }),
    labels.of({ op: sum, attributes: along([0]), regions: [first] }),
  ];
  const made = make();
  assert.equal(new Set(made).size, made.length);
  assert.deepEqual(make(), made);
});

test('regions count by identity, or by what stands for equal ones', () => {
  const [one, same, other] = [times(2), times(2), times(3)];
  const byIdentity = new CallLabels();
  const label = (labels: CallLabels, region: Program): number =>
    labels.of({ op: add, attributes: {}, regions: [region] });
  assert.notEqual(label(byIdentity, one), label(byIdentity, same));
  const distinct = new DistinctPrograms();
  const byStructure = new CallLabels((region) => distinct.firstLike(region));
  assert.equal(label(byStructure, one), label(byStructure, same));
  assert.notEqual(label(byStructure, one), label(byStructure, other));
});
