import { addDim, type Dim } from '../../../base/dim/index.js';
import type { CallNode, Value } from '../../../ir/program.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { Sink } from '../../../ops/declare/lowering.js';
import type { ExtentParameters } from '../../../loop/language/extents.js';
import { indexOf, planLoops } from '../../../ops/nests/nest.js';
import { addIndex } from '../../../ops/nests/access.js';
import type { KernelScope } from './scope.js';

/** A result of a point nest: its elements and their sink. */
export interface PointResult {
  readonly sink: Sink;
  at(index: readonly Expr[]): Expr;
}

/** A written value as a result of a point nest; a concatenation is a result for each of its operands. */
export function pointResults(scope: KernelScope, value: Value): readonly PointResult[] {
  const call = scope.program.node(value.node) as CallNode;
  const { lowering } = declarationOf(call.op);
  const sink = scope.sink(value);
  if (lowering.kind !== 'kernel' || lowering.joinedAxis === undefined) {
    return [{ sink, at: scope.compute(value) }];
  }
  const axis = lowering.joinedAxis(call.attributes, value.type.shape.length);
  let end: Dim = 0;
  return scope.program.operands(value.node).map((operand) => {
    const { shape } = operand.type;
    const [offset] = scope.shape([end]);
    end = addDim(end, shape[axis]);
    return {
      sink: {
        ...sink,
        shape: scope.shape(shape),
        store: (index, element) =>
          sink.store(index.with(axis, addIndex(index[axis], offset)), element),
        buffer: null,
      },
      at: scope.compute(operand),
    };
  });
}

/**
 * One nest that writes several results of one shape. All elements at an index are computed before the
 * first is stored, since a result may take the place of an operand that another result still reads.
 */
export function pointNest(
  extents: ExtentParameters,
  shape: readonly Dim[],
  results: readonly PointResult[],
  isDivided: boolean,
  target: DeviceTarget,
): Stmt {
  if (shape.includes(0)) return e.block();
  const plan = planLoops(extents, shape, (index) => {
    const values = results.map((result) => result.at(index));
    const addresses = results.flatMap(({ sink }, k) => addressesOf(sink.store(index, values[k])));
    return { values, addresses };
  });
  const body = (at: readonly Expr[]): Stmt =>
    storeAll(results, indexOf(shape.length, plan.loops, at));
  return target.nests.points(plan, body, isDivided);
}

function storeAll(results: readonly PointResult[], index: readonly Expr[]): Stmt {
  if (results.length === 1) return results[0].sink.store(index, results[0].at(index));
  const locals: Var[] = [];
  const computed = results.map((result, k) => {
    const value = result.at(index);
    locals.push(e.variable(`value${k}`, value.type.scalar));
    return e.declare(locals[k], value);
  });
  return e.block(...computed, ...results.map(({ sink }, k) => sink.store(index, locals[k])));
}

/** The indices at which a statement without loops stores. */
function addressesOf(stmt: Stmt): readonly Expr[] {
  if (stmt.kind === 'store') return [stmt.index];
  return stmt.kind === 'block' ? stmt.body.flatMap(addressesOf) : [];
}
