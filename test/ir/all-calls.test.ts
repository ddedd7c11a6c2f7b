import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allCalls, decidesSizes, someCall } from '../../src/ir/all-calls.js';
import { parse } from '../support/program-texts.js';

const loop = (body: string): string => `program {
  input x: float32[3, 2]
  %0 = neg(x): float32[3, 2]
  %1 = foreach(%0) {data: 1, states: 0, reverse: false, counted: false, save: "auto"} [@0 {
    input a: float32[2]
    ${body}
  }]: float32[3]
  output y = %1
}`;

test('calls inside of a region come behind the call that owns it', () => {
  const program = parse(loop('%0 = sin(a): float32[2]\n    %1 = sum(%0) {axes: null, keepdims: false}: float32[]\n    output y0 = %1')); // prettier-ignore
  assert.deepEqual(allCalls(program).map(({ op }) => op.name), ['neg', 'foreach', 'sin', 'sum']); // prettier-ignore
  assert.equal(decidesSizes(program), false);
});

test('the calls of a program are those of its graph, by their ids', () => {
  const program = parse(loop('%0 = sum(a) {axes: null, keepdims: false}: float32[]\n    output y0 = %0')); // prettier-ignore
  const calls = [...program.calls()];
  assert.deepEqual(calls.map(([id, { op }]) => `${id} ${op.name}`), ['1 neg', '2 foreach']); // prettier-ignore
  for (const [id, call] of calls) assert.equal(program.node(id), call);
});

test('a call of a kind is found in regions as well, and looked for once', () => {
  const program = parse(loop('%0 = sum(a) {axes: null, keepdims: false}: float32[]\n    output y0 = %0')); // prettier-ignore
  const seen: string[] = [];
  const isNamed = (name: string): ((within: typeof program) => boolean) =>
    someCall(({ op }) => {
      seen.push(op.name);
      return op.name === name;
    });
  const [hasSum, hasSin] = [isNamed('sum'), isNamed('sin')];
  assert.equal(hasSum(program), true);
  assert.equal(hasSin(program), false);
  const looked = seen.length;
  assert.equal(hasSum(program), true);
  assert.equal(hasSin(program), false);
  assert.equal(seen.length, looked);
});

test('a size that the data of a body decides is found', () => {
  const body = `dim 0 <= n <= 2
    %0 = greater(a, a): bool[2]
    %1 = booleanMask(a, %0): float32[n]
    %2 = sum(%1) {axes: null, keepdims: false}: float32[]
    output y0 = %2`;
  assert.equal(decidesSizes(parse(loop(body))), true);
});
