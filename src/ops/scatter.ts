import { isStatic, elementCount } from '../base/dim/index.js';
import * as e from '../loop/language/build.js';
import { fastTwoSum } from '../loop/language/compensation.js';
import type { Buffer, Const, Expr, Scalar, Stmt } from '../loop/language/nodes.js';
import { overAll, ravel, workspace } from './loops.js';
import type { KernelContext, KernelLowering } from './declare/lowering.js';
import type { Scattering } from './declare/scattering.js';

/*
 * Results that are built out of order, from contributions that go where indices say. Long sums keep what an
 * addition rounds away, in memory of their own, and add it with the next term. Source: Kahan, "Further remarks on
 * reducing truncation errors", CACM 1965.
 */

/** The lowering of an operator that is a scatter. */
export function scatterLowering<A>(
  scatter: (context: KernelContext<A>) => Scattering,
): KernelLowering<A> {
  return { kind: 'kernel', scatter, kernel: (context) => scatterLoops(context, scatter(context)) };
}

/**
 * Writes the first result from contributions at computed indices. Sequential, so the result does not depend
 * on the machine.
 */
export function scatterLoops(context: KernelContext<unknown>, scattering: Scattering): Stmt {
  const { onto, domain, target, value, combine = 'add', last } = scattering;
  const [sink] = context.outputs;
  const { buffer, flush } = workspace(context);
  const scalar = e.loadedScalar(buffer.storage);
  const isBool = sink.dtype === 'bool';
  const isThere = onto !== undefined && onto.buffer === buffer;
  const begin = overAll(sink.shape, (index) => {
    const start = onto === undefined ? e.constant(scalar, 0) : e.cast(scalar, onto.at(index));
    return e.store(buffer, ravel(index, sink.shape), start);
  });
  const carrying = carryingOf(context, scattering, scalar);
  const plain = (): Stmt =>
    overAll(
      domain,
      (index) => {
        const at = ravel(target(index), sink.shape);
        const arriving = e.cast(scalar, value(index));
        if (combine === 'set') return e.store(buffer, at, arriving);
        const old = e.load(buffer, at);
        return e.store(buffer, at, isBool ? e.or(old, arriving) : e.add(old, arriving));
      },
      last === undefined ? 'serial' : 'vector',
    );
  return e.block(
    ...(isThere ? [] : [begin]),
    carrying === null ? plain() : carrying(context, scattering, buffer),
    flush,
  );
}

/** Adds all contributions with compensation for rounding. */
type Carrying = (context: KernelContext<unknown>, scattering: Scattering, buffer: Buffer) => Stmt;

/** Number of contributions up to which sums are not compensated (decision 45). */
export const mostPlain = 12;

/** Storage of the compensation; null where few terms collide. */
function carryingOf(
  { outputTypes: [{ shape }] }: KernelContext<unknown>,
  { domain, combine = 'add', most }: Scattering,
  scalar: Scalar,
): Carrying | null {
  if (combine !== 'add' || (scalar !== 'f32' && scalar !== 'f64')) return null;
  if (most?.kind === 'const' && Number(most.value) <= mostPlain) return null;
  if (!domain.every(({ kind }) => kind === 'const')) return carriedByElement;
  const terms = countOf(domain);
  if (terms <= mostPlain) return null;
  const isMany = !shape.every(isStatic) || terms >= Number(elementCount(shape));
  return isMany ? carriedByElement : carriedByTerm;
}

/** Size of a domain with known extents. */
function countOf(domain: readonly Expr[]): number {
  return domain.reduce((count, dim) => count * Number((dim as Const).value), 1);
}

/** The rounding error of the last addition is stored beside each element of the result. */
const carriedByElement: Carrying = (context, { domain, target, value, last }, buffer) => {
  const [{ shape }] = context.outputs;
  const scalar = e.loadedScalar(buffer.storage);
  const lost = lostOf(context, buffer, context.extent(elementCount(context.outputTypes[0].shape)));
  return e.block(
    overAll(shape, (index) => e.store(lost, ravel(index, shape), e.constant(scalar, -0))),
    overAll(
      domain,
      (index) => {
        const place = e.variable('place', 'i32');
        return e.block(
          e.declare(place, ravel(target(index), shape)),
          addCarried(buffer, place, lost, place, e.cast(scalar, value(index))),
        );
      },
      last === undefined ? 'serial' : 'vector',
    ),
    overAll(shape, (index) => {
      const at = ravel(index, shape);
      return e.store(buffer, at, e.add(e.load(buffer, at), e.load(lost, at)));
    }),
  );
};

/**
 * For fewer terms than elements: the rounding error of an element, or of its row, is stored at the number of
 * its first term. Elements without contributions are not visited.
 */
const carriedByTerm: Carrying = (context, { domain, target, value, last }, buffer) => {
  const [{ shape }] = context.outputs;
  const scalar = e.loadedScalar(buffer.storage);
  const areRows = last === 'rows';
  const [leading, rows] = areRows ? [domain.slice(0, -1), shape.slice(0, -1)] : [domain, shape];
  const [width, pitch] = areRows
    ? [domain, shape].map((axes) => axes[axes.length - 1])
    : [e.i32(1), e.i32(1)];
  const outer = context.outputTypes[0].shape.slice(0, rows.length);
  // Numbers from 1; 0 where nothing has arrived.
  const firsts = context.scratch('firsts', 'int32', context.extent(elementCount(outer)));
  const lost = lostOf(context, buffer, e.i32(countOf(domain)));

  const eachTerm = (
    body: (row: Expr, number: Expr, valueAt: (column: Expr) => Expr) => Stmt,
  ): Stmt =>
    overAll(
      leading,
      (index) => {
        const [row, number] = ['row', 'number'].map((name) => e.variable(name, 'i32'));
        const at = target(areRows ? [...index, e.i32(0)] : index).slice(0, rows.length);
        return e.block(
          e.declare(row, ravel(at, rows)),
          e.declare(number, e.add(ravel(index, leading), 1)),
          body(row, number, (column) =>
            e.cast(scalar, value(areRows ? [...index, column] : index)),
          ),
        );
      },
      'serial',
    );
  const eachColumn = (body: (column: Expr) => Stmt): Stmt =>
    areRows ? overAll([width], ([column]) => body(column)) : body(e.i32(0));
  const elementAt = (row: Expr, column: Expr): Expr => e.add(e.mul(row, pitch), column);
  const restAt = (number: Expr, column: Expr): Expr =>
    e.add(e.mul(e.sub(number, 1), width), column);

  return e.block(
    overAll([context.extent(elementCount(outer))], ([at]) => e.store(firsts, at, e.i32(0))),
    eachTerm((row, number, valueAt) => {
      const first = e.variable('first', 'i32');
      return e.block(
        e.declare(first, e.load(firsts, row)),
        e.ifThen(
          e.eq(first, 0),
          e.block(
            e.assign(first, number),
            e.store(firsts, row, first),
            eachColumn((column) => e.store(lost, restAt(number, column), e.constant(scalar, -0))), // prettier-ignore
          ),
        ),
        eachColumn(
          (column) =>
          addCarried(buffer, elementAt(row, column), lost, restAt(first, column), valueAt(column)), // prettier-ignore
        ),
      );
    }),
    eachTerm((row, number) =>
      e.ifThen(
        e.eq(e.load(firsts, row), number),
        eachColumn((column) => {
          const rest = e.load(lost, restAt(number, column));
          const at = elementAt(row, column);
          return e.store(buffer, at, e.add(e.load(buffer, at), rest));
        }),
      ),
    ),
  );
};

function lostOf(context: KernelContext<unknown>, buffer: Buffer, length: Expr): Buffer {
  return context.scratch(
    'lost',
    e.loadedScalar(buffer.storage) === 'f64' ? 'float64' : 'float32',
    length,
  );
}

/** Adds a term and the previous rounding error to an element, and stores the new rounding error. */
function addCarried(buffer: Buffer, at: Expr, lost: Buffer, rest: Expr, arriving: Expr): Stmt {
  const { scalar } = arriving.type;
  const [before, term] = ['before', 'term'].map((name) => e.variable(name, scalar));
  const { sum, error } = fastTwoSum(before, term);
  return e.block(
    e.declare(before, e.load(buffer, at)),
    e.declare(term, e.add(arriving, e.load(lost, rest))),
    e.store(buffer, at, sum),
    e.store(lost, rest, error),
  );
}

/** The first result as a sum: for every index of `domain`, `value` is added at `target`. */
export function accumulate(
  context: KernelContext<unknown>,
  domain: readonly Expr[],
  target: (index: readonly Expr[]) => readonly Expr[],
  value: (index: readonly Expr[]) => Expr,
): Stmt {
  return scatterLoops(context, { domain, target, value });
}
