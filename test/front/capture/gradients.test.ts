import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GradientUser, reset, usedBy, written } from '../../../src/front/capture/gradient-use.js';
import { CapturedGradients } from '../../../src/front/capture/gradients.js';

test('marks add up over the whole code, and are taken in parts', () => {
  const gradients = new CapturedGradients<object>(null);
  const user = new GradientUser('step');
  const array = {};
  gradients.mark(array, written);
  assert.equal(gradients.take().gradientMarks.get(array)?.kind, 'written');
  gradients.mark(array, usedBy(user));
  const since = gradients.take().gradientMarks.get(array)!;
  assert.equal(since.kind, 'found');
  const whole = gradients.marks.get(array)!;
  assert.ok(whole.kind === 'written' && whole.users.has(user));
  gradients.mark(array, reset);
  assert.equal(gradients.marks.get(array)!.kind, 'reset');
});

test('a use in the code around a body may have used what the body asks for', () => {
  const outer = new CapturedGradients<object>(null);
  const inner = new CapturedGradients<object>(outer);
  const [user, other] = [new GradientUser('step'), new GradientUser('clip')];
  outer.mark({}, usedBy(user));
  inner.mark({}, usedBy(other));
  assert.ok(inner.mayHaveUsed(user) && inner.mayHaveUsed(other));
  assert.ok(outer.mayHaveUsed(user) && !outer.mayHaveUsed(other));
});

test('the first assumption about a gradient and a user holds', () => {
  const gradients = new CapturedGradients<object>(null);
  const [user, other] = [new GradientUser('step'), new GradientUser('clip')];
  const array = {};
  gradients.assume(array, user, true);
  gradients.assume(array, user, false);
  gradients.assume(array, other, false);
  assert.deepEqual(gradients.assumptions, [
    { array, user, isNew: true },
    { array, user: other, isNew: false },
  ]);
});

test('the first mode found holds, for enclosing code as well', () => {
  const outer = new CapturedGradients<object>(null);
  const inner = new CapturedGradients<object>(outer);
  const array = {};
  inner.noteMode(array, 'write');
  inner.noteMode(array, 'none');
  assert.equal(inner.modes.get(array), 'write');
  assert.equal(outer.modes.get(array), 'write');
});

test('effects are taken once', () => {
  const gradients = new CapturedGradients<object>(null);
  const [array, grad, earlier] = [{}, {}, {}];
  gradients.assigned.set(array, grad);
  gradients.reads.set(array, earlier);
  gradients.attached.set(array, 'add');
  const effects = gradients.take();
  assert.deepEqual(
    [effects.gradients.get(array), effects.gradientReads.get(array), effects.attached.get(array)],
    [grad, earlier, 'add'],
  );
  const later = gradients.take();
  assert.equal(later.gradients.size + later.gradientReads.size + later.attached.size, 0);
});
