import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallNode, Program, Value } from '../../../src/ir/program.js';
import { abs, add, exp, foreach, mul, reshape, sqrt, sub, sum } from '../../../src/ops/index.js';
import { partition } from '../../../src/passes/host/partition.js';
import { type CallSelector, selectable, selectCalls } from '../../../src/passes/host/select.js';
import { program } from '../../runtime/dynamic/host.js';

const vector = { dtype: 'float32', shape: [8] } as const;
const scalar = { dtype: 'float32', shape: [] } as const;

const named =
  (...names: readonly string[]) =>
  ({ op }: CallNode): boolean =>
    names.includes(op.name);

/** The names of the calls that a selector takes, one list for each sub-graph, in order. */
function taken(whole: Program, selector: CallSelector): (readonly string[])[] {
  const lowest = selectable(whole, selector);
  const made = partition(lowest, selectCalls(lowest, selector))!;
  return made.stages.flatMap(({ elsewhere }) => {
    const members = elsewhere?.island?.members ?? [];
    const names = members.flatMap((id) => {
      const node = lowest.node(id);
      return node.kind === 'call' ? [node.op.name] : [];
    });
    return names.length === 0 ? [] : [names];
  });
}

describe('selected calls', () => {
  it('without a cost are all that are supported', () => {
    const whole = program([vector, vector], (x, y) => [exp(add(mul(x, y), x)), abs(sub(x, y))]);
    const supports = named('mul', 'add', 'sub');
    assert.deepEqual(taken(whole, { supports }).flat().sort(), ['add', 'mul', 'sub']);
    assert.deepEqual(taken(whole, { supports: () => false }), []);
    assert.equal(taken(whole, { supports: () => true }).flat().length, 5);
  });

  it('are asked with the types of what they read', () => {
    const whole = program([vector, scalar], (x, y) => [add(x, x), add(y, y)]);
    const supports: CallSelector['supports'] = ({ op }, operands) =>
      op.name === 'add' && operands.every(({ shape }) => shape.length === 1);
    assert.deepEqual(taken(whole, { supports }), [['add']]);
  });

  it('are written in others where they are not supported', () => {
    const whole = program([vector], (x) => [sum(x, 0, { keepdims: true })]);
    assert.deepEqual(taken(whole, { supports: named('sum') }), [['sum']]);
    const mean = program([vector, vector], (x, y) => [sqrt(add(mul(x, x), mul(y, y)))]);
    assert.deepEqual(taken(mean, { supports: named('sqrt') }), [['sqrt']]);
  });

  it('do not hold what costs nothing by itself', () => {
    const whole = program([vector], (x) => [reshape(abs(x), [2, 4])]);
    assert.deepEqual(taken(whole, { supports: named('reshape') }), []);
  });

  it('that are connected are taken if together they gain more than the overhead', () => {
    /** Chains of calls that do not touch. */
    const chains = (...lengths: readonly number[]): Program =>
      program(
        lengths.map(() => vector),
        (...starts: readonly Value[]) =>
          starts.map((start, k) =>
            Array.from({ length: lengths[k] }).reduce<Value>(
              (x, _, at) => (at % 2 === 0 ? exp(x) : abs(x)),
              start,
            ),
          ),
      );
    const selector = { supports: named('exp', 'abs'), cost: () => -1, overhead: 2 };
    const count = (whole: Program, by: CallSelector = selector): number =>
      taken(whole, by).flat().length;
    // Two gain 2, which only the overhead costs: nothing is gained.
    assert.equal(count(chains(2)), 0);
    assert.equal(count(chains(3)), 3);
    assert.equal(count(chains(2, 2)), 0);
    assert.equal(count(chains(2, 3)), 3);
    assert.equal(count(chains(3, 4)), 7);
    // Without an overhead any gain is one, and what costs something is not worth it.
    assert.equal(count(chains(1), { supports: selector.supports, cost: selector.cost }), 1);
    assert.equal(count(chains(3), { ...selector, overhead: 0, cost: () => 0 }), 0);
    assert.equal(
      count(chains(3), {
        ...selector,
        overhead: 0,
        cost: ({ op }) => (op.name === 'exp' ? 1 : -3),
      }),
      3,
    );
    assert.equal(
      count(chains(3), {
        ...selector,
        overhead: 0,
        cost: ({ op }) => (op.name === 'exp' ? 1 : -2),
      }),
      0,
    );
  });

  it('are connected by what they read of each other, not by a constant of both', () => {
    const whole = (isJoined: boolean): Program =>
      program([vector, vector], (x, y) => {
        const half = x.program.constant({ type: vector, data: new Float32Array(8).fill(0.5) });
        const [a, b] = [mul(x, half), mul(y, half)];
        return isJoined ? [add(a, b)] : [a, b];
      });
    const selector = { supports: named('mul', 'add'), cost: () => -1, overhead: 2 };
    assert.equal(taken(whole(false), selector).flat().length, 0);
    assert.equal(taken(whole(true), selector).flat().length, 3);
  });

  it('of bodies have the host run the loops around them', () => {
    const step = program([vector, vector], (e, s) => [add(exp(e), s)]);
    const whole = program([{ dtype: 'float32', shape: [5, 8] }, vector], (x, s) => [
      ...foreach<Value>(step, { data: [x], states: [s], captures: [] }),
    ]);
    const runs = (supports: CallSelector['supports']): number => {
      const lowest = selectable(whole, { supports });
      const made = partition(lowest, selectCalls(lowest, { supports }))!;
      return made.stages.flatMap(({ calls }) => calls).length;
    };
    assert.equal(runs(named('exp')), 1);
    assert.equal(runs(named('sqrt')), 0);
    // A loop that is supported is taken whole.
    assert.equal(runs(named('exp', 'foreach')), 0);
  });
});
