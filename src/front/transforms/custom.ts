import type { DimExpr } from '../../base/dim/index.js';
import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, DTypeError, InternalError, ShapeError } from '../../base/errors.js';
import { callable, checkArgument, checkOptions } from '../../base/attributes/options.js';
import { Program, typeToString, type Value } from '../../ir/program.js';
import { sameType, type TensorType } from '../../ir/types.js';
import { instantiate } from '../../passes/rewrite/transform.js';
import { flattenTree, unflattenTree } from '../../base/attributes/tree.js';
import { withGradient, zerosLike } from '../../ops/index.js';
import type { Declaration, Gradient, GradientContext } from '../../ops/declare/declare.js';
import { link } from '../dispatch/dispatch.js';
import { mode, withMode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import {
  nestResults,
  outsideOperands,
  sizesOf,
  type TracedRegion,
  traceRegion,
} from '../graphs/region.js';
import { isArray } from '../graphs/signature.js';

/** Inputs of the backward function besides the incoming gradients. */
export interface CustomContext {
  readonly inputs: readonly NDArray[];
  /** The arrays of the forward's result, in order. */
  readonly outputs: readonly NDArray[];
}

export interface CustomGradient<R> {
  /** Computes the result from arrays; opaque to gradients. */
  readonly forward: (...inputs: NDArray[]) => R;
  /**
   * The gradients of the inputs, in order, null for none; a bare array for a single input. `outGrads` are the
   * gradients of the result's arrays, zeros where there is none.
   */
  readonly backward: (
    outGrads: readonly NDArray[],
    context: CustomContext,
  ) => NDArray | readonly (NDArray | null)[];
}

const op = 'customGradient';

/**
 * A function of arrays with a custom gradient. The backward function is written in operators, so it can be
 * differentiated in turn.
 */
export function customGradient<R>(spec: CustomGradient<R>): (...inputs: NDArray[]) => R {
  checkOptions<CustomGradient<R>>(op, spec, { forward: callable, backward: callable });
  checkArgument(op, 'forward', spec.forward, callable);
  checkArgument(op, 'backward', spec.backward, callable);
  return (...inputs) => {
    inputs.forEach((input, i) => {
      if (input instanceof NDArray) return;
      throw new ArgumentError(`input ${i} is not an array`, {
        op,
        expected: 'arrays; let the functions close over everything else',
        actual: describe(input),
      });
    });
    if (mode.capture !== null) return captured(spec, inputs);
    if (mode.session === null) return spec.forward(...inputs);
    return linkedBy(
      ({ inputs, outputs, grads }) => checkedGradients(spec, inputs, outputs, grads),
      () => spec.forward(...inputs),
      inputs,
    );
  };
}

/**
 * A result that eager code computes unrecorded, linked to the inputs by a call with a rule of its own, which is
 * told where no gradient flows: zeros would make NaN of infinite slopes.
 */
export function linkedBy<R>(rule: ArrayRule, forward: () => R, inputs: readonly NDArray[]): R {
  const result = withMode({ session: null }, op, forward);
  const { leaves, structure } = flattenTree(result, isArray, op);
  const outputs = leaves.map((leaf) => {
    const { type, held } = leaf.computed();
    return new NDArray(type, held);
  });
  link({ declaration: declarationWith(rule), attributes: {}, regions: [] }, inputs, outputs);
  return unflattenTree(structure, outputs) as R;
}

/** A gradient of arrays, null where there is none. */
export type ArrayRule = (context: GradientContext<NDArray, unknown>) => readonly (NDArray | null)[];

/** An operator that only occurs in recordings: its gradient is the user's function. */
function declarationWith(rule: ArrayRule): Declaration {
  return {
    name: op,
    family: 'structure',
    attributes: {},
    results: 'list',
    method: false,
    operands: 'keep',
    infer: () => {
      throw new InternalError('a recorded function with its own gradient was run again', { op });
    },
    // Recordings are differentiated on arrays only; captured code uses `withGradient`.
    gradient: rule as unknown as Gradient,
    isUsersGradient: true,
    lowering: { kind: 'inline' },
    precision: 'own',
    samples: [],
  };
}

/** The user's gradients, one for each input, of the input's type. */
function checkedGradients<R>(
  { backward }: CustomGradient<R>,
  inputs: readonly NDArray[],
  outputs: readonly NDArray[],
  grads: readonly (NDArray | null)[],
): readonly (NDArray | null)[] {
  const given = backward(
    outputs.map((output, k) => grads[k] ?? zerosLike(output)),
    { inputs, outputs },
  );
  const list = given instanceof NDArray ? [given] : given;
  if (!Array.isArray(list) || list.length !== inputs.length) {
    throw new ArgumentError('the backward function must return a gradient for each input', {
      op,
      expected: `${inputs.length}, null for none`,
      actual: Array.isArray(list) ? String(list.length) : describe(given),
    });
  }
  list.forEach((grad: unknown, i) => {
    if (grad === null) return;
    if (!(grad instanceof NDArray)) {
      throw new ArgumentError(`gradient ${i} is not an array`, {
        op,
        expected: 'an array, or null for none',
        actual: describe(grad),
      });
    }
    if (!sameType(grad.type, inputs[i].type)) {
      const Kind = grad.dtype === inputs[i].dtype ? ShapeError : DTypeError;
      throw new Kind(`gradient ${i} has another type than its input`, {
        op,
        expected: typeToString(inputs[i].type),
        actual: typeToString(grad.type),
      });
    }
  });
  return list;
}

/**
 * In captured code both functions become programs with common inputs: those of the call, then the captured
 * outer arrays of either function.
 */
function captured<R>(spec: CustomGradient<R>, inputs: readonly NDArray[]): R {
  const types = inputs.map(({ type }) => type);
  const forward = traceRegion(op, types, (given) => spec.forward(...given));
  const outputs = forward.types;
  const backward = traceRegion(op, [...types, ...outputs, ...outputs], (given) => {
    const values = given.slice(0, types.length);
    const results = given.slice(types.length, types.length + outputs.length);
    const outGrads = given.slice(types.length + outputs.length);
    const grads = checkedGradients(spec, values, results, outGrads);
    return grads.map((grad, i) => grad ?? zerosLike(values[i]));
  });
  const outside = [forward, backward].map((region) => outsideOperands(op, region));
  const extra = [...new Set(outside.flat())];
  const extraTypes = extra.map(({ type }) => type);
  const sizes = sizesOf([forward, backward]);
  const programs = {
    forward: widened(forward, sizes, [types, extraTypes], ([given, more]) => [
      ...given,
      ...outside[0].map((array) => more[extra.indexOf(array)]),
    ]),
    backward: widened(
      backward,
      sizes,
      [types, extraTypes, outputs, outputs],
      ([given, more, made, grads]) => [
        ...given,
        ...made,
        ...grads,
        ...outside[1].map((array) => more[extra.indexOf(array)]),
      ],
    ),
    sizes,
  };
  const results = withGradient(programs, ...inputs, ...extra);
  return nestResults(forward, results) as R;
}

/** A region's program that is passed sizes and has other inputs: groups of types, from which `choose` selects the region's own. */
function widened(
  { parts, types: results }: TracedRegion,
  sizes: readonly DimExpr[],
  groups: readonly (readonly TensorType[])[],
  choose: (values: readonly (readonly Value[])[]) => readonly Value[],
): Program {
  const into = new Program();
  for (const size of sizes) into.takeSize(size);
  const values = groups.map((group, g) =>
    group.map((type, i) => into.variable(`x${g}_${i}`, type)),
  );
  const outputs = instantiate(parts.program, into, choose(values));
  into.setOutputs(outputs.slice(0, results.length).map((value, i) => ({ name: `y${i}`, value })));
  return into;
}
