import * as e from '../../../loop/language/build.js';
import { chooseBy } from '../../../loop/language/choices.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { LoopRange } from '../../../loop/language/team.js';
import { beforeRest, tiled } from './cover.js';
import { type Divided, overKind } from './region.js';
import { halvings, registerLanes } from './shape.js';
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
  const rest = chooseBy([spec.n], (n) => (n === null ? null : n % full));
  const parts = rest === null ? ofAny(spec, divided, full) : ofSize(spec, rest, divided, full);
  return { ...parts, all: (body) => e.block(parts.whole(body), parts.rest(body)) };
}

type Parts = Omit<Columns, 'all'>;

function ofAny(spec: Contraction, divided: Divided, full: number): Parts {
  const behind = ({ begin, end }: LoopRange): Expr => beforeRest(begin, end, full, null);
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

function ofSize(spec: Contraction, width: number, divided: Divided, full: number): Parts {
  const behind = beforeRest(e.i32(0), spec.n, full, width);
  const hasWhole = chooseBy([spec.n], (n) => n! >= full);
  return {
    hasWhole,
    whole: (body) => {
      if (!hasWhole) return e.block();
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
