import type { CallNode, Program } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import type { Law } from '../../ops/declare/law.js';

/** Computes a call on constants; null when it declines. */
export type Evaluate = (
  call: CallNode,
  operands: readonly ConstantData[],
) => readonly ConstantData[] | null;

/** Services that passes may use. */
export interface PassContext {
  /** Runs a call on constants; without it nothing is folded. */
  readonly evaluate?: Evaluate;
  /** Called for every applied law, with the operator's name. */
  readonly applied?: (op: string, law: Law) => void;
}

/** One pass over programs. */
export interface Pass {
  readonly name: string;
  readonly doc: string;
  /** True when the pass applies to a program; otherwise it is not even reported. Default yes. */
  concerns?(program: Program): boolean;
  /** Returns the program itself when nothing changed. */
  run(program: Program, context: PassContext): Program;
}
