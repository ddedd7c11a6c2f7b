import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Program } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import type { Law } from '../../../src/ops/declare/law.js';
import { decompose } from '../../../src/passes/simplify/decompose.js';
import { simplify } from '../../../src/passes/simplify/simplify.js';
import {
  caseProgram,
  elementsOf,
  type LawInstance,
  operatorLaws,
  runAsWritten,
  specialOperands,
} from './cases.js';

/*
 * Every law, from the registry: it applies to its own cases, and what comes out equals what went in bit
 * by bit on the values that break careless algebra, at sizes 0 and 1 too.
 */

/** Operators of one family may have one law, and its cases then speak of all of them. */
const isSame = (a: Law, b: Law): boolean => a.name === b.name && a.law === b.law;

function assertEqualResults(
  before: Program,
  after: Program,
  instance: LawInstance,
  size: number,
  seed: number,
): void {
  const operands = specialOperands(instance, size, seed);
  const [expected] = runAsWritten(before, operands);
  const [actual] = runAsWritten(after, operands);
  const place = `${instance.label}, size ${size}, seed ${seed}`;
  assert.deepEqual(actual.shape, expected.shape, place);
  assert.equal(elementsOf(actual), elementsOf(expected), place);
}

for (const { op, law, instances } of operatorLaws()) {
  test(`${op}: ${law.law}`, () => {
    assert.match(law.law, /=/);
    assert.ok(instances.length > 0);
    for (const instance of instances) {
      for (const size of [0, 1, 5]) {
        const before = decompose(caseProgram(instance, size));
        let count = 0;
        const after = simplify(before, (_op, applied) => {
          if (isSame(applied, law)) count++;
        });
        verify(after);
        // At small sizes another law may come first.
        if (size === 5) assert.ok(count > 0, `the law does not apply to ${instance.label}`);
        assert.deepEqual(after.outputs[0].value.type, before.outputs[0].value.type);
        for (let seed = 0; seed < 3; seed++) {
          assertEqualResults(before, after, instance, size, seed);
        }
      }
    }
  });

  test(`${op}: ${law.law}, for every size at once`, () => {
    for (const instance of instances) {
      const before = decompose(caseProgram(instance));
      const after = simplify(before);
      verify(after);
      for (const size of [0, 1, 3]) assertEqualResults(before, after, instance, size, size);
    }
  });
}

test('laws are told apart by name, and every one applies to at least one of its cases', () => {
  const all = operatorLaws();
  const labels = all.map(({ op, law }) => `${op}: ${law.name}`);
  assert.equal(new Set(labels).size, labels.length);
  const reached = new Set<string>();
  for (const { instances } of all) {
    for (const instance of instances) {
      simplify(decompose(caseProgram(instance, 5)), (op, law) => reached.add(`${op}: ${law.name}`));
    }
  }
  assert.deepEqual(
    labels.filter((label) => !reached.has(label)),
    [],
  );
});

test('one walk reaches the fixpoint, and what laws make needs no further decomposition', () => {
  for (const { op, law, instances } of operatorLaws()) {
    for (const instance of instances) {
      const after = simplify(decompose(caseProgram(instance)));
      const again: string[] = [];
      simplify(after, (op, { name }) => again.push(`${op}: ${name}`));
      assert.deepEqual(again, [], `${op}: ${law.law}, ${instance.label}`);
      assert.equal(decompose(after), after, `${op}: ${law.law}`);
    }
  }
});
