import { declare, variable } from '../language/build.js';
import { haveSameElements, isSameOperation, mixed, operationHash } from '../analysis/intern.js';
import type { Expr, Stmt, Var } from '../language/nodes.js';
import { mayTrap } from '../analysis/purity.js';
import { mapChildren } from '../language/visit.js';

/**
 * A place that statements go to, and how control reaches it.
 * `loop`, `while`: a body that repeats, perhaps never. `preheader`: runs once before a loop that has
 * at least one trip. `condition`: what a `while` tests; it holds no statements. `branch`: perhaps not
 * at all. `block`: whenever its parent does.
 */
export interface CodeScope {
  readonly kind: 'block' | 'branch' | 'loop' | 'preheader' | 'while' | 'condition';
  readonly parent: CodeScope | null;
  readonly depth: number;
  /** For a preheader: the loop certainly has a trip, so code may as well stand before it. */
  readonly certain: boolean;
  /** For the body of a loop: how many loops it holds that are in no other of them. */
  readonly loops: number;
  /** Statements to emit, in order; null where a value turned out to need no name. */
  readonly items: (() => Stmt | null)[];
  open: boolean;
}

export function scopeIn(
  parent: CodeScope | null,
  kind: CodeScope['kind'],
  { certain = false, loops = 0 }: Partial<Pick<CodeScope, 'certain' | 'loops'>> = {},
): CodeScope {
  return {
    kind,
    parent,
    depth: parent === null ? 0 : parent.depth + 1,
    certain,
    loops,
    items: [],
    open: true,
  };
}

export function emit(scope: CodeScope): Stmt[] {
  return scope.items.map((item) => item()).filter((stmt) => stmt !== null);
}

/** Definition of the current contents of a variable or buffer. */
export interface Version {
  readonly number: number;
  readonly scope: CodeScope;
}

/** Deeper expressions are cut by a name, for the sake of everything that recurses over expressions. */
const deepest = 64;

/** A distinct result: equal values are computed from equal operands in the same state of memory. */
export class NumberedValue {
  readonly number: number;
  /** A node with this operation; its own operands are replaced by `operands`. */
  readonly node: Expr;
  readonly operands: readonly NumberedValue[];
  /** The outermost place that may compute it. */
  readonly scope: CodeScope;
  name: Var | null = null;
  /** Depth of the expression in unnamed operations. */
  readonly #height: number;
  #uses = 0;
  #expr: Expr | null = null;

  constructor(number: number, node: Expr, operands: readonly NumberedValue[], scope: CodeScope) {
    this.number = number;
    this.node = node;
    this.operands = operands;
    this.scope = scope;
    let height = 1;
    for (let i = 0; i < operands.length; i++) {
      if (operands[i].#height >= height) height = operands[i].#height + 1;
    }
    this.#height = height < deepest ? height : 0;
    if (height >= deepest) this.nameIt();
  }

  /**
   * Cheap enough to be written out at every use. A ramp must be, so that printers see that an access
   * is contiguous, and so must a constant offset, which memory instructions take for free.
   */
  get isFree(): boolean {
    const { node } = this;
    if (node.kind === 'const' || node.kind === 'var' || node.kind === 'ramp') return true;
    return (
      node.kind === 'binary' &&
      (node.op === 'add' || node.op === 'sub') &&
      node.type.scalar === 'i32' &&
      node.type.lanes === 1 &&
      node.b.kind === 'const'
    );
  }

  /** Counts a use at a place; a second use, or one from inside another loop, gives it a name. */
  use(from: CodeScope): void {
    if (this.isFree) {
      const { operands } = this;
      for (let i = 0; i < operands.length; i++) operands[i].use(from);
      return;
    }
    this.#uses++;
    if (this.#uses > 1 || from !== this.scope) this.nameIt();
  }

  nameIt(preferred?: Var): void {
    if (this.scope.kind === 'condition' || this.isFree) return;
    const { scalar, lanes } = this.node.type;
    this.name ??= preferred ?? variable('t', scalar, lanes);
  }

  /** Expression by which users refer to it. */
  get expr(): Expr {
    return this.name ?? this.computed;
  }

  /** Expression that computes it. */
  get computed(): Expr {
    if (this.#expr === null) {
      let i = 0;
      this.#expr = mapChildren(this.node, () => this.operands[i++].expr);
    }
    return this.#expr;
  }
}

/** The values that are available, by what they compute. */
export class ValueTable {
  /** By a hash of the computation; on a collision, at the next free number. */
  readonly #known: Map<number, Computation> = new Map();
  #next = 0;

  get freshNumber(): number {
    return this.#next++;
  }

  leaf(node: Expr, scope: CodeScope): NumberedValue {
    return new NumberedValue(this.freshNumber, node, [], scope);
  }

  /** The value of an operation that is reached at `here`; `memory` is the version a load reads. */
  find(
    node: Exclude<Expr, Var>,
    operands: readonly NumberedValue[],
    memory: Version | null,
    here: CodeScope,
  ): NumberedValue {
    const candidates = this.#candidates(node, operands, memory);
    while (candidates.length > 0 && !candidates[candidates.length - 1].scope.open) candidates.pop();
    if (candidates.length > 0) return candidates[candidates.length - 1];

    let base = rootOf(here);
    for (let i = 0; i < operands.length; i++) {
      const { scope } = operands[i];
      if (scope.depth > base.depth) base = scope;
    }
    if (memory !== null && memory.scope.depth > base.depth) base = memory.scope;
    const probe = new NumberedValue(this.freshNumber, node, operands, base);
    const value = probe.isFree
      ? probe
      : new NumberedValue(probe.number, node, operands, outermost(node, here, base));
    candidates.push(value);
    if (!value.isFree) {
      for (let i = 0; i < operands.length; i++) operands[i].use(value.scope);
      value.scope.items.push(() =>
        value.name === null ? null : declare(value.name, value.computed),
      );
    }
    return value;
  }

  /** Scopes that may hold values of a computation, the innermost last. */
  #candidates(
    node: Expr,
    operands: readonly NumberedValue[],
    memory: Version | null,
  ): NumberedValue[] {
    let hash = mixed(operationHash(node), memory?.number ?? -1);
    for (let i = 0; i < operands.length; i++) hash = mixed(hash, operands[i].number);
    for (let known; (known = this.#known.get(hash)) !== undefined; hash = (hash + 1) | 0) {
      if (
        known.memory === memory &&
        isSameOperation(known.node, node) &&
        haveSameElements(known.operands, operands)
      )
        return known.values;
    }
    const values: NumberedValue[] = [];
    this.#known.set(hash, { node, operands, memory, values });
    return values;
  }
}

interface Computation {
  readonly node: Expr;
  readonly operands: readonly NumberedValue[];
  /** Version of the memory that a load reads; null for other expressions. */
  readonly memory: Version | null;
  readonly values: NumberedValue[];
}

function rootOf(scope: CodeScope): CodeScope {
  let root = scope;
  while (root.parent !== null) root = root.parent;
  return root;
}

/**
 * The place just outside the outermost loop that a computation can leave, on the way from `here` to
 * `base`, where its operands are known. Leaving a branch alone gains nothing. Loads and divisions that
 * may be undefined are risky: they stay where the program would have evaluated them anyway. A vector that
 * is loaded or copied from a scalar stays behind a loop beside it, which would have to spare a register for
 * it: of sums that fill all registers one would live in memory, and every step wait for it (decision 44).
 */
function outermost(node: Expr, here: CodeScope, base: CodeScope): CodeScope {
  const isLoad = node.kind === 'load';
  const isRisky = isLoad || mayTrap(node);
  const isVector = (isLoad || node.kind === 'broadcast') && node.type.lanes > 1;
  let best = here;
  let at = here;
  let left = 0;
  while (at !== base && at.parent !== null) {
    if (isRisky && (at.kind === 'branch' || at.kind === 'while')) break;
    if (isRisky && at.kind === 'preheader' && !at.certain) break;
    if (at.kind === 'loop') {
      if (isVector && at.loops > left) break;
      left = 1;
    }
    const leavesLoop = at.kind !== 'branch' && at.kind !== 'block';
    at = at.parent;
    if (leavesLoop) best = at;
  }
  return best;
}
