import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DType } from '../../../../src/base/dtype.js';
import { symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import {
  cast,
  cummax,
  cummaxPosition,
  cummin,
  cumminPosition,
  cumprod,
  cumsum,
  mul,
  recurrence,
} from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { floats, operand } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';

/* Scans by workgroups, of rows and of parts of rows, against loops in double precision. */

interface Direction {
  readonly exclusive?: boolean;
  readonly reverse?: boolean;
}

/** A scan as a loop: a state, and a result of it. */
interface Loop {
  readonly call: (operands: readonly Value[], axis: number, direction: Direction) => Value;
  readonly operands: number;
  /** Whole numbers as elements, so small that all results are exact. */
  readonly elements: (random: () => number, operand: number) => number;
  readonly start: number;
  readonly step: (state: number, elements: readonly number[], isFirst: boolean) => number;
  readonly hasExclusive?: boolean;
}

const whole = (random: () => number): number => Math.floor(random() * 9) - 4;

const loops: Readonly<Record<string, Loop>> = {
  cumsum: {
    call: ([x], axis, direction) => cumsum(x, axis, direction),
    operands: 1,
    elements: whole,
    start: 0,
    step: (state, [x]) => state + x,
    hasExclusive: true,
  },
  cumprod: {
    call: ([x], axis, direction) => cumprod(x, axis, direction),
    operands: 1,
    elements: (random) => (random() < 0.5 ? -1 : 1),
    start: 1,
    step: (state, [x]) => state * x,
    hasExclusive: true,
  },
  recurrence: {
    call: ([a, b], axis, { reverse = false }) => recurrence(a, b, axis, { reverse }),
    operands: 2,
    elements: (random, k) => (k === 0 ? Math.floor(random() * 3) - 1 : whole(random)),
    start: 0,
    step: (state, [a, b], isFirst) => (isFirst ? b : a * state + b),
  },
  cummax: {
    call: ([x], axis, { reverse = false }) => cummax(x, axis, { reverse }),
    operands: 1,
    elements: (random) => Math.floor(random() * 100) - 50,
    start: -Infinity,
    step: (state, [x]) => Math.max(state, x),
  },
  cummin: {
    call: ([x], axis, { reverse = false }) => cummin(x, axis, { reverse }),
    operands: 1,
    elements: (random) => Math.floor(random() * 100) - 50,
    start: Infinity,
    step: (state, [x]) => Math.min(state, x),
  },
};

/** The results of a loop along an axis. */
function expectedOf(
  { step, start }: Loop,
  given: readonly Operand[],
  axis: number,
  { exclusive = false, reverse = false }: Direction,
): number[] {
  const [{ shape }] = given;
  const elements = given.map(numbersOf);
  const results = [...elements[0]];
  overRows(shape, axis, reverse, (row) => {
    let state = start;
    row.forEach((at, k) => {
      const next = step(state, elements.map((each) => each[at]), k === 0); // prettier-ignore
      results[at] = exclusive ? state : next;
      state = next;
    });
  });
  return results.map((value) => value + 0);
}

/** Visits the places of each row along an axis, in the order of a scan. */
function overRows(
  shape: readonly number[],
  axis: number,
  reverse: boolean,
  visit: (places: readonly number[]) => void,
): void {
  const length = shape[axis];
  const inner = sizeOf(shape.slice(axis + 1));
  for (let row = 0; row < sizeOf(shape.toSpliced(axis, 1)); row++) {
    const first = Math.floor(row / inner) * length * inner + (row % inner);
    const places = Array.from({ length }, (_, k) => first + k * inner);
    visit(reverse ? places.reverse() : places);
  }
}

/** A program of a scan; sizes along the axis are not known where `isOpen`. */
function programOf(
  count: number,
  dtype: DType,
  shape: readonly number[],
  axis: number,
  isOpen: boolean,
  of: (operands: readonly Value[]) => Value,
): Program {
  const program = new Program();
  const dims = isOpen ? shape.with(axis, symbol('length') as never) : shape;
  const operands = Array.from({ length: count }, (_, k) => program.variable(`x${k}`, { dtype, shape: dims })); // prettier-ignore
  program.setOutputs([{ name: 'y', value: of(operands) }]);
  return program;
}

const list = (length: number, of: (k: number) => number): number[] => Array.from({ length }, (_, k) => of(k)); // prettier-ignore

const directions: readonly Direction[] = [{}, { reverse: true }, { exclusive: true }, { exclusive: true, reverse: true }]; // prettier-ignore

/** Rows of nothing, of one, shorter and longer than a workgroup and a block, whole vectors and not, and columns. */
const shapes: readonly (readonly [shape: readonly number[], axis: number, isOpen: boolean])[] = [
  [[0], 0, true],
  [[1], 0, true],
  [[3, 65], 1, false],
  [[3, 256], 1, false],
  [[2, 1030], 1, true],
  [[2, 1028, 2], 1, false],
  [[70, 17], 0, false],
  [[1100, 16], 0, true],
  [[8197], 0, true],
];

/** Rows of known length that are scanned in blocks. */
const longShapes: typeof shapes = [[[16388], 0, false]];

for (const [name, loop] of Object.entries(loops)) {
  test(`${name} of rows and columns, of known lengths and others`, async () => {
    const random = generator(name.length);
    const possible = directions.slice(0, loop.hasExclusive === true ? 4 : 2);
    for (const [at, [shape, axis, isOpen]] of [...shapes, ...(name === 'cumsum' ? longShapes : [])].entries()) {
      // All directions of sums, and one of each shape for the others.
      for (const direction of name === 'cumsum' ? possible : [possible[at % possible.length]]) {
        const program = programOf(loop.operands, 'float32', shape, axis, isOpen, (operands) => loop.call(operands, axis, direction));
        const given = Array.from({ length: loop.operands }, (_, k) => floats(shape, list(sizeOf(shape), () => loop.elements(random, k))));
        const [y] = await new ProgramsOnGrid(sizeOf(shape)).run(program, given);
        const expected = expectedOf(loop, given, axis, direction);
        assert.deepEqual(numbersOf(y).map((value) => value + 0), expected, `${shape.join()} ${JSON.stringify(direction)}`);
      }
    }
  });
} // prettier-ignore

test('scans of other dtypes', async () => {
  const random = generator(5);
  for (const dtype of ['float16', 'bfloat16', 'int32', 'int64', 'int8', 'bool'] as const) {
    for (const [name, loop] of Object.entries(loops)) {
      for (const [shape, axis] of dtype === 'float16' || dtype === 'int64' ? [[[2, 300], 1], [[8200], 0]] as const : [[[2, 300], 1]] as const) {
        // Small enough for all dtypes.
        const elements = (k: number): number => dtype === 'bool' ? Number(random() < 0.5) : name === 'cumsum' ? Math.floor(random() * 3) - 1 : name === 'recurrence' && k === 1 ? Number(random() < 0.02) : loop.elements(random, k);
        const given = Array.from({ length: loop.operands }, (_, k) => operand(dtype, shape, Array.from({ length: sizeOf(shape) }, () => elements(k))));
        const program = programOf(loop.operands, dtype, shape, axis, true, (operands) => loop.call(operands, axis, {}));
        const [y] = await new ProgramsOnGrid(3).run(program, given);
        const isOr = dtype === 'bool' && name === 'recurrence';
        const step: Loop['step'] = isOr ? (state, [a, b], isFirst) => (isFirst ? b : Number((a !== 0 && state !== 0) || b !== 0)) : loop.step;
        const expected = expectedOf({ ...loop, step }, given, axis, {});
        assert.deepEqual(numbersOf(y).map((value) => value + 0), expected, `${name} ${dtype} ${shape.join()}`);
      }
    }
  }
}); // prettier-ignore

test('positions of running extrema are those of the last of equal elements, and of the last NaN', async () => {
  const random = generator(8);
  for (const [call, side] of [
    [cummaxPosition, Math.max],
    [cumminPosition, Math.min],
  ] as const) {
    for (const reverse of [false, true]) {
      for (const [shape, hasNaN] of [[[2, 1027], true], [[8200], false], [[1, 12], true]] as const) {
        const axis = shape.length - 1;
        const x = floats(shape, Array.from({ length: sizeOf(shape) }, () => hasNaN && random() < 0.003 ? NaN : Math.floor(random() * 5)));
        const program = programOf(1, 'float32', shape, axis, true, ([of]) => call(of, axis, { reverse }));
        const [y] = await new ProgramsOnGrid().run(program, [x]);
        const elements = numbersOf(x);
        const expected = [...elements];
        overRows(shape, axis, reverse, (places) => {
          let best = places[0];
          for (const at of places) {
            if (Number.isNaN(elements[at]) || side(elements[best], elements[at]) === elements[at]) best = at;
            expected[at] = best % shape[axis];
          }
        });
        assert.deepEqual(numbersOf(y), expected, `${shape.join()} ${String(reverse)}`);
      }
    }
  }
}); // prettier-ignore

/** What a scan of given elements comes to. */
async function scanned(
  elements: readonly (readonly number[])[],
  of: (operands: readonly Value[]) => Value,
): Promise<number[]> {
  const shape = [elements[0].length];
  const program = programOf(elements.length, 'float32', shape, 0, true, of);
  const [y] = await new ProgramsOnGrid().run(program, elements.map((each) => floats(shape, each))); // prettier-ignore
  return numbersOf(y);
}

test('infinities and NaN go where they go in order', async () => {
  const length = 2100;
  const sums = await scanned([list(length, (k) => (k === 700 ? Infinity : k === 2000 ? -Infinity : 1))], ([x]) => cumsum(x, 0)); // prettier-ignore
  assert.deepEqual([699, 700, 1999, 2000, 2099].map((k) => sums[k]), [700, Infinity, Infinity, NaN, NaN]); // prettier-ignore
  const products = await scanned([list(length, (k) => (k === 700 ? -Infinity : k === 800 ? -1 : k === 2000 ? 0 : 1))], ([x]) => cumprod(x, 0)); // prettier-ignore
  assert.deepEqual([699, 700, 799, 800, 1999, 2000, 2099].map((k) => products[k]), [1, -Infinity, -Infinity, Infinity, Infinity, NaN, NaN]); // prettier-ignore
  const maxima = await scanned([list(length, (k) => (k === 700 ? Infinity : k === 2000 ? NaN : -k))], ([x]) => cummax(x, 0)); // prettier-ignore
  assert.deepEqual([0, 699, 700, 1999, 2000, 2099].map((k) => maxima[k] + 0), [0, 0, Infinity, Infinity, NaN, NaN]); // prettier-ignore
});

test('a recurrence multiplies by no factor without a predecessor, and keeps infinities', async () => {
  const length = 9000;
  const of = ([a, b]: readonly Value[]): Value => recurrence(a, b, 0);
  const terms = list(length, (k) => (k === 5 ? Infinity : 0));
  const first = await scanned([list(length, (k) => (k === 0 ? Infinity : 1)), terms], of);
  assert.deepEqual([0, 4, 5, 8999].map((k) => first[k]), [0, 0, Infinity, Infinity]); // prettier-ignore
  // The product of the factors is far below all floats, and infinity times each of them is not NaN.
  const small = await scanned([list(length, (k) => (k === 8500 ? 0 : 1e-30)), terms], of);
  assert.deepEqual([4, 5, 300, 8499, 8500, 8999].map((k) => small[k]), [0, Infinity, Infinity, Infinity, NaN, NaN]); // prettier-ignore
  const large = await scanned([list(2100, () => 1e30), list(2100, (k) => (k === 2099 ? 1 : 0))], of); // prettier-ignore
  assert.deepEqual([0, 2098, 2099].map((k) => large[k]), [0, 0, 1]); // prettier-ignore
});

test('parts of products may leave the range of floats where those of the row do not', async () => {
  // From 2^-120 to 2^120 and back.
  const factors = list(8300, (k) => (Math.floor((k + 120) / 240) % 2 === 0 ? 2 ** -1 : 2));
  let product = 1;
  const expected = factors.map((factor) => (product *= factor));
  assert.deepEqual(await scanned([factors], ([x]) => cumprod(x, 0)), expected);
});

test('running sums of floats are as exact as sums in double precision, rounded', async () => {
  const random = generator(4);
  const x = list(2100, () => Math.fround(random() * 2 - 0.9));
  const found = await scanned([x], ([of]) => cumsum(of, 0));
  let sum = 0;
  x.forEach((value, k) => {
    sum += value;
    assert.ok(Math.abs(found[k] - sum) <= 2 ** -24 * Math.abs(sum) + 2 ** -40 * k, `${k}`);
  });
});

test('discounted sums of long rows', async () => {
  const random = generator(6);
  const [a, b] = [list(2100, () => Math.fround(0.9 + 0.1 * random())), list(2100, () => Math.fround(random()))];
  const found = await scanned([a, b], ([x, y]) => recurrence(x, y, 0));
  let state = 0;
  a.forEach((factor, k) => {
    state = k === 0 ? b[0] : factor * state + b[k];
    // A term is rounded with each factor behind it, of which some 200 leave something of it, and with each sum.
    assert.ok(Math.abs(found[k] / state - 1) <= 500 * 2 ** -24, `${k}`);
  });
}); // prettier-ignore

test('what comes behind a scan is computed with it', async () => {
  const shape = [4, 520];
  const program = programOf(1, 'float32', shape, 1, false, ([x]) => cast(mul(cumsum(x, 1), 2), 'int32')); // prettier-ignore
  const kernels = gpuKernelsOf(program);
  assert.equal(kernels.length, 1);
  assert.equal(workgroupsIn(kernels[0].body).length, 1);
  const x = floats(
    shape,
    list(sizeOf(shape), () => 1),
  );
  const [y] = await new ProgramsOnGrid().run(program, [x]);
  assert.deepEqual(
    numbersOf(y),
    list(sizeOf(shape), (k) => 2 * ((k % 520) + 1)),
  );
});
