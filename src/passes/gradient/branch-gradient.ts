import { type Dim, symbol } from '../../base/dim/index.js';
import { substituteType, symbolsOfTypes } from '../../ir/bind.js';
import { type NamedType, namedInputs, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { BranchBackward, Branches } from '../../ops/declare/backward.js';
import { fill, zerosLike } from '../../ops/movement/fill.js';
import { concat } from '../../ops/movement/concat.js';
import { slice } from '../../ops/movement/slice.js';
import { ofAnySize } from '../rewrite/loop-body.js';
import type { Differentiate } from './loop-flow.js';
import { indicesOf } from '../rewrite/marks.js';
import { splitJoint } from './split.js';
import { instantiate } from '../rewrite/transform.js';

/** The backward program of one branch. */
interface Way {
  readonly branch: Program;
  /** Takes the values in `reads`, then the gradients; returns those of the inputs `gives`. */
  readonly program: Program;
  readonly reads: readonly number[];
  readonly gives: readonly number[];
  readonly loose: Branches['loose'][number];
}

/**
 * Derives two backward programs, of which the one for the taken branch runs; null where no gradient reaches
 * anything in either. Nothing of a branch but its results is saved: other values exist only if it ran, so
 * they are recomputed. Where a gradient flows through one branch only, the other returns zeros.
 */
export function branchBackward(
  { branches, needs, flows, isSettled, loose }: Branches,
  differentiate: Differentiate,
): BranchBackward | null {
  const outputs = indicesOf(flows);
  const back = (k: 0 | 1): Way => {
    const branch = branches[k];
    const inputs = branch.inputs.length;
    const request = differentiate(branch, needs, flows);
    const { gives } = request;
    const { backward, saved } = splitJoint(request, 'none', false, {
      isHeld: (place) => place < inputs || isSettled[place - inputs],
      isKeepable: () => false,
      seen: outputs.map((output, i) => tight(request.seeds[i].type, loose[k][output])),
    });
    return { branch, program: backward, reads: saved, gives, loose: loose[k] };
  };
  const ways = [back(0), back(1)] as const;
  const union = (of: (way: Way) => readonly number[]): number[] =>
    [...new Set(ways.flatMap(of))].sort((a, b) => a - b);
  const gives = union((way) => way.gives);
  if (gives.length === 0) return null;
  // Zeros take their type from the operand.
  const reads = union((way) => [...way.reads, ...gives.filter((k) => !way.gives.includes(k))]);
  const build = (way: Way): Program => joined(way, reads, outputs, gives);
  return { branches: [build(ways[0]), build(ways[1])], reads, gives };
}

/** A backward program with the reads and gradients of both branches. */
function joined(
  { branch, program, reads, gives, loose }: Way,
  allReads: readonly number[],
  flows: readonly number[],
  allGives: readonly number[],
): Program {
  const declared = namedInputs(program);
  const ends = [...branch.inputs, ...branch.outputs.map(({ value }) => value)];
  return Program.from(program, (into) => {
    const variable = ({ name, type }: NamedType): Value =>
      into.variable(into.freshName(name), type);
    const dims = looseDims(branch, declared, into);
    const operands = allReads.map((place) => {
      const at = reads.indexOf(place);
      if (at >= 0) return variable(declared[at]);
      return variable({ name: 'unread', type: ofAnySize(into, ends[place].type) });
    });
    const seeds = flows.map((output, i) => {
      const { name, type: tightType } = declared[reads.length + i];
      const type = substituteType(tightType, dims);
      const axes = loose[output];
      const shape = type.shape.map((dim, axis) =>
        axes.includes(axis) ? into.freshDim('size') : dim,
      );
      return { axes, type, given: variable({ name, type: { ...type, shape } }) };
    });
    const fitting = seeds.map(({ axes, type, given }) =>
      axes.reduce((seed, axis) => fitted(seed, axis, type.shape[axis]), given),
    );
    const operandOf = (place: number): Value => operands[allReads.indexOf(place)];
    const grads = instantiate(program, into, [...reads.map(operandOf), ...fitting], dims);
    into.setOutputs(
      allGives.map((input) => ({
        name: `grad_${input}`,
        value: grads[gives.indexOf(input)] ?? zerosLike<Value>(operandOf(input)),
      })),
    );
  });
}

/**
 * The symbols of a backward program in one for both branches. The gradients of results whose size the branch
 * itself decides may have the size of the other branch's, which has other bounds.
 */
function looseDims(
  branch: Program,
  declared: readonly NamedType[],
  into: Program,
): Map<string, Dim> {
  const given = symbolsOfTypes(branch.inputs.map(({ type }) => type));
  const dims = new Map<string, Dim>();
  for (const [name, bounds] of symbolsOfTypes(declared.map(({ type }) => type)))
    dims.set(name, given.has(name) ? symbol(name, bounds) : into.freshDim(name));
  return dims;
}

/** A type without the axes whose sizes may be those of another branch. */
function tight({ dtype, shape }: TensorType, loose: readonly number[]): TensorType {
  return { dtype, shape: shape.filter((_, axis) => !loose.includes(axis)) };
}

/**
 * Gives an array the static type with a size that it has at run time. Readers must not require the size: the
 * requirement would apply to the other branch's results as well.
 */
function fitted(x: Value, axis: number, size: Value['type']['shape'][number]): Value {
  const { dtype, shape } = x.type;
  const [zeros] = x.program.append(fill.declaration, [], {
    shape: shape.map((dim, k) => (k === axis ? size : dim)),
    value: 0,
    dtype,
  });
  const indices = shape.map((_, k) => (k === axis ? ([0, size] as const) : (':' as const)));
  return slice<Value>(concat<Value>([x, zeros], axis), ...indices);
}
