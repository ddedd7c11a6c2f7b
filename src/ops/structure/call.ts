import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { GraphError } from '../../base/errors.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import { bindTypes, substituteType, symbolsOfTypes } from '../../ir/bind.js';
import { checkArgument, valueRule } from '../../base/attributes/options.js';
import { namedInputs, Program } from '../../ir/program.js';
import { requireAt } from '../../ir/requirement.js';
import type { Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type GradientContext,
  type Input,
  operator,
  type OperatorFunction,
} from '../declare/declare.js';

/** A program with a prepared backward program, so that nothing is computed twice. */
export interface PreparedProgram {
  readonly forward: Program;
  /** Reads the values in `saved`, then the gradients of `flows`; returns the gradients of `gives`. */
  readonly backward: Program;
  /** Values of `forward`: k is its input k, and the number of its inputs plus k is its output k. */
  readonly saved: readonly number[];
  /** Outputs of `forward`. */
  readonly flows: readonly number[];
  /** Inputs of `forward` whose gradients were requested. */
  readonly wrt: readonly number[];
  /** Inputs among `wrt` that have a gradient. */
  readonly gives: readonly number[];
}

const preparedProgram = valueRule(
  'a Program, or one with a backward program that was prepared for it',
  (value): value is PreparedProgram =>
    typeof value === 'object' &&
    value !== null &&
    (value as PreparedProgram).forward instanceof Program &&
    (value as PreparedProgram).backward instanceof Program,
);

const attributes = {
  saved: attr.ints,
  flows: attr.ints,
  wrt: attr.ints,
  gives: attr.ints,
} as const;
const unprepared = { saved: [], flows: [], wrt: [], gives: [] };

/**
 * @internal Runs a program on arrays and returns its outputs. Symbols of the program's input types are bound to the
 * sizes of the operands.
 *
 * A prepared backward is used when exactly its outputs have gradients and it covers the inputs that need one.
 * Otherwise (only some outputs are used, or a gradient of a gradient reaches a saved value) one is derived
 * for just these outputs, which reads the saved values. Zeros for the missing gradients would be wrong: zero
 * times infinity is NaN, but no gradient contributes nothing.
 */
export const call: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    program: Program | PreparedProgram,
    ...inputs: readonly Input<T>[]
  ) => readonly T[]
> = operator({
  name: 'call',
  family: 'structure',
  attributes,
  results: 'list',
  method: false,
  operands: 'keep',
  call: (program, ...inputs) => {
    if (program instanceof Program) {
      return { inputs, attributes: unprepared, regions: [program] };
    }
    checkArgument('call', 'program', program, preparedProgram);
    const { forward, backward, saved, flows, wrt, gives } = program;
    return { inputs, attributes: { saved, flows, wrt, gives }, regions: [forward, backward] };
  },
  infer: ({ inputs, regions: [body], fresh, require }) => {
    if (body === undefined) throw new GraphError('there is no program to run', { op: 'call' });
    const dims: Map<string, Dim> = bindTypes(namedInputs(body), inputs, 'call');
    const types = body.outputs.map(({ value }) => value.type);
    for (const [name, bounds] of symbolsOfTypes(types)) {
      if (!dims.has(name)) dims.set(name, fresh(name, bounds));
    }
    for (const requirement of body.requirements) requireAt(requirement, dims, require);
    return types.map((type) => substituteType(type, dims));
  },
  gradient: <T extends Tensor>({
    inputs,
    outputs,
    grads,
    needs,
    attributes: { saved, flows, wrt, gives },
    regions: [body, prepared],
    backwardAfter,
  }: GradientContext<T, AttributesOf<typeof attributes>>) => {
    const flowing = grads.flatMap((grad, k) => (grad === null ? [] : [k]));
    const needed = needs.flatMap((need, k) => (need ? [k] : []));
    const fits =
      prepared !== undefined &&
      flows.length === flowing.length &&
      flowing.every((k) => flows.includes(k)) &&
      needed.every((k) => wrt.includes(k));
    const {
      program,
      reads,
      gives: given,
    } = fits
      ? { program: prepared, reads: saved, gives }
      : backwardAfter(
          body,
          needs,
          grads.map((grad) => grad !== null),
        );
    if (given.length === 0) return inputs.map(() => null);
    const held = [...inputs, ...outputs];
    const made = call<T>(program, ...reads.map((k) => held[k]), ...flowing.map((k) => grads[k]!));
    return inputs.map((_, k) => (given.includes(k) ? made[given.indexOf(k)] : null));
  },
  lowering: { kind: 'inline' },
  samples: [],
});
