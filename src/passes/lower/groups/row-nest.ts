import type { Value } from '../../../ir/program.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { Access, Sink } from '../../../ops/declare/lowering.js';
import type { Group } from '../../groups/group.js';
import { rowFrame } from '../../groups/rows.js';
import {
  flatIndex,
  inOrder,
  memoryAccess,
  mulIndex,
  one,
  rowMajorStrides,
  zero,
} from '../../../ops/nests/access.js';
import { loadElement, settle, storeElement } from '../../../ops/elements.js';
import {
  bytesOfState,
  sideStore,
  type FoldLoops,
  type FoldStage,
  place,
} from '../../../ops/nests/fold.js';
import { planLoops, type Probe } from '../../../ops/nests/nest.js';
import type { RowNest, RowWork } from '../../../ops/nests/schedule.js';
import { lanesOf, partsOf, probeOf, reductionIn } from './reduce.js';
import { type RowStage, rowStages } from './row-stages.js';
import type { KernelScope } from '../nests/scope.js';

/**
 * The nest of reductions that depend on each other, and of what is made of their results, one row after the
 * other: it looks at a row as often as it takes to know all that the row gives, while the row lies in the
 * cache. Elements that are dear to compute wait in memory of one row for the next look.
 */
export function rowNest(
  scope: KernelScope,
  group: Group,
  target: DeviceTarget,
  isDivided: boolean,
): Stmt {
  return new Rows(scope, group, target, isDivided).nest();
}

class Rows {
  readonly #scope: KernelScope;
  readonly #group: Group;
  readonly #target: DeviceTarget;
  readonly #stages: readonly RowStage[];
  readonly #domain: Value['type']['shape'];
  readonly #folded: ReadonlySet<number>;
  readonly #wide: ReadonlySet<Value>;
  /** The row buffer of each buffered value. */
  readonly #waiting: ReadonlyMap<Value, Waiting>;
  readonly #rows: RowNest;
  /** Number of elements in a row. */
  readonly #count: Expr;

  constructor(scope: KernelScope, group: Group, target: DeviceTarget, isDivided: boolean) {
    this.#scope = scope;
    this.#group = group;
    this.#target = target;
    this.#stages = rowStages(scope.program, group);
    const { domain, folded } = rowFrame(scope.program, group.anchors[0])!;
    this.#domain = domain;
    this.#folded = new Set(folded);
    this.#wide = new Set(group.beside);
    const extents = scope.shape(domain);
    const inRow = (_: Expr, axis: number): boolean => this.#folded.has(axis);
    const row = extents.filter(inRow);
    this.#count = row.reduce((product, extent) => mulIndex(product, extent), one);
    const kept = extents.filter((extent, axis) => !inRow(extent, axis));
    const shape = { folded: row, kept, isRow: true };
    this.#rows = target.nests.rows(shape, () => this.#stateBytes(), isDivided);
    const waiting = this.#stages.flatMap(({ keeps }) => keeps);
    this.#waiting = new Map(waiting.map((value) => [value, this.#wait(value)]));
  }

  nest(): Stmt {
    const isEmpty = this.#domain.some((dim, axis) => dim === 0 && !this.#folded.has(axis));
    if (isEmpty) return e.block();
    const { extents } = this.#scope.builder;
    const { loops } = planLoops(extents, this.#domain, (index) => this.#probe(index), this.#folded);
    const frame: FoldLoops = {
      rank: this.#domain.length,
      loops,
      inner: loops.filter((loop) => !loop.isIndependent),
      outer: loops.filter((loop) => loop.isIndependent),
    };
    return this.#rows.over(frame, (work) => this.#row(frame, work));
  }

  #row(frame: FoldLoops, work: RowWork): Stmt {
    const row = this.#kept(place(frame, work.keptAt, []));
    const given = new Map<Value, Access>();
    const statements: Stmt[] = [];
    for (const stage of this.#stages) {
      const fold = this.#foldOf(frame, stage, given);
      const { total, statements: look } = work.fold(fold);
      statements.push(...look);
      for (const { lowering, context, outputs, initial, offset } of fold.parts) {
        const elements = lowering.finish(total.slice(offset, offset + initial.length), context);
        outputs.forEach((result, k) => statements.push(this.#give(result, elements[k], given)));
      }
      this.#complete(stage, given);
    }
    const results = this.#results(row, given);
    if (work.isFirst === null || results.length === 0) return e.block(...statements, ...results);
    // A result may take the place of what other invocations have read in the last pass.
    const isRead = this.#stages[this.#stages.length - 1].anchors.length === 0;
    const before = isRead ? [e.workgroupBarrier] : [];
    return e.block(...statements, ...before, e.ifThen(work.isFirst, e.block(...results)));
  }

  /** Bytes of the largest state of a pass. */
  #stateBytes(): number {
    const { program } = this.#scope;
    const bytes = this.#stages.map(({ anchors }) =>
      bytesOfState(anchors.flatMap((id) => reductionIn(program, id, this.#count).initial)),
    );
    return Math.max(...bytes);
  }

  /** A result of the row in a local, which later statements read. */
  #give(result: Value, element: Expr, given: Map<Value, Access>): Stmt {
    const { dtype, shape } = result.type;
    const local = e.variable(`result${result.node}_${result.port}`, element.type.scalar);
    const at = (): Expr => local;
    given.set(result, { dtype, shape: this.#scope.shape(shape), at, buffer: null });
    return e.declare(local, settle(dtype, element));
  }

  /** After a pass, its stored values are read from memory. */
  #complete({ stores, keeps }: RowStage, given: Map<Value, Access>): void {
    for (const value of stores) {
      const { buffer } = this.#scope.sink(value);
      const { dtype, shape } = value.type;
      given.set(value, memoryAccess(dtype, this.#scope.shape(shape), buffer!));
    }
    for (const value of keeps) given.set(value, this.#waiting.get(value)!);
  }

  #foldOf(frame: FoldLoops, stage: RowStage, given: ReadonlyMap<Value, Access>): FoldStage {
    const scope = this.#scope.giving(new Map(given));
    const parts = partsOf(scope, stage.anchors, this.#count);
    const sinks: readonly (readonly [Value, Sink])[] = [
      ...stage.keeps.map((value) => [value, this.#waiting.get(value)!] as const),
      ...stage.stores.map((value) => [value, this.#scope.sink(value)] as const),
    ];
    const beside = sinks.map(([value, sink]) =>
      sideStore(this.#domain, sink, (index) => scope.access(value).at(index)),
    );
    const zeros = this.#domain.map(() => zero);
    const values = [
      ...parts.map(({ element }) => element.at(zeros)),
      ...beside.map(({ at }) => at(zeros)),
    ];
    return {
      ...frame,
      parts,
      beside,
      initial: parts.flatMap(({ initial }) => initial),
      lanes: lanesOf(parts, values, this.#target),
    };
  }

  /** The components of an index along kept axes of more than one element. */
  #kept(index: readonly Expr[]): readonly Expr[] {
    return index.filter((_, axis) => !this.#folded.has(axis) && this.#domain[axis] !== 1);
  }

  /** Stores the row's results, once all of them are known. */
  #results(row: readonly Expr[], given: ReadonlyMap<Value, Access>): readonly Stmt[] {
    const scope = this.#scope.giving(given);
    const locals: Stmt[] = [];
    const stores = this.#group.writes
      .filter((value) => !this.#wide.has(value))
      .map((value) => {
        const index = inOrder(this.#scope.shape(value.type.shape), row);
        const known = given.get(value);
        const element = known === undefined ? scope.compute(value)(index) : known.at(index);
        const local = e.variable(`element${value.node}`, element.type.scalar);
        locals.push(e.declare(local, element));
        return this.#scope.sink(value).store(index, local);
      });
    return [...locals, ...stores];
  }

  /** All expressions that the nest evaluates at an index, with placeholders for results of the row. */
  #probe(index: readonly Expr[]): Probe {
    const given = new Map<Value, Access>();
    const statements: Stmt[] = [];
    const frame: FoldLoops = { rank: this.#domain.length, loops: [], inner: [], outer: [] };
    const values: Expr[] = [];
    for (const stage of this.#stages) {
      const { parts, beside } = this.#foldOf(frame, stage, given);
      values.push(...parts.map(({ element }) => element.at(index)));
      statements.push(...beside.map(({ sink, at }) => sink.store(index, at(index))));
      for (const { outputs, initial, lowering, context } of parts) {
        const elements = lowering.finish(initial, context);
        outputs.forEach((result, k) => this.#give(result, elements[k], given));
      }
      this.#complete(stage, given);
    }
    const stores = e.block(...statements, ...this.#results(this.#kept(index), given));
    return probeOf(values, stores);
  }

  /** A row buffer, read and written as if it were the whole value. */
  #wait(value: Value): Waiting {
    const { dtype, shape } = value.type;
    const { invocations, together } = this.#rows;
    // Each invocation keeps the elements that it looks at, `together` of as many for each invocation.
    const turn = invocations * together;
    const length =
      invocations === 1 ? this.#count : e.mul(e.div(e.add(this.#count, turn - 1), turn), together);
    const buffer = this.#scope.builder.scratch(`row${value.node}`, dtype, length);
    const extents = this.#scope.shape(shape);
    const wide = this.#domain.flatMap((dim, axis) => (dim === 1 ? [] : [axis]));
    const inRow = wide.map((axis) => this.#folded.has(axis));
    const lengths = this.#scope.shape(wide.map((axis) => this.#domain[axis]));
    const strides = rowMajorStrides(lengths.filter((_, k) => inRow[k]));
    const flat = (index: readonly Expr[]): Expr => {
      const parts = index.filter((_, axis) => shape[axis] !== 1);
      const inAll = flatIndex(
        parts.filter((_, k) => inRow[k]),
        strides,
      );
      if (invocations === 1) return inAll;
      const { lanes } = inAll.type;
      const first = lanes === 1 ? inAll : e.extract(inAll, 0);
      const turns = e.mul(e.div(first, turn), together);
      if (lanes > 1) return e.ramp(turns, 1, lanes); // vectors are what an invocation looks at together
      return together === 1 ? turns : e.add(turns, e.rem(first, together));
    };
    return {
      dtype,
      shape: extents,
      buffer: null,
      at: (index) => loadElement(dtype, buffer, flat(index)),
      store: (index, element) => storeElement(dtype, buffer, flat(index), element),
    };
  }
}

type Waiting = Access & Sink;
