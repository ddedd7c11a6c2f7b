import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Hazards, type Touch } from '../../../../src/passes/lower/main/hazards.js';

/* The definition, told pair by pair: what has been touched since the last barrier is kept as a list. */

type LastStepOf = (place: number) => number;

/** Whether two touches need a barrier between them. */
function conflict(earlier: Touch, later: Touch, lastStepOf: LastStepOf): boolean {
  // The first thread alone does one after the other.
  if (!earlier.everyone && !later.everyone) return false;
  const isSame = earlier.place !== null && earlier.place === later.place;
  if (isSame && (earlier.writes || later.writes)) return true;
  // What is needed no more by then may be the memory that is written.
  const last = earlier.place === null ? earlier.step : lastStepOf(earlier.place);
  return later.writes && last < later.step;
}

class Model {
  touches: readonly Touch[] = [];
  readonly #lastStepOf: LastStepOf;

  constructor(lastStepOf: LastStepOf) {
    this.#lastStepOf = lastStepOf;
  }

  forbid(later: readonly Touch[]): boolean {
    return later.some((b) => this.touches.some((a) => conflict(a, b, this.#lastStepOf)));
  }

  add(more: readonly Touch[]): void {
    this.touches = [...this.touches, ...more];
  }
}

const ofAll = { everyone: true } as const;
const ofFirst = { everyone: false } as const;
const read = { writes: false } as const;
const write = { writes: true } as const;
/** Every place is needed to the end. */
const forever: LastStepOf = () => 1000;

/** Whether a barrier is needed between a touch and another one. */
function needsBarrier(earlier: Touch, later: Touch, lastStepOf: LastStepOf = forever): boolean {
  const hazards = new Hazards(lastStepOf);
  hazards.add([earlier]);
  return hazards.forbid([later]);
}

describe('touches of one place', () => {
  const at = (step: number) => ({ place: 3, step }) as const;

  it('need a barrier between them where one writes and one is of all threads', () => {
    for (const [a, b] of [[read, write], [write, read], [write, write]] as const) {
      for (const [p, q] of [[ofAll, ofAll], [ofAll, ofFirst], [ofFirst, ofAll]] as const) {
        assert.ok(needsBarrier({ ...at(0), ...a, ...p }, { ...at(1), ...b, ...q }));
      }
    } // prettier-ignore
  });

  it('need none where both read, or both are of the first thread', () => {
    for (const p of [ofAll, ofFirst]) {
      for (const q of [ofAll, ofFirst]) {
        assert.ok(!needsBarrier({ ...at(0), ...read, ...p }, { ...at(1), ...read, ...q }));
      }
    }
    for (const a of [read, write]) {
      for (const b of [read, write]) {
        assert.ok(!needsBarrier({ ...at(0), ...a, ...ofFirst }, { ...at(1), ...b, ...ofFirst }));
      }
    }
  });

  it('are remembered one by one: of all threads stays of all threads', () => {
    const hazards = new Hazards(forever);
    hazards.add([{ ...at(0), ...read, ...ofAll }]);
    hazards.add([{ ...at(1), ...read, ...ofFirst }]);
    assert.ok(hazards.forbid([{ ...at(2), ...write, ...ofFirst }]));
    const written = new Hazards(forever);
    written.add([{ ...at(0), ...write, ...ofFirst }]);
    written.add([{ ...at(1), ...read, ...ofFirst }]);
    assert.ok(!written.forbid([{ ...at(2), ...read, ...ofFirst }]));
    assert.ok(written.forbid([{ ...at(2), ...read, ...ofAll }]));
  });
});

describe('touches of different places', () => {
  const one = { place: 1, step: 4 } as const;
  const other = (step: number) => ({ place: 2, step }) as const;

  it('need a barrier where the second is written once the first is needed no more', () => {
    const dies: LastStepOf = (place) => (place === 1 ? 5 : 1000);
    for (const a of [read, write]) {
      const first = { ...one, ...a, ...ofAll };
      assert.ok(needsBarrier(first, { ...other(6), ...write, ...ofFirst }, dies));
      assert.ok(!needsBarrier(first, { ...other(5), ...write, ...ofFirst }, dies), 'still in use');
      assert.ok(!needsBarrier(first, { ...other(6), ...read, ...ofAll }, dies), 'only read');
      assert.ok(needsBarrier({ ...one, ...a, ...ofFirst }, { ...other(6), ...write, ...ofAll }, dies)); // prettier-ignore
      assert.ok(!needsBarrier({ ...one, ...a, ...ofFirst }, { ...other(6), ...write, ...ofFirst }, dies)); // prettier-ignore
    }
  });

  it('that nothing else knows are needed in their own step only', () => {
    const scratch = { place: null, ...write, ...ofAll } as const;
    assert.ok(!needsBarrier({ ...scratch, step: 4 }, { ...scratch, step: 4 }));
    assert.ok(needsBarrier({ ...scratch, step: 4 }, { ...scratch, step: 5 }));
  });
});

describe('branches', () => {
  const from = { place: 7, step: 1, ...read, ...ofAll } as const;
  const over = { place: 7, step: 2, ...write, ...ofFirst } as const;

  it('leave behind what either has touched', () => {
    for (const touches of [[[from], []], [[], [from]], [[from], [from]]] as const) {
      const before = new Hazards(forever);
      const [yes, no] = touches.map((list) => {
        const branch = before.copy();
        branch.add(list);
        return branch;
      });
      yes.join(no);
      assert.ok(yes.forbid([over]));
      assert.ok(before.isEmpty, 'a copy is of its own');
      assert.ok(!yes.isEmpty);
    } // prettier-ignore
  });

  it('leave nothing behind where both have met', () => {
    const before = new Hazards(forever);
    before.add([from]);
    const [yes, no] = [before.copy(), before.copy()];
    yes.clear();
    no.clear();
    yes.join(no);
    assert.ok(yes.isEmpty);
    assert.ok(!yes.forbid([over]));
    assert.ok(before.forbid([over]));
  });
});

it('barriers are needed exactly where two touches conflict', () => {
  const places = 4;
  const touch = fc.record({
    place: fc.option(fc.nat(places - 1)),
    writes: fc.boolean(),
    everyone: fc.boolean(),
  });
  const action = fc.oneof(
    { weight: 6, arbitrary: fc.array(touch, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom('meet', 'branch', 'else', 'end') },
  );
  const lasts = fc.array(fc.nat(12), { minLength: places, maxLength: places });
  let barriers = 0;
  fc.assert(
    fc.property(fc.array(action, { maxLength: 25 }), lasts, (actions, last) => {
      const lastStepOf: LastStepOf = (place) => last[place];
      let now = { hazards: new Hazards(lastStepOf), model: new Model(lastStepOf) };
      const fork = ({ hazards, model }: typeof now): typeof now => {
        const copy = new Model(lastStepOf);
        copy.add(model.touches);
        return { hazards: hazards.copy(), model: copy };
      };
      const open: { readonly before: typeof now; other: typeof now | null }[] = [];
      actions.forEach((each, step) => {
        const branch = open[open.length - 1];
        if (each === 'meet') {
          now.hazards.clear();
          now.model.touches = [];
        } else if (each === 'branch') open.push({ before: fork(now), other: null });
        else if (each === 'else') {
          if (branch === undefined || branch.other !== null) return;
          branch.other = now;
          now = fork(branch.before);
        } else if (each === 'end') {
          if (branch === undefined) return;
          open.pop();
          const { other } = branch;
          if (other === null) return;
          other.hazards.join(now.hazards);
          other.model.add(now.model.touches);
          now = other;
        } else {
          // Nothing is touched when it is needed no more.
          const touches = each
            .filter(({ place }) => place === null || step <= last[place])
            .map((some) => ({ ...some, step }));
          const isForbidden = now.hazards.forbid(touches);
          assert.equal(isForbidden, now.model.forbid(touches));
          if (isForbidden) barriers++;
          now.hazards.add(touches);
          now.model.add(touches);
        }
        assert.equal(now.hazards.isEmpty, now.model.touches.length === 0);
      });
    }),
    { seed: 11, numRuns: 600 },
  );
  assert.ok(barriers > 200, `${barriers} barriers`);
});
