import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, flip, neg } from '../../src/ops/index.js';
import { compile } from '../../src/runtime/compile/compile.js';
import { Device } from '../../src/runtime/memory/device.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import { programOf } from '../support/programs.js';

/*
 * Long random sequences of runs, writes, reads and pins on a few arrays, beside the same on plain arrays.
 * Elements are whole numbers that stay small, so that nothing is rounded.
 */

const length = 2 ** 16;
const bytes = 4 * length;
const large = { dtype: 'float32', shape: [length] } as const;
const count = 5;

type Model = (operands: readonly Float32Array[]) => readonly Float32Array[];

const programs = [
  {
    program: programOf({ x: large, y: large }, ({ x, y }) => ({ z: add(x, y), x, n: neg(y) })),
    model: (([x, y]) => [x.map((v, i) => v + y[i]), x.slice(), y.map((v) => -v)]) as Model,
  },
  {
    program: programOf({ x: large, y: large }, ({ x, y }) => {
      const turned = flip(x, 0);
      return { turned, twice: add(turned, turned), again: turned, y };
    }),
    model: (([x, y]) => {
      const turned = x.slice().reverse();
      return [turned, turned.map((v) => 2 * v), turned.slice(), y.slice()];
    }) as Model,
  },
];

/** Marsaglia's xorshift (2003) with 32 bits. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Whole numbers that keep what comes of them small. */
function fresh(random: (below: number) => number): Float32Array {
  const [start, step] = [random(9), random(7)];
  const elements = new Float32Array(length);
  for (let i = 0; i < length; i++) elements[i] = ((start + step * i) % 11) - 5;
  return elements;
}

const cases: readonly { readonly what: string; readonly options: ConstructorParameters<typeof Device>[0] }[] = [
  { what: 'plenty of memory', options: {} },
  { what: 'a budget for three arrays', options: { residentBytes: 3 * bytes } },
  { what: 'a budget for one array', options: { residentBytes: bytes } },
  { what: 'no budget', options: { residentBytes: 0 } },
  { what: 'memory for a dozen arrays', options: { maximumBytes: 13 * bytes, residentBytes: 12 * bytes } },
]; // prettier-ignore

for (const { what, options } of cases) {
  test(`arrays are what they would be without a device: ${what}`, () => {
    for (const [seed, replaced] of [
      [7, false],
      [11, true],
      [23, true],
    ] as const) {
      // prettier-ignore
      const random = randomFrom(seed);
      const device = new Device(options);
      const executables = programs.map(({ program, model }) => ({
        model,
        outputs: program.outputs.length,
        executable: compile(program, { device, ...(replaced && { replaced: program.outputs.map((_, k) => (k < 2 ? k : null)) }) }), // prettier-ignore
      }));
      const expected = Array.from({ length: count }, () => fresh(random));
      const actual = expected.map((elements) => new Storage('float32', elements.slice()));
      const check = (at: number): void => assert.deepEqual(actual[at].copy(), expected[at], `array ${at}`); // prettier-ignore
      for (let step = 0; step < 60; step++) {
        const at = random(count);
        switch (random(9)) {
          case 0:
            expected[at] = fresh(random);
            actual[at].write(expected[at].slice());
            break;
          case 1:
            expected[at] = fresh(random);
            actual[at].fill(expected[at]);
            break;
          case 2:
            assert.deepEqual(actual[at].host.slice(), expected[at]);
            break;
          case 3:
            if (actual.filter(({ isPinned }) => isPinned).length < 2) actual[at].pin(device);
            break;
          case 4:
            actual[at].unpin();
            break;
          default: {
            const { executable, model, outputs } = executables[random(executables.length)];
            const operands = [random(count), random(count)];
            const results = model(operands.map((operand) => expected[operand]));
            const targets = Array.from({ length: outputs }, () => random(count + 2));
            // Outputs that get an array of their own replace one of the known ones now and then.
            const into = targets.map((target, k) => target < count && targets.indexOf(target) === k ? target : null); // prettier-ignore
            const given = operands.map((operand): Operand => ({ storage: actual[operand], shape: [length] })); // prettier-ignore
            const made = executable.run(given, into.every((target) => target === null) ? undefined : into.map((target) => (target === null ? null : actual[target]))); // prettier-ignore
            made.forEach(({ storage }, k) => {
              const target = into[k] ?? random(3 * count);
              if (target >= count || (into[k] === null && into.includes(target))) {
                if (k === 0) assert.deepEqual(storage.copy(), results[k]);
                return;
              }
              if (into[k] === null) actual[target].unpin();
              actual[target] = storage;
              expected[target] = results[k].map((v) => v % 64);
              if (expected[target].some((v, i) => v !== results[k][i])) storage.fill(expected[target]); // prettier-ignore
            });
            break;
          }
        }
        check(at);
        assert.ok(device.residents.bytes <= device.residents.budget);
      }
      for (let at = 0; at < count; at++) check(at);
      actual.forEach((storage) => storage.unpin());
    }
  });
}
