import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../src/base/attributes/attribute.js';
import { boundsOf } from '../../src/base/dim/index.js';
import { type DType, isFloat } from '../../src/base/dtype.js';
import { KaonError } from '../../src/base/errors.js';
import type { Attributes } from '../../src/base/attributes/schema.js';
import { Program, type Value } from '../../src/ir/program.js';
import { sameType } from '../../src/ir/types.js';
import { add } from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { gradient } from '../../src/passes/gradient/gradient.js';
import { bindSizes, type SampleCase, sampleCases, sampleProgram } from '../support/samples.js';

/* What inference promises of every operator, whatever it is given: see each test. */

const floats = ['float16', 'bfloat16', 'float32', 'float64'] as const;

/** The values whose gradients are at stake, and those that gradients can flow back from. */
function floatValues(program: Program): { readonly inputs: Value[]; readonly outputs: Value[] } {
  const outputs = program.outputs.map(({ value }) => value);
  const isFloating = ({ type }: Value): boolean => isFloat(type.dtype);
  return { inputs: program.inputs.filter(isFloating), outputs: outputs.filter(isFloating) };
}

/** The gradients of `wrt` for gradients of their own of `outputs`. */
function gradientsOf(program: Program, outputs: readonly Value[], wrt: readonly Value[]): Value[] {
  const seeds = outputs.map((value) => {
    return { value, grad: program.variable(program.freshName('seed'), value.type) };
  });
  const found = gradient<Value>({
    program,
    outputs: seeds,
    wrt,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  found.forEach((grad, i) => {
    if (grad !== null) assert.ok(sameType(grad.type, wrt[i].type));
  });
  return found.filter((grad) => grad !== null);
}

function checkGradientTypes(sampleCase: SampleCase, float: DType, which: number | null): void {
  const sizes = bindSizes(sampleCase.sample, () => 3);
  const program = sampleProgram(sampleCase, { sizes, float });
  const { inputs, outputs } = floatValues(program);
  const flowing = which === null ? outputs : [outputs[which]];
  const first = gradientsOf(program, flowing, inputs);
  if (first.length > 0) gradientsOf(program, first, inputs);
}

for (const sampleCase of sampleCases(registry.values())) {
  const { declaration, sample, label } = sampleCase;
  if (declaration.gradient === 'none') continue;
  const typed = sampleProgram(sampleCase, { sizes: bindSizes(sample, () => 3) });
  const { inputs, outputs } = floatValues(typed);
  if (inputs.length === 0 || outputs.length === 0) continue;

  test(`${label}: gradients have the types of what they are gradients of`, () => {
    for (const float of floats) {
      // All results at once, and each alone: the gradients of the others are null then.
      checkGradientTypes(sampleCase, float, null);
      if (outputs.length > 1) {
        outputs.forEach((_, k) => checkGradientTypes(sampleCase, float, k));
      }
    }
  });
}

/** Every value that comes from replacing one integer in a nested value by each of some others. */
function replacements(value: unknown, by: readonly number[]): unknown[] {
  if (Number.isInteger(value)) return [...by];
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown, i) =>
    replacements(entry, by).map((other) => value.toSpliced(i, 1, other)),
  );
}

function* strangeAttributes(attributes: Attributes): Generator<Attributes> {
  for (const [name, value] of Object.entries(attributes)) {
    for (const other of replacements(value, [-3, -2, -1])) {
      yield { ...attributes, [name]: other as Json };
    }
  }
}

/** The call of a sample again, with other attributes and one extent of one operand replaced. */
function* strangeCalls(sampleCase: SampleCase): Generator<() => readonly Value[]> {
  const program = sampleProgram(sampleCase, { sizes: bindSizes(sampleCase.sample, () => 2) });
  const { node: id } = program.outputs[0].value;
  const node = program.node(id);
  if (node.kind !== 'call') return;
  const types = program.operands(id).map(({ type }) => type);
  const shapes = types.map(({ shape }) => shape);
  for (const attributes of strangeAttributes(node.attributes)) {
    const variants = [shapes, ...(replacements(shapes, [0, 1, 2, 3]) as (typeof shapes)[])];
    for (const variant of variants) {
      yield () => {
        const into = new Program();
        const operands = types.map(({ dtype }, i) =>
          into.variable(`x${i}`, { dtype, shape: variant[i] }),
        );
        return into.append(node.op, operands, attributes, { regions: node.regions });
      };
    }
  }
}

for (const sampleCase of sampleCases(registry.values())) {
  if (![...strangeCalls(sampleCase)].length) continue;

  test(`${sampleCase.label}: inference refuses what would have a negative extent`, () => {
    for (const call of strangeCalls(sampleCase)) {
      let results: readonly Value[];
      try {
        results = call();
      } catch (error) {
        assert.ok(error instanceof KaonError, String(error));
        assert.notEqual(error.op, undefined, error.message);
        continue;
      }
      for (const { type } of results) {
        assert.ok(
          type.shape.every((dim) => boundsOf(dim).min >= 0),
          type.shape.join(),
        );
      }
    }
  });
}
