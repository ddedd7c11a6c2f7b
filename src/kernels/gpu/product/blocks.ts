import * as e from '../../../loop/language/build.js';
import { addWithError } from '../../../loop/language/compensation.js';
import type { Buffer, Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { isLong } from '../../contraction/long-sums.js';
import { isWithin } from '../../contraction/sizes.js';
import type { Contraction } from '../../contraction/spec.js';

/** Totals to which the sums of blocks are added. */
export interface BlockTotals {
  /** Terms of one block. */
  readonly terms: number;
  /** Statements that make all totals 0. */
  readonly declarations: readonly Stmt[];
  /** Adds one of the sums to its total. */
  add(sum: number): Stmt;
  /** The complete total of a sum. */
  of(sum: number): Expr;
}

/** Terms of a block whose total is in registers. */
const shortBlock = 48;

/** Totals in registers, for few sums: as on the CPU, blocks are short, and additions carry what they round away (decision 46). */
export function totalsInLocals(sums: readonly Var[]): BlockTotals {
  const locals = (name: string): readonly Var[] =>
    sums.map(({ type }, at) => e.variable(`${name}${at}`, type.scalar, type.lanes));
  const [totals, errors] = [locals('total'), locals('error')];
  return {
    terms: shortBlock,
    declarations: [...totals, ...errors].map((local) =>
      e.declare(local, e.constant(local.type.scalar, 0, local.type.lanes)),
    ),
    add: (at) => addWithError(totals[at], errors[at], sums[at]),
    of: (at) => e.add(totals[at], errors[at]),
  };
}

/** Sums of an invocation, in vectors, whose totals leave registers for what is summed. */
export const fewSums = 4;

/** The most terms of sums whose totals are in memory. */
const mostTerms = 2 ** 16;

/**
 * True where so many sums of an invocation, made in steps of `depth` terms, may have totals: of few sums the blocks are
 * whole steps, and more of them have totals in memory.
 */
export function canHaveTotals(
  sums: number,
  depth: number,
  { k, scalar }: Pick<Contraction, 'k' | 'scalar'>,
): boolean {
  if (!isLong({ k, scalar })) return true;
  return sums <= fewSums ? shortBlock % depth === 0 : isWithin(k, mostTerms);
}

/**
 * Totals in private memory, for as many sums as fill the registers. Blocks are so long that memory is seldom touched,
 * and so few that nothing is carried: code of carries for each of the sums would take drivers long to compile.
 */
export function totalsInMemory(sums: readonly Var[], memory: Buffer): BlockTotals {
  const { scalar, lanes } = sums[0].type;
  const place = (at: number): Expr => e.ramp(e.i32(at * lanes), 1, lanes);
  const of = (at: number): Expr => e.load(memory, place(at));
  return {
    terms: 256,
    declarations: sums.map((_, at) => e.store(memory, place(at), e.constant(scalar, 0, lanes))),
    add: (at) => e.store(memory, place(at), e.add(of(at), sums[at])),
    of,
  };
}

/**
 * Totals in private memory that carry what additions round away, for any number of terms. Blocks are longer still, since
 * their ends cost more. `factor` is what the total of a sum is multiplied by before each addition.
 */
export function carriedInMemory(
  sums: readonly Var[],
  totals: Buffer,
  errors: Buffer,
  factor: ((sum: number) => Expr) | null,
): BlockTotals {
  const { scalar, lanes } = sums[0].type;
  const read = (from: Buffer, at: number): Expr =>
    e.load(from, e.ramp(e.i32(at * lanes), 1, lanes));
  const write = (to: Buffer, at: number, value: Expr): Stmt =>
    e.store(to, e.ramp(e.i32(at * lanes), 1, lanes), value);
  return {
    terms: 512,
    declarations: sums.flatMap((_, at) =>
      [totals, errors].map((memory) => write(memory, at, e.constant(scalar, 0, lanes))),
    ),
    add: (at) => {
      const [total, error] = ['total', 'error'].map((name) => e.variable(name, scalar, lanes));
      const scaled = (x: Expr): Expr => (factor === null ? x : e.mul(x, factor(at)));
      return e.block(
        e.declare(total, scaled(read(totals, at))),
        e.declare(error, scaled(read(errors, at))),
        addWithError(total, error, sums[at]),
        write(totals, at, total),
        write(errors, at, error),
      );
    },
    of: (at) => e.add(read(totals, at), read(errors, at)),
  };
}

/**
 * Sums in variables of what `steps` adds to them for ranges from `start` to `end`; `depth` divides their distance from
 * it. Sums of many floats, `terms` over all invocations, are made in blocks, which are added to totals.
 */
export function sumInBlocks(
  sums: readonly Var[],
  end: Expr,
  terms: Expr,
  depth: number,
  steps: (begin: Expr, end: Expr) => Stmt,
  totalsFor: (sums: readonly Var[]) => BlockTotals = totalsInLocals,
  start: Expr = e.i32(0),
): Stmt {
  const { scalar, lanes } = sums[0].type;
  if (!isLong({ k: terms, scalar })) return steps(start, end);
  const totals = totalsFor(sums);
  const block = Math.ceil(totals.terms / depth) * depth;
  const none = e.constant(scalar, 0, lanes);
  const carry = sums.flatMap((sum, at) => [totals.add(at), e.assign(sum, none)]);
  return e.block(
    ...totals.declarations,
    e.forLoop(
      'block',
      start,
      end,
      (begin) => e.block(steps(begin, e.min(e.add(begin, block), end)), ...carry),
      { step: block },
    ),
    ...sums.map((sum, at) => e.assign(sum, totals.of(at))),
  );
}
