import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatic } from '../../src/base/dim/index.js';
import { isFloat } from '../../src/base/dtype.js';
import type { Program, Value } from '../../src/ir/program.js';
import { add, cumsum, mul, onesLike, reshape, sin, sum } from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { gradient } from '../../src/passes/gradient/gradient.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import {
  bindSizes,
  generator,
  type SampleCase,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../support/samples.js';

/*
 * The derivative along a direction, twice: g(x) = <w, f(x)> against a central difference of g, and then
 * h(x) = <v, grad g(x)> against a central difference of h. Programs compute value and slope together.
 */

const options = { float: 'float64' } as const;

/** <weights, values> over all float values, as one number. */
function weigh(program: Program, values: readonly Value[], prefix: string): Value {
  return values
    .map((value, i) => {
      const isSized = value.type.shape.every(isStatic);
      const weights = isSized ? program.variable(`${prefix}${i}`, value.type) : waves(value);
      return sum(mul(value, weights));
    })
    .reduce((a, b) => add(a, b));
}

/** Weights for a value whose size only the data decides: no test can bring them along. */
function waves(value: Value): Value {
  return reshape(sin(mul(cumsum(onesLike(value)), 1.7)), value.type.shape);
}

interface Slope {
  readonly grads: readonly Value[];
  /** The derivative of `of` along the directions; a plain zero where no gradient flows. */
  readonly slope: Value;
}

function slopeAlong(program: Program, of: Value, inputs: readonly Value[], prefix: string): Slope {
  const number = (value: number): Value =>
    program.constant({ type: { dtype: 'float64', shape: [] }, data: new Float64Array([value]) });
  const found = gradient<Value>({
    program,
    outputs: [{ value: of, grad: number(1) }],
    wrt: inputs,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  const grads: Value[] = [];
  let slope = number(0);
  found.forEach((grad, i) => {
    if (grad === null) return;
    grads.push(grad);
    slope = add(slope, sum(mul(grad, program.variable(`${prefix}${i}`, inputs[i].type))));
  });
  return { grads, slope };
}

interface Differentiated {
  /** Outputs: g, then its slope. */
  readonly first: Program;
  /** Outputs: h, then its slope; null where the gradient is no function of anything. */
  readonly second: Program | null;
}

function build(sampleCase: SampleCase, sizes: ReadonlyMap<string, number>): Differentiated {
  const make = (): { program: Program; inputs: readonly Value[]; g: Value } => {
    const program = sampleProgram(sampleCase, { ...options, sizes });
    const inputs = program.inputs.filter(({ type }) => isFloat(type.dtype));
    const outputs = program.outputs
      .map(({ value }) => value)
      .filter(({ type }) => type.dtype === 'float64');
    return { program, inputs, g: weigh(program, outputs, 'w') };
  };
  const finish = (program: Program, value: Value, slope: Value): Program => {
    program.setOutputs([
      { name: 'value', value },
      { name: 'slope', value: slope },
    ]);
    return program;
  };
  const once = make();
  const first = finish(
    once.program,
    once.g,
    slopeAlong(once.program, once.g, once.inputs, 'd').slope,
  );
  const twice = make();
  const { grads } = slopeAlong(twice.program, twice.g, twice.inputs, 'unused');
  if (grads.length === 0) return { first, second: null };
  const h = weigh(twice.program, grads, 'v');
  return {
    first,
    second: finish(twice.program, h, slopeAlong(twice.program, h, twice.inputs, 'd').slope),
  };
}

function checkSlope(
  label: string,
  program: Program,
  sampleCase: SampleCase,
  sizes: ReadonlyMap<string, number>,
  seed: number,
): void {
  const executable = compile(program, { target: 'wasm' });
  const random = generator(seed);
  const base = sampleOperands(sampleCase.sample, sizes, random, options);
  const extra = new Map<string, Operand>();
  const operand = (value: Value, i: number): Operand => {
    if (i < base.length) return base[i];
    const shape = value.type.shape as readonly number[];
    const length = shape.reduce((a, b) => a * b, 1);
    const node = program.node(value.node);
    const name = node.kind === 'variable' ? node.name : '';
    const made = {
      storage: new Storage(
        'float64',
        Float64Array.from({ length }, () => random() * 2 - 1),
      ),
      shape,
    };
    extra.set(name, made);
    return made;
  };
  const operands = program.inputs.map(operand);
  const directions = program.inputs.slice(0, base.length).filter(({ type }) => isFloat(type.dtype));
  const step = 1e-5;
  const moved = (by: number): number => {
    let float = 0;
    const shifted = operands.map((given, i) => {
      if (i >= base.length || !isFloat(given.storage.dtype)) return given;
      const along = extra.get(`d${float++}`);
      if (along === undefined) return given;
      const data = Float64Array.from(
        given.storage.host as Float64Array,
        (x, k) => x + by * Number(along.storage.host[k]),
      );
      return { storage: new Storage('float64', data), shape: given.shape };
    });
    return Number(executable.run(shifted)[0].storage.host[0]);
  };
  assert.ok(directions.length > 0);
  const numeric = (moved(step) - moved(-step)) / (2 * step);
  const analytic = Number(executable.run(operands)[1].storage.host[0]);
  const scale = Math.max(1, Math.abs(numeric), Math.abs(analytic));
  assert.ok(
    Math.abs(numeric - analytic) / scale < 2e-5,
    `${label}: the gradient says ${analytic}, differences say ${numeric} (sizes ${JSON.stringify([...sizes])})`,
  );
}

for (const sampleCase of sampleCases(registry.values())) {
  const { declaration, sample, label } = sampleCase;
  if (declaration.gradient === 'none' || sample.differentiable === false) continue;
  const typed = sampleProgram(sampleCase, { ...options, sizes: bindSizes(sample, () => 2) });
  // Differences need a float64 result of a float operand: a cast to half precision has steps instead of slopes.
  if (!typed.inputs.some(({ type }) => isFloat(type.dtype))) continue;
  if (!typed.outputs.some(({ value }) => value.type.dtype === 'float64')) continue;

  test(`${label}: first and second derivatives agree with finite differences`, () => {
    for (const size of [0, 1, 2, 3]) {
      const sizes = bindSizes(sample, (name) => size + (size > 1 ? name.length % 2 : 0));
      const { first, second } = build(sampleCase, sizes);
      checkSlope('first', first, sampleCase, sizes, 7 + size);
      if (second !== null) checkSlope('second', second, sampleCase, sizes, 11 + size);
      if (sizes.size === 0) break;
    }
  });
}
