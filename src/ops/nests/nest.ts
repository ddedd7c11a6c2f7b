import { type Dim, mulDim, sameDim } from '../../base/dim/index.js';
import * as e from '../../loop/language/build.js';
import type { Expr, For, Stmt, Var } from '../../loop/language/nodes.js';
import { overGrid, overRange, type LoopRange } from '../../loop/language/team.js';
import { children } from '../../loop/language/visit.js';
import { mulIndex, zero } from './access.js';
import type { ExtentParameters } from '../../loop/language/extents.js';
import { stepsOf } from './linear.js';

/** One loop of a nest: it runs over a group of adjacent axes of the domain. */
export interface NestLoop {
  /** Ascending and adjacent among the axes whose extent is not 1. */
  readonly axes: readonly number[];
  readonly extent: Expr;
  /**
   * True when iterations may run in any order and at the same time: none stores what another one reads or
   * stores. Of the loops of a domain these are all but the ones that fold it.
   */
  readonly isIndependent: boolean;
}

/** The loops over a domain, and the steps of addresses in them. */
export interface NestPlan {
  readonly loops: readonly NestLoop[];
  /** For a loop whose index only occurs in addresses: the step of each address, in one order for all. */
  readonly steps: ReadonlyMap<NestLoop, readonly Dim[]>;
}

/**
 * The loops over a domain, with adjacent axes collapsed into one loop wherever that changes no address:
 * `probe` gives every expression that the nest will evaluate at an index, addresses of stores included
 * as `addresses`. Two axes collapse when each address moves along the outer one by as much as along
 * the whole inner one, and neither index is used for anything but addresses; the inner index may then
 * simply run on beyond its extent. Axes that are `folded` into one result collapse with one another only.
 */
export function planLoops(
  extents: ExtentParameters,
  shape: readonly Dim[],
  probe: (index: readonly Expr[]) => Probe,
  folded: ReadonlySet<number> = new Set(),
): NestPlan {
  const axes = shape.flatMap((dim, axis) => (dim === 1 ? [] : [axis]));
  if (axes.length < 2) {
    const loops = axes.map((axis) => {
      const extent = extents.extent(shape[axis]);
      return { axes: [axis], extent, isIndependent: !folded.has(axis) };
    });
    return { loops, steps: new Map() };
  }
  const table = stepTable(extents, shape, axes, probe);
  const loops: { axes: number[]; extent: Expr; isIndependent: boolean }[] = [];
  axes.forEach((axis, i) => {
    const extent = extents.extent(shape[axis]);
    const last = loops.at(-1);
    const previous = axes[i - 1];
    const isIndependent = !folded.has(axis);
    const isAlike = last?.isIndependent === isIndependent;
    if (isAlike && merges(table, previous, axis, shape[axis])) {
      last.axes.push(axis);
      last.extent = mulIndex(last.extent, extent);
    } else loops.push({ axes: [axis], extent, isIndependent });
  });
  const steps = new Map<NestLoop, readonly Dim[]>();
  for (const loop of loops) {
    const along = table.get(loop.axes[loop.axes.length - 1]);
    if (along) steps.set(loop, along);
  }
  return { loops, steps };
}

export interface Probe {
  readonly values: readonly Expr[];
  readonly addresses: readonly Expr[];
}

/** By axis: the step of each address along it; null when the index has other uses. */
type StepTable = ReadonlyMap<number, readonly Dim[] | null>;

function stepTable(
  extents: ExtentParameters,
  shape: readonly Dim[],
  axes: readonly number[],
  probe: (index: readonly Expr[]) => Probe,
): StepTable {
  const index: Expr[] = shape.map(() => zero);
  const axisOf = new Map<Var, number>();
  for (const axis of axes) {
    const variable = e.variable(`i${axis}`, 'i32');
    index[axis] = variable;
    axisOf.set(variable, axis);
  }
  const { values, addresses } = probe(index);
  const table = new Map<number, Dim[] | null>(axes.map((axis) => [axis, []]));
  const uses = new Uses(axisOf, table);
  for (const value of values) uses.value(value);
  uses.addresses.push(...addresses);
  while (uses.addresses.length > 0) {
    const address = uses.addresses.pop()!;
    const steps = stepsOf(address, axisOf, extents);
    if (steps === undefined) uses.value(address);
    else for (const axis of axes) table.get(axis)?.push(steps.get(axis) ?? 0);
  }
  return table;
}

/** Visits values: loads have addresses, any other use of an index fixes its axis. */
class Uses {
  readonly addresses: Expr[] = [];
  readonly #seen: Set<Expr> = new Set();
  readonly #axisOf: ReadonlyMap<Var, number>;
  readonly #table: Map<number, Dim[] | null>;

  constructor(axisOf: ReadonlyMap<Var, number>, table: Map<number, Dim[] | null>) {
    this.#axisOf = axisOf;
    this.#table = table;
  }

  value(expr: Expr): void {
    if (this.#seen.has(expr)) return;
    this.#seen.add(expr);
    if (expr.kind === 'var') {
      const axis = this.#axisOf.get(expr);
      if (axis !== undefined) this.#table.set(axis, null);
    } else if (expr.kind === 'load') this.addresses.push(expr.index);
    else for (const child of children(expr)) this.value(child);
  }
}

function merges(steps: StepTable, outer: number, inner: number, extent: Dim): boolean {
  const along = steps.get(outer);
  const within = steps.get(inner);
  if (!along || !within) return false;
  return along.every((step, i) => sameDim(step, mulDim(within[i], extent)));
}

/** The index of the domain at which the loops are; `shape` gives its rank. */
export function indexOf(rank: number, loops: readonly NestLoop[], at: readonly Expr[]): Expr[] {
  const index: Expr[] = Array.from({ length: rank }, () => zero);
  loops.forEach((loop, i) => (index[loop.axes[loop.axes.length - 1]] = at[i]));
  return index;
}

/** One loop of a nest that is a parallel range, in steps that stay whole. */
export interface SharedLoop {
  readonly loop: NestLoop;
  readonly step: number;
}

/** Neighboring elements that one thread stores together: whole cache lines, for any dtype. */
export const elementsTogether = 64;

/** Shares per thread, several for load balance. */
const manyShares = 16;

/**
 * The loop to divide among threads: the outermost independent one that certainly has many steps, else one
 * whose extent is not known yet, else the one with most steps. `stepOf` says what must stay together in a
 * loop; a loop for which it gives 0 cannot be divided. Null where nothing is left to divide.
 */
export function loopToShare(
  loops: readonly NestLoop[],
  stepOf: (loop: NestLoop) => number,
): SharedLoop | null {
  let best: NestLoop | null = null;
  let most = 1;
  for (const loop of loops) {
    const step = stepOf(loop);
    if (step === 0 || !loop.isIndependent) continue;
    const { extent } = loop;
    const steps = extent.kind === 'const' ? Math.ceil(Number(extent.value) / step) : manyShares - 1;
    if (steps <= most) continue;
    [best, most] = [loop, steps];
    if (steps >= manyShares) break;
  }
  return best === null ? null : { loop: best, step: stepOf(best) };
}

/** Nested loops around a body that receives their variables, outermost first. */
export function nest(
  loops: readonly NestLoop[],
  body: (at: readonly Expr[]) => Stmt,
  innermost: For['mode'] = 'serial',
  shared: SharedLoop | null = null,
  outer: readonly Expr[] = [],
): Stmt {
  if (loops.length === 0) return body(outer);
  const [loop, ...rest] = loops;
  const mode = rest.length === 0 ? innermost : 'serial';
  const name = `i${loop.axes.join('')}`;
  return overLoop(loop, shared, ({ begin, end }) =>
    e.forLoop(name, begin, end, (index) => nest(rest, body, innermost, shared, [...outer, index]), {
      mode,
    }),
  );
}

/** Independent loops around a body as one range, in single steps. */
export function gridNest(loops: readonly NestLoop[], body: (at: readonly Expr[]) => Stmt): Stmt {
  return overGrid(
    loops.map(({ extent }) => extent),
    body,
  );
}

/** The indices of a loop: all of them, or stretches where it is the one that is shared. */
export function overLoop(
  loop: NestLoop,
  shared: SharedLoop | null,
  body: (range: LoopRange) => Stmt,
): Stmt {
  const isShared = shared?.loop === loop;
  return overRange(isShared, { begin: zero, end: loop.extent }, isShared ? shared.step : 1, body);
}
