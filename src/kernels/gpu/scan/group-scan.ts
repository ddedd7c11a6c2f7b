import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var, WorkgroupMemory } from '../../../loop/language/nodes.js';
import type { AssociativeScan } from '../../../ops/declare/scan.js';
import { declareAll, scanLocals } from '../../../ops/reduction/scans/scan.js';
import { get, type GroupPlace, put, sharedStorage } from '../folds/places.js';

/** Scans of one state for each of the invocations that share a result, in the order of their numbers. */
export class GroupScan {
  /** Memory of the group that the scans need. */
  readonly memory: readonly WorkgroupMemory[];
  readonly #scan: AssociativeScan;
  readonly #partials: number;

  constructor(scan: AssociativeScan, { partials, results }: { readonly partials: number; readonly results: number }) {
    this.#scan = scan;
    this.#partials = partials;
    this.memory = scan.initial.map(({ type: { scalar } }, k) => ({
      buffer: e.buffer(`state${k}`, sharedStorage(scalar)),
      length: partials * results,
    }));
  } // prettier-ignore

  /**
   * The state before the part of this invocation, and statements that declare it and add the parts of all to `carry`,
   * the state before all of them. All invocations of the group arrive there. Runs of partials are scanned by one
   * invocation each, then each invocation combines the runs: fewer barriers than by halves.
   */
  ahead(own: readonly Var[], carry: readonly Var[], place: GroupPlace): { readonly ahead: readonly Var[]; readonly statements: readonly Stmt[] } {
    const { combine } = this.#scan;
    const { invocation, partial, first, stride } = place;
    const length = 2 ** Math.ceil(Math.log2(this.#partials) / 2);
    const runs = this.#partials / length;
    const slot = (of: Expr): Expr => e.add(first, e.mul(of, stride));
    const ahead = scanLocals('ahead', carry);
    /** Combines a state with that of a partial; `keep` uses the joined one. */
    const join = (state: readonly Var[], of: Expr, keep: readonly Stmt[] = []): Stmt => {
      const [other, joined] = [scanLocals('other', state), scanLocals('joined', state)];
      return e.block(
        ...declareAll(other, this.#at(slot(of))),
        ...declareAll(joined, combine(state, other)),
        ...assignAll(state, joined),
        ...keep,
      );
    };
    const sum = scanLocals('sum', carry);
    const begin = e.mul(partial, length);
    const scanRun = e.block(
      ...declareAll(sum, this.#at(slot(begin))),
      e.forLoop('at', 1, length, (at) => join(sum, e.add(begin, at), this.#put(slot(e.add(begin, at)), sum))),
    );
    return {
      ahead,
      statements: [
        ...this.#put(invocation, own),
        e.workgroupBarrier,
        e.ifThen(e.lt(partial, runs), scanRun),
        e.workgroupBarrier,
        ...declareAll(ahead, carry),
        e.forLoop('run', 0, runs, (run) =>
          e.block(
            e.ifThen(e.eq(run, e.shr(partial, Math.log2(length))), e.block(...assignAll(ahead, carry))),
            join(carry, e.add(e.mul(run, length), length - 1)),
          ),
        ),
        e.ifThen(e.ne(e.and(partial, length - 1), 0), join(ahead, e.sub(partial, 1))),
        // The memory is used again.
        e.workgroupBarrier,
      ],
    };
  } // prettier-ignore

  #put(at: Expr, state: readonly Expr[]): readonly Stmt[] {
    return this.memory.map(({ buffer }, k) => put(buffer, at, state[k]));
  }

  #at(at: Expr): readonly Expr[] {
    return this.memory.map(({ buffer }, k) => get(buffer, at, this.#scan.initial[k]));
  }
}

function assignAll(variables: readonly Var[], values: readonly Expr[]): readonly Stmt[] {
  return variables.map((local, k) => e.assign(local, values[k]));
}
