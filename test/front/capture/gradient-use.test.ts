import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../../src/base/errors.js';
import {
  type GradientMark,
  GradientUser,
  inAlternatives,
  inSequence,
  isNewAfter,
  reset,
  untouched,
  usedBy,
  usersOf,
  written,
} from '../../../src/front/capture/gradient-use.js';

const [one, other] = [new GradientUser('one'), new GradientUser('other')];

/** Freshness of a gradient for each user, as one run of the code leaves it. */
type State = ReadonlyMap<GradientUser, boolean>;

/** Code that acts on gradients: every path that a run may take, as what it does in order. */
interface Code {
  readonly mark: GradientMark;
  readonly paths: readonly ((state: State) => State)[];
}

const users = [one, other];
const all = (isNew: boolean): State => new Map(users.map((user) => [user, isNew]));

const steps: readonly Code[] = [
  { mark: untouched, paths: [(state) => state] },
  { mark: written, paths: [() => all(true)] },
  { mark: reset, paths: [() => all(false)] },
  ...users.map((user) => ({
    mark: usedBy(user),
    paths: [(state: State) => new Map([...state, [user, false]])],
  })),
];

const sequence = (a: Code, b: Code): Code => ({
  mark: inSequence(a.mark, b.mark),
  paths: a.paths.flatMap((first) => b.paths.map((then) => (state: State) => then(first(state)))),
});

const branch = (a: Code, b: Code): Code => ({
  mark: inAlternatives(a.mark, b.mark),
  paths: [...a.paths, ...b.paths],
});

/** All code of two steps, in sequence or as alternatives, and of two such. */
function* codes(): Generator<Code> {
  const pairs = steps.flatMap((a) => steps.flatMap((b) => [sequence(a, b), branch(a, b)]));
  yield* pairs;
  for (const a of pairs) for (const b of pairs) yield* [sequence(a, b), branch(a, b)];
}

test('a gradient is new after code exactly where it is after every run of it, and undecided where runs differ', () => {
  const states: readonly State[] = [all(true), all(false), new Map([[one, true], [other, false]])]; // prettier-ignore
  let undecided = 0;
  for (const { mark, paths } of codes()) {
    for (const state of states) {
      for (const user of users) {
        const before = (): boolean => state.get(user)!;
        const found = new Set(paths.map((path) => path(state).get(user)!));
        if (found.size === 1) {
          assert.equal(isNewAfter(mark, user, before), [...found][0]);
          continue;
        }
        undecided++;
        assert.throws(() => isNewAfter(mark, user, before), (error) => {
          assert.ok(error instanceof UnsupportedError);
          assert.equal(error.op, user.op);
          return true;
        }); // prettier-ignore
      }
    }
  }
  assert.ok(undecided > 100);
});

test('alternatives that do the same are one, and the users of both are known', () => {
  const both = inSequence(usedBy(one), usedBy(other));
  const turned = inSequence(usedBy(other), usedBy(one));
  assert.equal(inAlternatives(both, turned), both);
  assert.equal(inAlternatives(written, written), written);
  for (const [a, b] of [
    [written, reset],
    [usedBy(one), usedBy(other)],
    [usedBy(one), both],
    [both, usedBy(one)],
  ]) {
    // prettier-ignore
    const mark = inAlternatives(a, b);
    assert.equal(mark.kind, 'either');
    assert.deepEqual(new Set(usersOf(mark)), new Set([...usersOf(a), ...usersOf(b)]));
  }
});

test('a user remembers the last gradient of each array', () => {
  const user = new GradientUser('step');
  const [a, b] = [{}, {}];
  assert.equal(user.hasUsed, false);
  assert.equal(user.lastUsed(a), 0);
  user.noteUse(a, 3);
  assert.equal(user.hasUsed, true);
  assert.deepEqual([user.lastUsed(a), user.lastUsed(b)], [3, 0]);
});
