import * as attr from '../../base/attributes/attribute.js';
import type { Dim } from '../../base/dim/index.js';
import { GraphError } from '../../base/errors.js';
import type { AttributesOf } from '../../base/attributes/schema.js';
import { bindProgram, substituteType, symbolsOfTypes } from '../../ir/bind.js';
import { checkArgument, valueRule } from '../../base/attributes/options.js';
import { Program } from '../../ir/program.js';
import { requireAt, speaksOnlyOf } from '../../ir/requirement.js';
import type { Tensor } from '../../ir/types.js';
import type { SizeSource } from '../declare/backward.js';
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
  /** The sizes that backward is passed. */
  readonly sizes: readonly SizeSource[];
  /** Outputs of `forward`. */
  readonly flows: readonly number[];
  /** Inputs of `forward` whose gradients were requested. */
  readonly wrt: readonly number[];
  /** Inputs among `wrt` that have a gradient. */
  readonly gives: readonly number[];
}

/** A program, and the sizes that it is passed. */
export interface SizedProgram {
  readonly program: Program;
  readonly sizes: readonly Dim[];
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
  sizes: attr.passedSizes,
  extents: attr.extentPairs,
  saved: attr.ints,
  flows: attr.ints,
  wrt: attr.ints,
  gives: attr.ints,
} as const;
const unprepared = { sizes: [], extents: [], saved: [], flows: [], wrt: [], gives: [] };

/**
 * @internal Runs a program on arrays and returns its outputs. Symbols of the program's input types are bound to the
 * sizes of the operands, and its size parameters to those that it is passed.
 *
 * A prepared backward is used when exactly its outputs have gradients and it covers the inputs that need one.
 * Otherwise (only some outputs are used, or a gradient of a gradient reaches a saved value) one is derived
 * for just these outputs, which reads the saved values. Zeros for the missing gradients would be wrong: zero
 * times infinity is NaN, but no gradient contributes nothing.
 */
export const call: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    program: Program | SizedProgram | PreparedProgram,
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
    if ('program' in program) {
      const { program: body, sizes } = program;
      return { inputs, attributes: { ...unprepared, sizes }, regions: [body] };
    }
    checkArgument('call', 'program', program, preparedProgram);
    const { forward, backward, saved, sizes, flows, wrt, gives } = program;
    const extents = sizes.flatMap(({ place, axis }) => [place, axis]);
    const attributes = { sizes: [], extents, saved, flows, wrt, gives };
    return { inputs, attributes, regions: [forward, backward] };
  },
  infer: ({ inputs, attributes, regions: [body], fresh, require }) => {
    if (body === undefined) throw new GraphError('there is no program to run', { op: 'call' });
    const dims = bindProgram<Dim>(body, inputs, attributes.sizes, 'call');
    // What is required of sizes that the program decides is checked where it does.
    for (const requirement of body.requirements) {
      if (speaksOnlyOf(requirement, dims)) requireAt(requirement, dims, require);
    }
    const types = body.outputs.map(({ value }) => value.type);
    for (const [name, bounds] of symbolsOfTypes(types)) {
      if (!dims.has(name)) dims.set(name, fresh(name, bounds));
    }
    return types.map((type) => substituteType(type, dims));
  },
  gradient: <T extends Tensor>({
    inputs,
    outputs,
    grads,
    needs,
    attributes: { sizes: passed, extents, saved, flows, wrt, gives },
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
      sizes,
      gives: given,
    } = fits
      ? { program: prepared, reads: saved, sizes: sourcesOf(extents), gives }
      : backwardAfter(
          body,
          needs,
          grads.map((grad) => grad !== null),
        );
    if (given.length === 0) return inputs.map(() => null);
    const held = [...inputs, ...outputs];
    const sizeAt = ({ place, axis }: SizeSource): Dim =>
      place < 0 ? passed[axis] : held[place].type.shape[axis];
    const made = call<T>(
      { program, sizes: sizes.map(sizeAt) },
      ...reads.map((k) => held[k]),
      ...flowing.map((k) => grads[k]!),
    );
    return inputs.map((_, k) => (given.includes(k) ? made[given.indexOf(k)] : null));
  },
  lowering: { kind: 'inline' },
  samples: [],
});

function sourcesOf(extents: readonly number[]): readonly SizeSource[] {
  const count = extents.length / 2;
  return Array.from({ length: count }, (_, i) => ({
    place: extents[2 * i],
    axis: extents[2 * i + 1],
  }));
}
