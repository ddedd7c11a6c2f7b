import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { unravel } from '../../../ops/contraction/unravel.js';
import { scalarDTypes, storageOf } from '../../../ops/elements.js';
import { isContiguous } from '../../contraction/reach.js';
import { known, product } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';
import { sumInBlocks } from './blocks.js';
import { depth, type ProductTile, side } from './tile.js';

const invocations = side * side;

/**
 * A contraction by workgroups, each of which has a tile of the results: it holds `depth` columns of `a` and rows of `b`
 * at a time in its memory, so that an operand is read once for each tile that it meets. Neighboring invocations read
 * and store neighbors. Loops are not unrolled, since compilers of shaders take seconds for what is.
 */
export function tiledProduct(spec: Contraction, { rows, columns }: ProductTile): Stmt {
  const { batch, m, n, k, scalar } = spec;
  const [high, wide] = [side * rows, side * columns];
  const [down, across] = [tilesOf(m, high), tilesOf(n, wide)];
  const left = new Panel(high, m, k, 0);
  const right = new Panel(wide, n, k, left.length);
  const results = rows * columns;
  const length = Math.max(left.length + right.length, results * invocations);
  const memory = e.buffer('tile', storageOf(scalarDTypes[scalar]));
  const groups = product(batch, down, across);
  return e.workgroups(groups, invocations, [{ buffer: memory, length }], (group, invocation) => {
    const [entry, i0, j0] = ['entry', 'row', 'column'].map((name) => e.variable(name, 'i32'));
    const [b, ti, tj] = unravel(group, [batch, down, across]);
    const [x, y] = [e.and(invocation, side - 1), e.shr(invocation, Math.log2(side))];
    const sums = Array.from({ length: results }, (_, at) => e.variable(`sum${at}`, scalar));
    const shape = [e.variable('i', 'i32'), e.variable('k', 'i32')];
    const a = (i: Expr, kk: Expr): Expr => spec.a(entry, i, kk);
    const bTurned = (j: Expr, kk: Expr): Expr => spec.b(entry, kk, j);
    const along = (of: typeof a): boolean => isContiguous(of(shape[0], e.ramp(shape[1], 1, 4)));
    const steps = (begin: Expr, end: Expr): Stmt =>
      e.forLoop(
        'k0',
        begin,
        end,
        (k0) =>
          e.block(
            left.fill(memory, invocation, i0, k0, along(a), a),
            right.fill(memory, invocation, j0, k0, along(bTurned), bTurned),
            e.workgroupBarrier,
            e.forLoop('kk', 0, depth, (kk) =>
              multiply(sums, {
                left: Array.from({ length: rows }, (_, r) => left.at(memory, e.add(y, r * side), kk)), // prettier-ignore
                right: Array.from({ length: columns }, (_, c) => right.at(memory, e.add(x, c * side), kk)), // prettier-ignore
              }),
            ),
            e.workgroupBarrier,
          ),
        { step: depth },
      );
    /** Stores the result at a place among those of an invocation. */
    const storeAt = (row: Expr, column: Expr, value: Expr): Stmt => {
      const [i, j] = [e.variable('i', 'i32'), e.variable('j', 'i32')];
      return e.block(
        e.declare(i, e.add(i0, e.add(y, row))),
        e.declare(j, e.add(j0, e.add(x, column))),
        e.ifThen(e.and(e.lt(i, m), e.lt(j, n)), spec.store(entry, i, j, value)),
      );
    };
    return e.block(
      e.declare(entry, b),
      e.declare(i0, e.mul(ti, high)),
      e.declare(j0, e.mul(tj, wide)),
      ...sums.map((sum) => e.declare(sum, e.constant(scalar, 0))),
      sumInBlocks(sums, k, k, depth, steps),
      ...(results === 1
        ? [storeAt(e.i32(0), e.i32(0), sums[0])]
        : [
            // By way of memory, so that what follows a product is in the code once.
            ...sums.map((sum, at) => e.store(memory, e.add(invocation, at * invocations), sum)),
            e.forLoop('result', 0, results, (at) =>
              storeAt(
                e.mul(e.shr(at, Math.log2(columns)), side),
                e.mul(e.and(at, columns - 1), side),
                e.load(memory, e.add(invocation, e.mul(at, invocations))),
              ),
            ),
          ]),
    );
  });
}

/** The tiles that cover an extent. */
function tilesOf(extent: Expr, step: number): Expr {
  const size = known(extent);
  return size === null ? e.div(e.add(extent, step - 1), step) : e.i32(Math.ceil(size / step));
}

/** Part of an operand in memory of a workgroup: `depth` lines of `width` elements, and one that keeps banks apart. */
class Panel {
  readonly length: number;
  readonly #width: number;
  readonly #extent: Expr;
  readonly #k: Expr;
  readonly #offset: number;

  constructor(width: number, extent: Expr, k: Expr, offset: number) {
    this.length = depth * (width + 1);
    this.#width = width;
    this.#extent = extent;
    this.#k = k;
    this.#offset = offset;
  }

  at(memory: Parameters<typeof e.load>[0], position: Expr, kk: Expr): Expr {
    return e.load(memory, this.#index(position, kk));
  }

  /** Loads are clamped to the operand, and what is beyond its end along `k` is 0; `isAlong`: neighbors are along `k`. */
  fill(
    memory: Parameters<typeof e.store>[0],
    invocation: Expr,
    first: Expr,
    k0: Expr,
    isAlong: boolean,
    element: (position: Expr, kk: Expr) => Expr,
  ): Stmt {
    const width = this.#width;
    const each = (flat: Expr): Stmt => {
      const [position, kk] = isAlong
        ? [e.shr(flat, Math.log2(depth)), e.and(flat, depth - 1)]
        : [e.and(flat, width - 1), e.shr(flat, Math.log2(width))];
      const at = e.add(k0, kk);
      const value = element(
        clampedTo(this.#extent, e.add(first, position), width),
        clampedTo(this.#k, at, depth),
      );
      const { scalar } = value.type;
      const isWhole = isMultiple(this.#k, depth);
      const inside = isWhole ? value : e.select(e.lt(at, this.#k), value, e.constant(scalar, 0));
      return e.store(memory, this.#index(position, kk), inside);
    };
    const times = (depth * width) / invocations;
    if (times === 1) return each(invocation);
    return e.forLoop('part', 0, times, (part) => each(e.add(invocation, e.mul(part, invocations))));
  }

  #index(position: Expr, kk: Expr): Expr {
    return e.add(e.add(e.mul(kk, this.#width + 1), position), this.#offset);
  }
}

function isMultiple(extent: Expr, of: number): boolean {
  const size = known(extent);
  return size !== null && size % of === 0;
}

function clampedTo(extent: Expr, index: Expr, step: number): Expr {
  return isMultiple(extent, step) ? index : e.min(index, e.sub(extent, 1));
}

/** Adds the outer product of some elements to sums, by rows. */
function multiply(
  sums: readonly Var[],
  { left, right }: { readonly left: readonly Expr[]; readonly right: readonly Expr[] },
): Stmt {
  const locals = (name: string, of: readonly Expr[]): readonly Var[] =>
    of.map(({ type }, at) => e.variable(`${name}${at}`, type.scalar));
  const [a, b] = [locals('a', left), locals('b', right)];
  return e.block(
    ...a.map((local, at) => e.declare(local, left[at])),
    ...b.map((local, at) => e.declare(local, right[at])),
    ...sums.map((sum, at) =>
      e.assign(sum, e.add(sum, e.mul(a[Math.floor(at / b.length)], b[at % b.length]))),
    ),
  );
}
