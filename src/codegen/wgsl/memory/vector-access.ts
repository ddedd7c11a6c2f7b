import { Multiples } from '../../../loop/analysis/multiples.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { storageBytes } from '../../../loop/language/build.js';
import { ownExprs, ownStmts, variablesOf, visitExprs } from '../../../loop/language/visit.js';
import { gridLanes } from '../../../loop/language/team.js';

/** Use that a kernel makes of a buffer. */
export interface BufferUse {
  isRead: boolean;
  isStored: boolean;
  /** True where four neighbors are read or stored at once. */
  hasVectors: boolean;
  /** True where several invocations may store parts of one vector. */
  hasScalarStores: boolean;
}

/**
 * Knowledge of which accesses are to four neighbors from a multiple of four on: whole vectors of memory. Everything
 * else is read and stored element by element.
 */
export class VectorAccesses {
  readonly #multiples: Multiples;
  readonly #uses: Map<Buffer, BufferUse> = new Map();
  /** True where all buffers begin at places at which vectors may begin. */
  readonly #isAligned: boolean;

  constructor(body: Stmt, invocation: Var, isAligned: boolean) {
    this.#multiples = new Multiples(body);
    this.#isAligned = isAligned;
    const numbers = new Set([invocation]);
    const hasNumber = (expr: Expr): boolean =>
      [...variablesOf([expr])].some((each) => numbers.has(each));
    /** `isAlone`: one invocation does all of it. */
    const visit = (stmt: Stmt, isAlone: boolean): void => {
      if (stmt.kind === 'store') {
        const use = this.useOf(stmt.buffer);
        use.isStored = true;
        if (this.isWhole(stmt.buffer, stmt.index)) use.hasVectors = true;
        else if (!isAlone || storageBytes(stmt.buffer.storage) !== 4) use.hasScalarStores = true;
      }
      if (stmt.kind === 'declare' && hasNumber(stmt.value)) numbers.add(stmt.variable);
      visitExprs(ownExprs(stmt), (expr) => {
        if (expr.kind !== 'load') return;
        const use = this.useOf(expr.buffer);
        use.isRead = true;
        if (this.isWhole(expr.buffer, expr.index)) use.hasVectors = true;
      });
      const isInside = isAlone || (stmt.kind === 'for' && hasNumber(stmt.begin) && isOne(stmt.end));
      for (const inner of ownStmts(stmt)) visit(inner, isInside);
    };
    visit(body, false);
  }

  useOf(buffer: Buffer): BufferUse {
    let use = this.#uses.get(buffer);
    if (use === undefined) {
      use = { isRead: false, isStored: false, hasVectors: false, hasScalarStores: false };
      this.#uses.set(buffer, use);
    }
    return use;
  }

  /** True for an index of four neighbors of which the first is a multiple of four. */
  isWhole({ isPrivate }: Buffer, index: Expr): boolean {
    if (!this.#isAligned || isPrivate || index.kind !== 'ramp') return false;
    const { base, stride, type } = index;
    return (
      type.lanes === gridLanes &&
      stride.kind === 'const' &&
      Number(stride.value) === 1 &&
      this.#multiples.of(base) % gridLanes === 0
    );
  }
}

/** True for the end of a range of one step at most, which one invocation does. */
function isOne(end: Expr): boolean {
  return end.kind === 'const' && Number(end.value) <= 1;
}
