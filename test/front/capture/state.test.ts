import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CapturedState } from '../../../src/front/capture/state.js';

test('an array stands for its latest value, and each of these values for the array', () => {
  const state = new CapturedState<object>(null);
  const [array, first, second] = [{}, {}, {}];
  assert.equal(state.current(array), array);
  state.update(array, first);
  state.update(array, second);
  assert.equal(state.current(array), second);
  assert.equal(state.ownerOf(first), array);
  assert.equal(state.ownerOf(second), array);
  assert.equal(state.ownerOf(array), array);
});

test('a body sees updates of the code around it, and keeps its own', () => {
  const outer = new CapturedState<object>(null);
  const inner = new CapturedState<object>(outer);
  const [array, before, after] = [{}, {}, {}];
  outer.update(array, before);
  assert.equal(inner.current(array), before);
  assert.equal(inner.ownerOf(before), array);
  inner.update(array, after);
  assert.equal(inner.current(array), after);
  assert.equal(outer.current(array), before);
  assert.equal(outer.ownerOf(after), after);
});

test('updates are taken once; later code reads the arrays themselves', () => {
  const state = new CapturedState<object>(null);
  const [array, value] = [{}, {}];
  state.update(array, value);
  state.reads.set(array, value);
  assert.deepEqual([...state.take()], [[array, value]]);
  assert.equal(state.current(array), array);
  assert.equal(state.reads.size, 0);
  assert.equal(state.take().size, 0);
  // Its gradients remain those of the state.
  assert.equal(state.ownerOf(value), array);
});
