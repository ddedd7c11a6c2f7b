import assert from 'node:assert/strict';
import { type Element, readElement } from '../../src/base/element.js';
import { Program, Value } from '../../src/ir/program.js';
import { add, fullLike, mul, sum } from '../../src/ops/index.js';
import { gradient } from '../../src/passes/gradient/gradient.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { CompileOptions, Operand } from '../../src/runtime/execution/executable.js';
import { indicesOf, numbersOf, positionOf } from './arrays.js';

export type Target = NonNullable<CompileOptions['target']>;

function variables(program: Program, inputs: readonly Operand[]): Value[] {
  return inputs.map(({ storage, shape }, i) =>
    program.variable(`x${i}`, { dtype: storage.dtype, shape }),
  );
}

/** Runs a function of program values on arrays, with their sizes as static extents. */
export function evaluate(
  inputs: readonly Operand[],
  build: (...values: Value[]) => unknown,
  target: Target = 'wasm',
): readonly Operand[] {
  const program = new Program();
  const result = build(...variables(program, inputs));
  const outputs = result instanceof Value ? [result] : (Object.values(result as object) as Value[]);
  program.setOutputs(outputs.map((value, i) => ({ name: `y${i}`, value })));
  return compile(program, { target }).run(inputs);
}

/**
 * The gradients, as numbers, of the sum of what `build` gives, each element times its weight (1 without
 * weights); null for inputs that nothing flows to.
 */
export function gradientsOf(
  inputs: readonly Operand[],
  build: (...values: Value[]) => Value,
  weights?: Operand,
): readonly (number[] | null)[] {
  const program = new Program();
  const wrt = variables(program, inputs);
  const result = build(...wrt);
  const scale =
    weights === undefined
      ? fullLike(result, 1)
      : program.variable('weights', { dtype: weights.storage.dtype, shape: weights.shape });
  const total = sum(mul(result, scale));
  const grads = gradient<Value>({
    program,
    outputs: [{ value: total, grad: fullLike(total, 1) }],
    wrt,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  const flowing = grads.filter((grad) => grad !== null);
  program.setOutputs(flowing.map((value, i) => ({ name: `g${i}`, value })));
  const operands = weights === undefined ? inputs : [...inputs, weights];
  const computed = compile(program).run(operands).map(numbersOf);
  let next = 0;
  return grads.map((grad) => (grad === null ? null : computed[next++]));
}

/** The element of an array at an index, as the user sees it. */
export function elementAt({ storage, shape }: Operand, index: readonly number[]): Element {
  return readElement(storage.dtype, storage.host, positionOf(index, shape));
}

/**
 * Checks shape and every element of what a function computes, on both targets, against a rule for the
 * element at an index. `tolerance` is relative to the magnitude, at least 1; 0 means equal.
 */
export function expectElements(
  inputs: readonly Operand[],
  build: (...values: Value[]) => Value,
  shape: readonly number[],
  rule: (index: readonly number[]) => Element,
  tolerance = 0,
): void {
  for (const target of ['interpreter', 'wasm'] as const) {
    const [actual] = evaluate(inputs, build, target);
    assert.deepEqual(actual.shape, shape, target);
    for (const index of indicesOf(shape)) {
      const [got, wanted] = [elementAt(actual, index), rule(index)];
      const place = `${target}, element [${index.join(', ')}]`;
      if (tolerance === 0 || typeof wanted !== 'number' || !Number.isFinite(wanted)) {
        assert.equal(got, wanted, place);
      } else {
        const error = Math.abs(Number(got) - wanted) / Math.max(1, Math.abs(wanted));
        assert.ok(error <= tolerance, `${place}: ${String(got)} for ${wanted}`);
      }
    }
  }
}

/** The type that operators infer, without running them. */
export function inferred(
  inputs: readonly {
    readonly dtype: Value['type']['dtype'];
    readonly shape: Value['type']['shape'];
  }[],
  build: (...values: Value[]) => Value,
): string {
  const program = new Program();
  const { type } = build(...inputs.map((input, i) => program.variable(`x${i}`, input)));
  return `${type.dtype}[${type.shape.map(String).join(', ')}]`;
}
