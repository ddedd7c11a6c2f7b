import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { tiled } from './cover.js';
import { type Divided, threadRange } from './region.js';
import { halvings, registerLanes } from './shape.js';
import { known } from './sizes.js';
import type { Contraction } from './spec.js';

/** What to do with neighboring columns. */
export type ColumnsBody = (start: Expr, width: number) => Stmt;

/** The columns of a product that one thread has, in groups as wide as a tile or narrower. */
export interface Columns {
  /** Whether some may make whole tiles. */
  readonly hasWhole: boolean;
  /** Covers those that do. */
  whole(body: ColumnsBody): Stmt;
  /** Covers those behind them: in one group where their number is known. */
  rest(body: ColumnsBody): Stmt;
  /** Covers both. */
  all(body: ColumnsBody): Stmt;
}

/** The columns that fall to this thread, for tiles of `full` columns. */
export function columnsOf(spec: Contraction, divided: Divided, full: number): Columns {
  const size = known(spec.n);
  const parts = size === null ? ofAny(spec, divided, full) : ofSize(spec, size, divided, full);
  return { ...parts, all: (body) => e.block(parts.whole(body), parts.rest(body)) };
}

type Parts = Omit<Columns, 'all'>;

function ofAny(spec: Contraction, divided: Divided, full: number): Parts {
  const { begin, end } = threadRange(spec, divided, 'columns', full);
  const behind = e.sub(end, e.rem(e.sub(end, begin), full));
  const narrower = halvings(registerLanes(spec)).filter((width) => width < full);
  return {
    hasWhole: true,
    whole: wholeTiles(begin, behind, full),
    rest: (body) => tiled('j', { begin: behind, end }, narrower, body),
  };
}

function ofSize(spec: Contraction, size: number, divided: Divided, full: number): Parts {
  const { team } = spec.context;
  const width = size % full;
  const behind = e.i32(size - width);
  const { begin, end } = threadRange({ ...spec, n: behind }, divided, 'columns', full);
  return {
    hasWhole: size >= full,
    whole: size < full ? () => e.block() : wholeTiles(begin, end, full),
    rest: (body) => {
      if (width === 0) return e.block();
      const isLast = e.eq(e.add(team.index, 1), team.count);
      return divided === 'columns' ? e.ifThen(isLast, body(behind, width)) : body(behind, width);
    },
  };
}

function wholeTiles(begin: Expr, end: Expr, full: number): Columns['whole'] {
  return (body) => e.forLoop('j', begin, end, (j) => body(j, full), { step: full });
}
