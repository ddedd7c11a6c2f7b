import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { symbol } from '../../src/base/dim/index.js';
import { programFromJSON, programToJSON } from '../../src/ir/formats/json.js';
import { parseProgram } from '../../src/ir/formats/parse.js';
import { Program, type Value } from '../../src/ir/program.js';
import { printProgram } from '../../src/ir/formats/text.js';
import { verify } from '../../src/ir/verify.js';
import { add, mul, neg, square, sub } from '../../src/ops/elementwise/arithmetic.js';
import { fill } from '../../src/ops/movement/fill.js';
import { reshape } from '../../src/ops/movement/reshape.js';
import { broadcastTo, sum } from '../../src/ops/reduction/sum.js';
import { call } from '../../src/ops/structure/call.js';
import { backwardProgram } from '../../src/passes/gradient/gradient.js';
import { inline } from '../../src/passes/rewrite/inline.js';
import { jointProgram } from '../../src/passes/gradient/joint.js';
import { passes } from '../../src/passes/pipeline.js';
import { evaluate, plain, type Plain } from './plain.js';

const known = new Map(
  [add, mul, neg, square, sub, fill, reshape, broadcastTo, sum, call].map((f) => [
    f.declaration.name,
    f.declaration,
  ]),
);

/** One step of a random program: what to do, with which of the values so far. */
type Step = readonly [kind: number, a: number, b: number];

const n = symbol('n');
const vector = { dtype: 'float64', shape: [n, 2] } as const;

/** A program of two inputs whose values all have the shape [n, 2]; `inner` may be called. */
function build(steps: readonly Step[], inner: Program | null): Program {
  const program = new Program();
  const values = [program.variable('x', vector), program.variable('y', vector)];
  for (const [kind, a, b] of steps) {
    const x = values[a % values.length];
    const y = values[b % values.length];
    const made = ((): readonly Value[] => {
      switch (kind % 8) {
        case 0: return [add(x, y)];
        case 1: return [sub(x, y)];
        case 2: return [mul(mul(x, y), 0.5)];
        case 3: return [neg(x)];
        case 4: return [mul(square(x), 0.25)];
        case 5: return [add(x, mul(sum(y, 1, { keepdims: true }), 0.125))];
        case 6: return [sub(y, mul(sum(x, 0), 0.125))];
        default: return inner === null ? [add(y, 1)] : call<Value>(inner, x, y);
      }
    })(); // prettier-ignore
    values.push(...made);
  }
  const [first, second] = [values.at(-1)!, values[values.length >> 1]];
  program.setOutputs([
    { name: 'first', value: first },
    { name: 'second', value: second },
  ]);
  return program;
}

const steps = fc.array(fc.tuple(fc.nat(31), fc.nat(40), fc.nat(40)), { maxLength: 12 });
const program = fc
  .tuple(steps, steps, fc.boolean())
  .map(([outer, inner, nested]) => build(outer, build(inner, nested ? build(outer, null) : null)));
const rows = fc.integer({ min: 0, max: 3 });
const elements = (count: number, seed: number): Plain =>
  plain(
    [count, 2],
    Array.from({ length: 2 * count }, (_, i) => Math.sin(seed + i * 1.7)),
  );

function close(actual: readonly Plain[], expected: readonly Plain[]): void {
  assert.equal(actual.length, expected.length);
  actual.forEach(({ shape, data }, k) => {
    assert.deepEqual(shape, expected[k].shape);
    data.forEach((value, i) => {
      const wanted = expected[k].data[i];
      const scale = Math.max(1, Math.abs(wanted));
      assert.ok(
        Object.is(value, wanted) || Math.abs(value - wanted) / scale < 1e-6,
        `${value} for ${wanted}`,
      );
    });
  });
}

const property = (holds: (program: Program, rows: number) => void): void =>
  fc.assert(fc.property(program, rows, holds), { seed: 3, numRuns: 120 });

test('every pass keeps the meaning of random programs, and their form', () => {
  property((program, count) => {
    const inputs = [elements(count, 1), elements(count, 2)];
    const expected = evaluate(program, inputs);
    verify(program);
    let current = program;
    for (const { run } of passes) {
      current = run(current, {});
      verify(current);
      close(evaluate(current, inputs), expected);
      assert.equal(run(current, {}), current, 'a second time there is nothing to do');
    }
  });
});

test('random programs and their gradients survive text and JSON', () => {
  property((program) => {
    for (const one of [program, backwardProgram(program, [true, true])]) {
      verify(one);
      const text = printProgram(one);
      const lookup = (name: string) => known.get(name);
      assert.equal(printProgram(parseProgram(text, lookup)), text);
      const json = JSON.stringify(programToJSON(one));
      assert.equal(printProgram(programFromJSON(JSON.parse(json), lookup)), text);
    }
  });
});

test('gradients of random programs: through calls, of the flat program, and in two parts', () => {
  property((program, count) => {
    const inputs = [elements(count, 1), elements(count, 2)];
    const grads = [elements(count, 3), elements(count, 4)];
    const expected = evaluate(backwardProgram(program, [true, true]), [...inputs, ...grads]);
    close(
      evaluate(backwardProgram(inline(program), [true, true]), [...inputs, ...grads]),
      expected,
    );
    const joint = jointProgram(program, [true, true]);
    verify(joint.forward);
    verify(joint.backward);
    const held = [...inputs, ...evaluate(joint.forward, inputs)];
    close(held.slice(2, 4), evaluate(program, inputs));
    // To the others nothing flows, which one program says with zeros.
    const given = evaluate(joint.backward, [...joint.saved.map((k) => held[k]), ...grads]);
    close(given, joint.gives.map((k) => expected[k])); // prettier-ignore
    expected.forEach((grad, k) => {
      if (!joint.gives.includes(k)) assert.ok(grad.data.every((value) => value === 0));
    });
  });
});

test('gradients of random programs agree with differences', () => {
  property((program, count) => {
    const [x, y] = [elements(count, 1), elements(count, 2)];
    const weights = [elements(count, 3), elements(count, 4)];
    const [dx] = evaluate(backwardProgram(program, [true, false]), [x, y, ...weights]);
    const along = elements(count, 5).data;
    const value = (step: number): number => {
      const moved = plain(x.shape, x.data.map((entry, i) => entry + step * along[i])); // prettier-ignore
      return evaluate(program, [moved, y]).reduce(
        (total, { data }, k) =>
          total + data.reduce((s, entry, i) => s + entry * weights[k].data[i], 0),
        0,
      );
    };
    const slope = dx.data.reduce((total, entry, i) => total + entry * along[i], 0);
    const [h, scale] = [1e-5, Math.max(1, Math.abs(slope))];
    const differences = (value(h) - value(-h)) / (2 * h);
    // Steep polynomials of high degree have no use for a fixed step: only values of ordinary size count.
    if (scale < 1e3)
      assert.ok(Math.abs(differences - slope) / scale < 1e-4, `${slope} ${differences}`);
  });
});
