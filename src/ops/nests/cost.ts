import {
  addDim,
  type Dim,
  floorDivDim,
  maxDim,
  minDim,
  mulDim,
  subDim,
} from '../../base/dim/index.js';
import { loadedScalar, scalarBytes } from '../../loop/language/build.js';
import type { Expr, For, Kernel, Stmt, Var, While } from '../../loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../loop/language/visit.js';
import type { ExtentParameters } from '../../loop/language/extents.js';

/** Division of a kernel's work. */
export interface Division {
  /** Number of threads that a program is made for. */
  readonly threads: number;
  /** Leave parallel ranges in kernels, for devices that divide them as they launch. Default false. */
  readonly keepsRanges?: boolean;
  /** The instructions that are worth a thread. Default: about ten microseconds. */
  readonly grain?: number;
}

export const undivided: Division = { threads: 1 };

/** Instructions that one thread executes in about ten microseconds. */
const usualGrain = 2 ** 15;

/**
 * Number of threads that a kernel is worth, as a function of its sizes: instructions are counted in its
 * loops, with trip counts as in their first execution. A loop or branch that data decides counts once.
 */
export function grainsOf(
  kernel: Kernel,
  extents: ExtentParameters,
  vectorBytes: number,
  { grain = usualGrain }: Division,
): Dim {
  return floorDivDim(new CostReader(extents, vectorBytes).of(kernel.body), grain);
}

/** Cost of divisions and roots, which take several times as long as additions. */
const slow = 5;

class CostReader {
  readonly #extents: ExtentParameters;
  readonly #vectorBytes: number;
  /** Values of variables at their first assignment. */
  readonly #worth: Map<Var, Dim | undefined> = new Map();

  constructor(extents: ExtentParameters, vectorBytes: number) {
    this.#extents = extents;
    this.#vectorBytes = vectorBytes;
  }

  of(stmt: Stmt): Dim {
    switch (stmt.kind) {
      case 'block':
        return stmt.body.reduce<Dim>((sum, inner) => addDim(sum, this.of(inner)), 0);
      case 'for':
        return this.#for(stmt);
      case 'while':
        return mulDim(this.#trips(stmt), this.of(stmt.body));
      case 'if': {
        const branches = maxDim(
          this.of(stmt.consequent),
          stmt.alternate === null ? 0 : this.of(stmt.alternate),
        );
        return addDim(workOf(ownExprs(stmt)), branches);
      }
      case 'declare':
        this.#worth.set(stmt.variable, this.#dim(stmt.value));
        return workOf([stmt.value]);
      default:
        return 1 + workOf(ownExprs(stmt));
    }
  }

  #for({ variable, begin, end, step, mode, body }: For): Dim {
    const from = this.#dim(begin);
    this.#worth.set(variable, from);
    const to = this.#dim(end);
    const inside = addDim(this.of(body), 1);
    if (from === undefined || to === undefined) return inside;
    const lanes = mode === 'vector' ? this.#lanes(body) : 1;
    return mulDim(tripsBetween(from, to, step * lanes), inside);
  }

  /** Trip count of a loop that advances a variable to a limit by a constant distance. */
  #trips({ condition, body }: While): Dim {
    if (condition.kind !== 'binary' || condition.op !== 'lt' || condition.a.kind !== 'var')
      return 1;
    const { a: variable, b: limit } = condition;
    const [from, to] = [this.#worth.get(variable), this.#dim(limit)];
    let distance = 0;
    visitStmts(body, (stmt) => {
      if (stmt.kind !== 'assign' || stmt.variable !== variable || stmt.value.kind !== 'binary')
        return;
      const { op, a, b } = stmt.value;
      if (op === 'add' && a === variable && b.kind === 'const') distance = Number(b.value);
    });
    return from === undefined || to === undefined || distance <= 0
      ? 1
      : tripsBetween(from, to, distance);
  }

  #lanes(body: Stmt): number {
    let widest = 4;
    visitStmts(body, (stmt) => {
      if (stmt.kind === 'store')
        widest = Math.max(widest, scalarBytes(loadedScalar(stmt.buffer.storage)));
      visitExprs(ownExprs(stmt), ({ type }) => {
        widest = Math.max(widest, scalarBytes(type.scalar));
      });
    });
    return Math.max(1, this.#vectorBytes / widest);
  }

  #dim(expr: Expr): Dim | undefined {
    if (expr.kind === 'const') return Number(expr.value);
    if (expr.kind === 'var') {
      return this.#worth.has(expr) ? this.#worth.get(expr) : this.#extents.dim(expr);
    }
    if (expr.kind !== 'binary') return undefined;
    const combine = combinations[expr.op];
    if (combine === undefined) return undefined;
    const a = this.#dim(expr.a);
    const b = a === undefined ? undefined : this.#dim(expr.b);
    // The divisor may turn out to be 0.
    const isUnsafe = expr.op === 'div' && (typeof b !== 'number' || b === 0);
    return a === undefined || b === undefined || isUnsafe ? undefined : combine(a, b);
  }
}

const combinations: Readonly<Partial<Record<string, (a: Dim, b: Dim) => Dim>>> = {
  add: addDim,
  sub: subDim,
  mul: mulDim,
  div: floorDivDim,
  min: minDim,
  max: maxDim,
};

function tripsBetween(from: Dim, to: Dim, step: number): Dim {
  const length = subDim(to, from);
  return maxDim(step === 1 ? length : floorDivDim(addDim(length, step - 1), step), 0);
}

/** Number of instructions of expressions, each distinct one once, with slow ones counted several times. */
export function workOf(roots: readonly Expr[]): number {
  let work = 0;
  visitExprs(roots, (expr) => {
    switch (expr.kind) {
      case 'const':
      case 'var':
      case 'ramp':
      case 'broadcast':
      case 'bitcast':
        return;
      case 'unary':
        work += expr.op === 'sqrt' ? slow : 1;
        return;
      case 'binary':
        work += expr.op === 'div' || expr.op === 'rem' ? slow : 1;
        return;
      default:
        work += 1;
    }
  });
  return work;
}
