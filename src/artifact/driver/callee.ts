import type { Program } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import type * as host from '../../passes/host/statements.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { UpperBound } from './names.js';
import type { PlacedRoutine } from './statements.js';

/** A routine as those who call it see it. */
export interface PlacedCallee {
  readonly routine: PlacedRoutine;
  readonly program: Program;
  /** The sizes that it is given: its first parameters. An address for each input follows, then its memory's. */
  readonly sizes: readonly string[];
  /** Extents of each output. It returns the addresses of all outputs, then all extents, then the end of its memory. */
  readonly ranks: readonly number[];
  /** By output, upper bounds of the extents, in `sizes`. */
  readonly most: readonly (readonly UpperBound[])[];
  /** Upper bound of the memory that it needs, in `sizes`. */
  readonly bytes: UpperBound;
}

/** Kernels, constants and routines that the routines of an artifact have in common. */
export interface RoutineContext {
  /** Plans code without cuts; `isWhole` for a program that is lowered as a whole. */
  plan(program: Program, isWhole: boolean): ProgramPlan;
  /** Makes the code of a plan callable; returns its name. */
  code(plan: ProgramPlan): string;
  /** The address of a constant. */
  constant(data: ConstantData): number;
  /** The routine of a program; for the same one the same. */
  callee(callee: host.HostCallee): PlacedCallee;
}

/** The call of the user's program that decides a size, for errors. */
export type Decides = (
  size: string,
) => { readonly op: string; readonly source: string | undefined } | undefined;
