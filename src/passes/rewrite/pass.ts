import type { CallNode, Program } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import type { Law } from '../../ops/declare/law.js';

/** Computes a call on constants; null when it would rather not. */
export type Evaluate = (
  call: CallNode,
  operands: readonly ConstantData[],
) => readonly ConstantData[] | null;

/** What passes may ask of the floors above. */
export interface PassContext {
  /** Runs a call on constants; without it nothing is folded. */
  readonly evaluate?: Evaluate;
  /** Hears of every law that was applied, and to a call of which operator. */
  readonly applied?: (op: string, law: Law) => void;
}

/** One step of the compiler on programs. */
export interface Pass {
  readonly name: string;
  readonly doc: string;
  /** Whether a program has anything of what the pass is about; otherwise it is not even reported. Default yes. */
  concerns?(program: Program): boolean;
  /** Returns the program itself when there was nothing to do. */
  run(program: Program, context: PassContext): Program;
}
