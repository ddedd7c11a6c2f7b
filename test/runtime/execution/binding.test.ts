import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evaluateDim, symbol } from '../../../src/base/dim/index.js';
import { bytesOf } from '../../../src/base/dtype.js';
import {
  ArgumentError,
  DTypeError,
  GraphError,
  InternalError,
  ShapeError,
} from '../../../src/base/errors.js';
import { onCpu } from '../../../src/kernels/cpu/index.js';
import { wasmTarget } from '../../../src/loop/language/target.js';
import { exp, matmul, mul, softmax, sum, transpose } from '../../../src/ops/index.js';
import { fuse } from '../../../src/passes/fuse/fuse.js';
import { lowerProgram, placeEntry, type ProgramPlan } from '../../../src/passes/lower/main/plan.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import { bind, type Binding, checkDistinct, fits } from '../../../src/runtime/execution/binding.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { floats, programOf } from '../../support/programs.js';

const n = symbol('n');

/** Several steps that need memory for a while. */
const program = runPipeline(
  programOf(
    { x: { dtype: 'float32', shape: [n, 3] }, w: { dtype: 'float32', shape: [3, 3] } },
    ({ x, w }) => {
      const h = softmax(matmul(x, w), 1);
      const g = matmul(exp(transpose(h)), h);
      return { h, total: sum(mul(g, g)) };
    },
  ),
);

const planOf = (): ProgramPlan =>
  lowerProgram(program, schedule(program, fuse(program)), onCpu(wasmTarget));

const operands = (rows: number): readonly Operand[] => [
  floats(
    [rows, 3],
    Array.from({ length: 3 * rows }, (_, i) => i / 8),
  ),
  floats([3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
];

interface Bound {
  readonly plan: ProgramPlan;
  readonly device: Device;
  readonly binding: Binding;
  readonly given: readonly Operand[];
}

function bound(
  rows: number,
  given: readonly Operand[] = operands(rows),
  into?: readonly (Storage | null)[],
): Bound {
  const [plan, device] = [planOf(), new Device()];
  return { plan, device, binding: bind(plan, device, new Map(), given, into, 'copied'), given };
}

describe('a plan for certain sizes', () => {
  it('has the values of sizes first, then addresses, of which none is shared by two places at one time', () => {
    for (const rows of [0, 1, 2, 7, 50]) {
      const { plan, binding } = bound(rows);
      const sizes = new Map([['n', rows]]);
      plan.sizes.forEach((dim, k) => assert.equal(binding.table[k], evaluateDim(dim, sizes)));
      const spans = plan.places.map((place, k) => ({
        begin: binding.table[placeEntry(plan, k)],
        bytes: bytesOf(place.dtype) * evaluateDim(place.length, sizes),
        first: place.role.kind === 'input' ? -1 : place.first,
        last: place.last,
      }));
      assert.ok(spans.length > 3, 'something is between inputs and outputs');
      spans.forEach((a, i) => {
        assert.equal(a.begin % 16, 0, 'vectors are aligned');
        for (const b of spans.slice(i + 1)) {
          const together = a.first <= b.last && b.first <= a.last;
          const overlap = a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
          assert.ok(!(together && overlap), `${rows} rows`);
        }
      });
    }
  });

  it('says what results are, and that they get fresh storage', () => {
    const { binding } = bound(4);
    assert.deepEqual(binding.outputShapes, [[4, 3], []]);
    assert.deepEqual(binding.outputTypes, [{ dtype: 'float32', length: 12 }, { dtype: 'float32', length: 1 }]); // prettier-ignore
    assert.deepEqual(binding.shapes, [[4, 3], [3, 3]]); // prettier-ignore
    assert.ok(binding.isFresh && !binding.mayCollide && binding.large === null);
    assert.deepEqual([binding.overwritten, binding.inPlace], [[], [false, false]]);
    assert.deepEqual(binding.staging.map((view) => view?.length), [12, 9]); // prettier-ignore
  });

  it('uses pinned operands where they lie', () => {
    const [plan, device] = [planOf(), new Device()];
    const given = operands(2);
    const pinned = given[1].storage;
    pinned.pin(device);
    const binding = bind(plan, device, new Map(), given, undefined, 'copied');
    assert.equal(binding.inputAddresses[0], -1);
    assert.equal(binding.inputAddresses[1], pinned.addressOn(device));
    assert.equal(binding.staging[1], null);
    const place = plan.places.findIndex(({ role }) => role.kind === 'input' && role.index === 1);
    assert.equal(binding.table[placeEntry(plan, place)], pinned.addressOn(device));
  });
});

describe('a binding', () => {
  const storage = (length: number): Storage => new Storage('float32', new Float32Array(length));

  it('serves operands of the same shapes and dtypes, wherever they are not pinned', () => {
    const { binding, device, given } = bound(4);
    assert.ok(fits(binding, device, given, undefined));
    assert.ok(fits(binding, device, operands(4), undefined));
    assert.ok(!fits(binding, device, operands(5), undefined));
    assert.ok(!fits(binding, device, given.slice(0, 1), undefined));
    const [x, w] = given;
    const doubles = { storage: new Storage('float64', new Float64Array(9)), shape: [3, 3] };
    assert.ok(!fits(binding, device, [x, doubles], undefined));
    assert.ok(!fits(binding, device, [{ ...x, shape: [3, 4] }, w], undefined));
    assert.ok(!fits(binding, device, [{ ...x, shape: [12] }, w], undefined));
    w.storage.pin(device);
    assert.ok(!fits(binding, device, given, undefined), 'pinned since');
  });

  it('serves results that go to the same kinds of places', () => {
    const into = [storage(12), null];
    const { binding, device, given } = bound(4, operands(4), into);
    assert.ok(!binding.isFresh);
    assert.ok(fits(binding, device, given, into));
    assert.ok(fits(binding, device, given, [storage(12), null]));
    assert.ok(fits(binding, device, given, [storage(12)]));
    assert.ok(!fits(binding, device, given, undefined));
    assert.ok(!fits(binding, device, given, [null, null]));
    assert.ok(!fits(binding, device, given, [storage(12), storage(1)]));
    assert.ok(!fits(binding, device, given, [storage(11), null]));
    assert.ok(!fits(binding, device, given, [storage(12), null, null]));
    const both = bound(4, operands(4), [storage(12), storage(1)]);
    assert.ok(both.binding.mayCollide && !binding.mayCollide);
  });

  it('is refused to operands and places that do not fit', () => {
    const [x, w] = operands(4);
    const doubles = { storage: new Storage('float64', new Float64Array(9)), shape: [3, 3] };
    assert.throws(() => bound(4, [x, doubles]), DTypeError);
    assert.throws(() => bound(4, [{ ...x, shape: [3, 4] }, w]), ShapeError);
    assert.throws(() => bound(4, [{ ...x, shape: [5, 3] }, w]), InternalError);
    assert.throws(() => bound(4, [x, w], [storage(11)]), ArgumentError);
    assert.throws(() => bound(4, [x, w], [doubles.storage]), ArgumentError);
    assert.throws(() => bound(4, [x, w], [null, null, null]), GraphError);
    const one = storage(12);
    assert.throws(() => checkDistinct(program, [one, one]), ArgumentError);
    checkDistinct(program, [one, null, storage(12)]);
  });
});
