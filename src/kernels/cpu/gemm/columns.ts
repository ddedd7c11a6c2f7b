import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import { tiled } from './cover.js';
import { type Divided, overKind } from './region.js';
import { halvings, registerLanes } from './shape.js';
import { known } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';

/** Body for a group of neighboring columns. */
export type ColumnsBody = (start: Expr, width: number) => Stmt;

/** The columns of a product, divided if they are what is, in groups as wide as a tile or narrower. */
export interface Columns {
  /** True when some may form whole tiles. */
  readonly hasWhole: boolean;
  /** Visits whole groups. */
  whole(body: ColumnsBody): Stmt;
  /** Visits the remaining ones: in one group where their number is known. */
  rest(body: ColumnsBody): Stmt;
  /** Visits all. */
  all(body: ColumnsBody): Stmt;
}

/** For tiles of `full` columns. */
export function columnsOf(spec: Contraction, divided: Divided, full: number): Columns {
  const size = known(spec.n);
  const parts = size === null ? ofAny(spec, divided, full) : ofSize(spec, size, divided, full);
  return { ...parts, all: (body) => e.block(parts.whole(body), parts.rest(body)) };
}

type Parts = Omit<Columns, 'all'>;

function ofAny(spec: Contraction, divided: Divided, full: number): Parts {
  const behind = ({ begin, end }: LoopRange): Expr => e.sub(end, e.rem(e.sub(end, begin), full));
  const narrower = halvings(registerLanes(spec)).filter((width) => width < full);
  const over = (body: (range: LoopRange) => Stmt): Stmt =>
    overKind(spec, divided, 'columns', full, body);
  return {
    hasWhole: true,
    whole: (body) =>
      over((range) => wholeTiles({ begin: range.begin, end: behind(range) }, full, body)),
    rest: (body) =>
      over((range) => tiled('j', { begin: behind(range), end: range.end }, narrower, body)),
  };
}

function ofSize(spec: Contraction, size: number, divided: Divided, full: number): Parts {
  const width = size % full;
  const behind = e.i32(size - width);
  return {
    hasWhole: size >= full,
    whole: (body) => {
      if (size < full) return e.block();
      const whole = { ...spec, n: behind };
      return overKind(whole, divided, 'columns', full, (range) => wholeTiles(range, full, body));
    },
    rest: (body) => {
      if (width === 0) return e.block();
      // In the stretch that has it of all columns: the last one, which has fewest of the whole tiles.
      return overKind(spec, divided, 'columns', full, ({ begin, end }) => {
        if (divided !== 'columns') return body(behind, width);
        const isHere = e.and(e.le(begin, behind), e.lt(behind, end));
        return e.ifThen(isHere, body(behind, width));
      });
    },
  };
}

function wholeTiles({ begin, end }: LoopRange, full: number, body: ColumnsBody): Stmt {
  return e.forLoop('j', begin, end, (j) => body(j, full), { step: full });
}
