import {
  type Bounds,
  type Dim,
  type DimExpr,
  symbol,
  symbolTable,
} from '../../../base/dim/index.js';
import type { ElementKind, Var } from '../../../loop/language/nodes.js';
import type { Program } from '../../../ir/program.js';
import type { Group } from '../../groups/group.js';
import type { StepRange } from '../../groups/places.js';
import type { LoweredKernel } from '../nests/builder.js';

/** A step of `main`, before the positions of sizes and buffers in its table are known. */
export type MainStep = KernelStep | BindStep | ForeachStep | WhileStep | BranchStep;

export interface KernelStep {
  readonly kind: 'kernel';
  readonly kernel: LoweredKernel;
  /** Origin of the kernel. Absent where it is no group of a program. */
  readonly origin?: { readonly program: Program; readonly group: Group };
  /** The number of the step in the whole. */
  readonly step: number;
}

/** Makes sizes from data. */
export interface BindStep {
  readonly kind: 'bind';
  /** The location of the data: int32, or int64, of which the low word counts. */
  readonly from: number;
  readonly isWide: boolean;
  /** In the order of the data. */
  readonly sizes: readonly {
    readonly name: string;
    readonly bounds: Bounds;
    /** Upper bound in sizes that are known before the program runs; null for that of the bounds. */
    readonly most: Dim | null;
  }[];
  /** The number of the step in the whole. */
  readonly step: number;
}

/** A row of an iterated array. */
export interface Row {
  /** Its address in one iteration. */
  readonly variable: Var;
  /** The location of the whole array. */
  readonly of: number;
  readonly bytes: Dim;
}

/** A state: `current` holds the address of its memory, `next` that of the next value if they alternate. */
export interface StateBuffer {
  readonly current: Var;
  readonly start: number;
  readonly next: { readonly variable: Var; readonly place: number } | null;
}

/** Rows of a result that a loop may not reach, which have to be zero. */
export interface RowPadding {
  readonly location: number;
  readonly storage: ElementKind;
  /** Elements of one row. */
  readonly elements: Dim;
}

export interface ForeachStep {
  readonly kind: 'foreach';
  readonly span: StepRange;
  readonly length: Dim;
  readonly reverse: boolean;
  /** The location of the number of rows to iterate over. */
  readonly count: number | null;
  readonly rows: readonly Row[];
  readonly states: readonly StateBuffer[];
  readonly body: readonly MainStep[];
  readonly paddings: readonly RowPadding[];
}

export interface WhileStep {
  readonly kind: 'while';
  readonly span: StepRange;
  readonly limit: Dim | null;
  readonly rows: readonly Row[];
  readonly states: readonly StateBuffer[];
  readonly condition: readonly MainStep[];
  /** The location of the condition's result. */
  readonly predicate: number;
  readonly body: readonly MainStep[];
  readonly paddings: readonly RowPadding[];
  /** Location for the iteration count, if it is needed. */
  readonly iterations: number | undefined;
}

export interface BranchStep {
  readonly kind: 'branch';
  readonly span: StepRange;
  readonly predicate: number;
  readonly consequent: readonly MainStep[];
  readonly alternate: readonly MainStep[];
}

/**
 * The symbolic sizes that `main` takes: those it passes on or computes with, and the symbols of those it
 * computes from sizes that it binds.
 */
export function mainSizes(steps: readonly MainStep[]): readonly DimExpr[] {
  const bound = new Set<string>();
  const found: DimExpr[] = [];
  for (const dim of dimsOf(steps, bound)) {
    if (typeof dim === 'number') continue;
    const symbols = [...symbolTable(dim)];
    if (!symbols.some(([name]) => bound.has(name))) found.push(dim);
    else {
      for (const [name, bounds] of symbols) if (!bound.has(name)) found.push(symbol(name, bounds));
    }
  }
  return found;
}

/** All dimensions of which steps speak, in order. */
export function stepDims(steps: readonly MainStep[]): readonly Dim[] {
  return dimsOf(steps, new Set());
}

/** All sizes, in order; adds the bound symbols to `bound`. */
function dimsOf(steps: readonly MainStep[], bound: Set<string>): readonly Dim[] {
  return steps.flatMap((step): readonly Dim[] => {
    switch (step.kind) {
      case 'kernel':
        return [
          ...step.kernel.args.flatMap((arg) => (arg.kind === 'size' ? [arg.dim] : [])),
          ...(step.kernel.grains === null ? [] : [step.kernel.grains]),
        ];
      case 'bind':
        for (const { name } of step.sizes) bound.add(name);
        return step.sizes.flatMap(({ most }) => most ?? []);
      case 'branch':
        return [...dimsOf(step.consequent, bound), ...dimsOf(step.alternate, bound)];
      case 'foreach':
        return [step.length, ...loopDims(step), ...dimsOf(step.body, bound)];
      case 'while':
        return [
          ...(step.limit === null ? [] : [step.limit]),
          ...loopDims(step),
          ...dimsOf(step.condition, bound),
          ...dimsOf(step.body, bound),
        ];
    }
  });
}

function loopDims({ rows, paddings }: ForeachStep | WhileStep): readonly Dim[] {
  return [...rows.map(({ bytes }) => bytes), ...paddings.map(({ elements }) => elements)];
}
