import { type Dim, type DimExpr } from '../../base/dim.js';
import type { Storage, Var } from '../../loop/nodes.js';
import type { LoweredKernel } from './builder.js';

/** What `main` does, one after the other, before it is known where in its table sizes and places stand. */
export type Step = KernelStep | ForeachStep | WhileStep | BranchStep;

export interface KernelStep {
  readonly kind: 'kernel';
  readonly kernel: LoweredKernel;
  /** The number of the step in the whole. */
  readonly step: number;
}

/** A row of something that is iterated over. */
export interface Row {
  /** Its address in one iteration. */
  readonly variable: Var;
  /** The location of the whole. */
  readonly of: number;
  readonly bytes: Dim;
}

/** A state: `current` holds the address of its memory, `next` that of the next one if they take turns. */
export interface State {
  readonly current: Var;
  readonly start: number;
  readonly next: { readonly variable: Var; readonly place: number } | null;
}

/** Rows of a result that a loop may not come to, which have to be zero. */
export interface Padding {
  readonly location: number;
  readonly storage: Storage;
  /** Elements of one row. */
  readonly elements: Dim;
}

export interface ForeachStep {
  readonly kind: 'foreach';
  readonly length: Dim;
  readonly reverse: boolean;
  /** The location of the number of rows to iterate over. */
  readonly count: number | null;
  readonly rows: readonly Row[];
  readonly states: readonly State[];
  readonly body: readonly Step[];
  readonly paddings: readonly Padding[];
}

export interface WhileStep {
  readonly kind: 'while';
  readonly limit: Dim | null;
  readonly rows: readonly Row[];
  readonly states: readonly State[];
  readonly condition: readonly Step[];
  /** The location of what the condition gives. */
  readonly predicate: number;
  readonly body: readonly Step[];
  readonly paddings: readonly Padding[];
  /** Where the number of iterations goes, if it is asked for. */
  readonly iterations: number | undefined;
}

export interface BranchStep {
  readonly kind: 'branch';
  readonly predicate: number;
  readonly consequent: readonly Step[];
  readonly alternate: readonly Step[];
}

/** The symbolic sizes that `main` hands on or counts with, in order. */
export function sizesOf(steps: readonly Step[]): readonly DimExpr[] {
  const found: DimExpr[] = [];
  const add = (dim: Dim | null): void => {
    if (dim !== null && typeof dim !== 'number') found.push(dim);
  };
  for (const step of steps) {
    switch (step.kind) {
      case 'kernel':
        for (const arg of step.kernel.args) if (arg.kind === 'size') add(arg.dim);
        break;
      case 'branch':
        found.push(...sizesOf(step.consequent), ...sizesOf(step.alternate));
        break;
      case 'foreach':
      case 'while':
        add(step.kind === 'foreach' ? step.length : step.limit);
        for (const { bytes } of step.rows) add(bytes);
        for (const { elements } of step.paddings) add(elements);
        if (step.kind === 'while') found.push(...sizesOf(step.condition));
        found.push(...sizesOf(step.body));
    }
  }
  return found;
}
