import type { NodeId } from '../../graph/graph.js';
import type { Program, Value } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type Access, computeScalar } from '../../ops/declare/lowering.js';
import type { Draft } from './inline.js';
import { inOrder } from '../../ops/nests/access.js';
import { KernelBuilder } from '../lower/nests/builder.js';
import { type ValueLocations, KernelScope } from '../lower/nests/scope.js';
import { isNarrow, isWide, type RowFrame, rowFrame, sameFrame } from '../groups/rows.js';

/** One of two clusters that are candidates for a shared row kernel. */
interface Part {
  readonly draft: Draft;
  readonly writes: ReadonlySet<Value>;
}

/**
 * True when readers of reductions can be computed in their kernel, row by row: for an element of a row they
 * may read the results of the reductions for that row, and values of that element, but nothing of other rows.
 * Decided by evaluating them symbolically at a row and watching the reads.
 */
export function fitsRows(program: Program, from: Part, into: Part): boolean {
  if (from.draft.kind !== 'reduce' && from.draft.kind !== 'rows') return false;
  const frame = rowFrame(program, from.draft.anchors[0]);
  if (frame === null || !hasFrame(program, into.draft, frame)) return false;
  const isOfRows = ({ type: { shape } }: Value): boolean =>
    isWide(frame, shape) || isNarrow(frame, shape);
  if (![...from.writes, ...into.writes].every(isOfRows)) return false;
  return new Watch(program, frame, from, into).readsOwnRowOnly();
}

function hasFrame(program: Program, { kind, anchors, domain }: Draft, frame: RowFrame): boolean {
  if (kind === 'point') return isWide(frame, domain) || isNarrow(frame, domain);
  if (kind !== 'reduce' && kind !== 'rows') return false;
  const own = rowFrame(program, anchors[0]);
  return own !== null && sameFrame(own, frame);
}

class Watch {
  readonly #program: Program;
  readonly #frame: RowFrame;
  readonly #into: Part;
  readonly #scope: KernelScope;
  /** Index of the row: a variable for each axis of more than one element. */
  readonly #at: readonly Expr[];
  #isOwn = true;

  constructor(program: Program, frame: RowFrame, from: Part, into: Part) {
    this.#program = program;
    this.#frame = frame;
    this.#into = into;
    this.#at = frame.domain.map((_, axis) => e.variable(`i${axis}`, 'i32'));
    const builder = new KernelBuilder();
    const places = new Map<Value, number>();
    const placement: ValueLocations = {
      placeOf: (value) => places.get(value) ?? places.set(value, places.size).size - 1,
    };
    const members = new Set<NodeId>(into.draft.members);
    const scope = new KernelScope(program, builder, placement, members);
    const given = new Map<Value, Access>();
    for (const value of from.writes) given.set(value, this.#watched(value, scope));
    for (const id of into.draft.anchors) {
      if (into.draft.kind === 'point') continue;
      for (const value of program.results(id)) given.set(value, this.#watched(value, scope));
    }
    this.#scope = scope.giving(given);
  }

  readsOwnRowOnly(): boolean {
    const { draft, writes } = this.#into;
    const reductions = new Set(draft.kind === 'point' ? [] : draft.anchors);
    for (const id of reductions) {
      const [input] = this.#program.operands(id);
      this.#scope.access(input).at(this.#at);
    }
    for (const value of writes) {
      if (!reductions.has(value.node)) {
        this.#scope.compute(value)(
          inOrder(this.#scope.shape(value.type.shape), this.#placeOf(value)),
        );
      }
    }
    return this.#isOwn;
  }

  /** Index of a value for the row, or the row's element, along its axes of more than one element. */
  #placeOf({ type }: Value): readonly Expr[] {
    const { domain, folded } = this.#frame;
    const isElement = isWide(this.#frame, type.shape);
    return this.#at.filter(
      (_, axis) => domain[axis] !== 1 && (isElement || !folded.includes(axis)),
    );
  }

  #watched(value: Value, scope: KernelScope): Access {
    const { dtype, shape } = value.type;
    const place = this.#placeOf(value);
    const element = e.variable('element', computeScalar(dtype));
    return {
      dtype,
      shape: scope.shape(shape),
      buffer: null,
      at: (index) => {
        const wide = index.filter((_, axis) => shape[axis] !== 1);
        this.#isOwn &&= wide.length === place.length && wide.every((part, k) => part === place[k]);
        return element;
      },
    };
  }
}
