import type { Program } from '../../ir/program.js';
import { isFloat } from '../../base/dtype.js';
import { call } from '../../ops/structure/call.js';
import { type JointProgram, jointProgram } from '../../passes/gradient/joint.js';
import type { SavePolicy } from '../../passes/gradient/rematerialize.js';
import { type IslandPolicy, type IslandReport, islandsOf, type PartReport, divisionsOf, wantIslands } from '../../runtime/execution/backends.js'; // prettier-ignore
import type { TierReport } from '../../runtime/execution/executable.js';
import type { Tier } from '../../runtime/execution/tiers.js';
import { tiersOf, wantTier } from './plan.js';
import { answersLater } from '../devices/placing.js';
import { isTracked } from '../core/history.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';

export interface CallableOptions {
  /** Outputs that may have gradients. Default: all floats. */
  readonly flows?: (output: number) => boolean;
  /** Policy for values saved for the backward pass. Default `all`. */
  readonly save?: SavePolicy;
  /** Execution tier. Default: that of the process. */
  readonly tier?: Tier | undefined;
  /** Policy for calls that a device lacks. Default: they run on the CPU. */
  readonly islands?: IslandPolicy;
  /** Has an external engine run parts of each program that is made. Default: none. */
  readonly divide?: (program: Program) => void;
}

/**
 * A program that is called on arrays like one operator: it runs compiled, is captured as a region, and takes
 * part in recordings. In a recording, forward and backward are derived together, and the forward saves the
 * values that the backward reads.
 */
export class Callable {
  readonly program: Program;
  /** Outputs that may have gradients. */
  readonly #flows: readonly boolean[];
  readonly #joint: Map<string, JointProgram> = new Map();

  readonly #save: SavePolicy;
  readonly #tier: Tier | undefined;
  readonly #islands: IslandPolicy;
  readonly #divide: (program: Program) => void;

  constructor(
    program: Program,
    { flows, save = 'all', tier, islands = 'islands', divide = () => {} }: CallableOptions = {},
  ) {
    this.program = program;
    this.#save = save;
    this.#tier = tier;
    this.#islands = islands;
    this.#divide = divide;
    this.#want(program);
    this.#flows = program.outputs.map(
      ({ value }, k) => isFloat(value.type.dtype) && (flows?.(k) ?? true),
    );
  }

  /** Operands in the order of the program's inputs; results in the order of its outputs. */
  call(operands: readonly NDArray[]): readonly NDArray[] {
    const wrt =
      mode.session === null
        ? []
        : operands.map((operand) => isFloat(operand.dtype) && isTracked(operand));
    if (!wrt.includes(true) || !this.#flows.includes(true)) return call(this.program, ...operands);
    const areSizesLate = operands.some(answersLater);
    const joint = this.#jointFor(wrt, areSizesLate);
    return call(joint, ...operands).slice(0, this.program.outputs.length);
  }

  #jointFor(wrt: readonly boolean[], areSizesLate: boolean): JointProgram {
    const key = [...wrt, areSizesLate].map(Number).join('');
    let joint = this.#joint.get(key);
    if (joint === undefined) {
      joint = jointProgram(this.program, wrt, this.#flows, this.#save, areSizesLate);
      this.#joint.set(key, joint);
      this.#want(joint.forward);
      this.#want(joint.backward);
    }
    return joint;
  }

  /** Execution tiers so far. */
  tiers(): readonly TierReport[] {
    const joint = [...this.#joint.values()].flatMap(({ forward, backward }) => [
      ...named('forward', forward),
      ...named('backward', backward),
    ]);
    return [...tiersOf(this.program), ...joint];
  }

  /** Calls that ran on the CPU because a device lacks them. */
  islands(): readonly IslandReport[] {
    return this.#programs().flatMap(islandsOf);
  }

  /** Parts of the programs that an engine runs parts of. */
  parts(): readonly PartReport[] {
    return this.#programs().flatMap(divisionsOf);
  }

  #programs(): readonly Program[] {
    const joint = [...this.#joint.values()].flatMap(({ forward, backward }) => [forward, backward]);
    return [this.program, ...joint];
  }

  #want(program: Program): void {
    if (this.#tier !== undefined) wantTier(program, this.#tier);
    wantIslands(program, this.#islands);
    this.#divide(program);
  }
}

function named(name: string, program: Program): readonly TierReport[] {
  return tiersOf(program).map((report) => ({
    ...report,
    part: report.part === '' ? name : `${name}, ${report.part}`,
  }));
}
