import type { CallNode } from '../../ir/program.js';
import type { Operand } from '../execution/executable.js';
import { type HostCall, type CompiledRegions, inHostCall } from './host-call.js';

/** A branch that the host takes. Code is made for what is taken only. */
export class HostBranch implements HostCall {
  readonly #call: CallNode;
  readonly #regions: CompiledRegions;

  constructor(call: CallNode, regions: CompiledRegions) {
    this.#call = call;
    this.#regions = regions;
  }

  run([predicate, ...captures]: readonly Operand[]): readonly Operand[] {
    const isTrue = predicate.storage.host[0] !== 0;
    const taken = this.#call.regions[isTrue ? 0 : 1];
    try {
      return this.#regions.executable(taken).run(captures);
    } catch (error) {
      throw inHostCall(error, isTrue ? 'first branch' : 'second branch', this.#call);
    }
  }
}
