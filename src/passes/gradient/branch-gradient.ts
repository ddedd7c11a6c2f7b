import { namedInputs, Program, type Value } from '../../ir/program.js';
import type { BranchBackward, Branches, BranchSize } from '../../ops/declare/backward.js';
import { zerosLike } from '../../ops/movement/fill.js';
import { ofAnySize } from '../rewrite/loop-body.js';
import { indicesOf } from '../rewrite/marks.js';
import { instantiate } from '../rewrite/transform.js';
import type { Differentiate } from './loop-flow.js';
import { splitJoint } from './split.js';

/** The backward program of one branch. */
interface Way {
  readonly branch: Program;
  /** Takes the values in `reads`, then the gradients; returns those of the inputs `gives`. */
  readonly program: Program;
  readonly reads: readonly number[];
  readonly gives: readonly number[];
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
  const back = (k: 0 | 1): Way => {
    const branch = branches[k];
    const inputs = branch.inputs.length;
    const request = differentiate(branch, needs, flows, { loose: loose[k] });
    const { backward, saved } = splitJoint(request, 'none', false, {
      isHeld: (place) => place < inputs || isSettled[place - inputs],
      isKeepable: () => false,
      sizesBy: 'surroundings',
    });
    return { branch, program: backward, reads: saved, gives: request.gives };
  };
  const ways = [back(0), back(1)] as const;
  const union = (of: (way: Way) => readonly number[]): number[] =>
    [...new Set(ways.flatMap(of))].sort((a, b) => a - b);
  const gives = union((way) => way.gives);
  if (gives.length === 0) return null;
  // Zeros take their type from the operand.
  const reads = union((way) => [...way.reads, ...gives.filter((k) => !way.gives.includes(k))]);
  const sizes = ways.flatMap(({ program }, k) =>
    program.sizes.map(({ key }): BranchSize => ({ branch: k === 0 ? 0 : 1, name: key })),
  );
  const [then, otherwise] = ways.map((way, k) => {
    const own = sizes.map(({ branch, name }) => (branch === k ? name : null));
    return joined(way, reads, indicesOf(flows).length, gives, own);
  });
  return { branches: [then, otherwise], reads, gives, sizes };
}

/** A backward program with the reads and sizes of both branches; `sizes` has null for those of the other. */
function joined(
  { branch, program, reads, gives }: Way,
  allReads: readonly number[],
  flows: number,
  allGives: readonly number[],
  sizes: readonly (string | null)[],
): Program {
  const declared = namedInputs(program);
  const ends = [...branch.inputs, ...branch.outputs.map(({ value }) => value)];
  return Program.from(
    program,
    (into) => {
      for (const name of sizes) {
        const own = program.sizes.find(({ key }) => key === name);
        into.takeSize(own ?? into.freshDim('size'));
      }
      const variable = (name: string, type: Value['type']): Value =>
        into.variable(into.freshName(name), type);
      const operands = allReads.map((place) => {
        const at = reads.indexOf(place);
        if (at < 0) return variable('unread', ofAnySize(into, ends[place].type));
        return variable(declared[at].name, declared[at].type);
      });
      const operandOf = (place: number): Value => operands[allReads.indexOf(place)];
      const seeds = declared.slice(reads.length, reads.length + flows);
      const grads = instantiate(program, into, [
        ...reads.map(operandOf),
        ...seeds.map(({ name, type }) => variable(name, type)),
      ]);
      into.setOutputs(
        allGives.map((input) => ({
          name: `grad_${input}`,
          value: grads[gives.indexOf(input)] ?? zerosLike<Value>(operandOf(input)),
        })),
      );
    },
    [],
  );
}
