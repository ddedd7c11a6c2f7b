import type { NodeId } from '../../graph/graph.js';
import { type CallNode, type Program, typeToString } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { visitExprs } from '../../loop/language/visit.js';
import { type Access, computeScalar } from '../../ops/declare/lowering.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { settle } from '../../ops/elements.js';
import { ExtentParameters } from '../../loop/language/extents.js';
import { CallLabels } from '../../ir/call-labels.js';

/** Cost of one element of a point operator, measured on its lowered expression. */
export interface PointCost {
  /** Arithmetic of one element; an addition is 1. */
  readonly work: number;
  /** Number of elements of each operand that one element reads. */
  readonly reads: readonly number[];
  /** Bytes of the widest intermediate scalar: a 32-bit sine is computed in 64 bits. */
  readonly width: number;
}

/**
 * Limit of arithmetic fused behind each result of a kernel for processors. An epilogue is unrolled for every register of
 * every tile, so a long one makes a large kernel, which takes longer to compile than a separate pass over
 * memory takes to run: the update of an optimizer fits, activations with a polynomial do not.
 */
const usualEpilogue = 24;

/** Costs of the point operators of a program, computed once each. */
export class Costs {
  /** Limit of arithmetic fused behind each result of a kernel. */
  readonly longestEpilogue: number;
  readonly #program: Program;
  readonly #known: Map<NodeId, PointCost> = new Map();
  readonly #labels: CallLabels = new CallLabels();
  /** Cache by everything that a cost depends on. */
  readonly #alike: Map<string, PointCost> = new Map();

  constructor(program: Program, longestEpilogue: number = usualEpilogue) {
    this.#program = program;
    this.longestEpilogue = longestEpilogue;
  }

  of(id: NodeId): PointCost {
    let cost = this.#known.get(id);
    if (cost === undefined) this.#known.set(id, (cost = this.#find(id)));
    return cost;
  }

  /** Measures only the first of equal operators: for elementwise ones, regardless of shapes. */
  #find(id: NodeId): PointCost {
    const call = this.#program.node(id) as CallNode;
    const { lowering } = declarationOf(call.op);
    const isElementwise = lowering.kind === 'point' && lowering.elementwise;
    let key = String(this.#labels.of(call));
    for (const type of [call.types[0], ...this.#program.operands(id).map((value) => value.type)]) {
      key += isElementwise ? ` ${type.dtype}` : ` ${typeToString(type)}`;
    }
    let cost = this.#alike.get(key);
    if (cost === undefined) this.#alike.set(key, (cost = this.#measure(id)));
    return cost;
  }

  #measure(id: NodeId): PointCost {
    const call = this.#program.node(id) as CallNode;
    const { lowering } = declarationOf(call.op);
    if (lowering.kind !== 'point') return { work: Infinity, reads: [], width: 0 };
    const extents = new ExtentParameters();
    const operands = this.#program.operands(id);
    const counters = operands.map(({ type }) => new CountingAccess(extents, type));
    const [{ dtype, shape }] = call.types;
    const element = lowering.point({
      attributes: call.attributes,
      inputs: counters,
      inputTypes: operands.map(({ type }) => type),
      outputType: { dtype, shape: extents.shape(shape) },
      index: shape.map((_, axis) => e.variable(`i${axis}`, 'i32')),
      extent: (dim) => extents.extent(dim),
    });
    const settled = settle(dtype, element);
    return {
      work: workOf(settled),
      reads: counters.map(({ count }) => count),
      width: Math.max(widthOf([settled]), ...counters.map(({ width }) => width)),
    };
  }
}

/** An operand that counts the elements read. */
class CountingAccess implements Access {
  readonly dtype: Access['dtype'];
  readonly shape: readonly Expr[];
  readonly buffer = null;
  readonly #element: Expr;
  readonly #asked: Set<string> = new Set();
  readonly #names: Map<Expr, number> = new Map();
  /** Bytes of the widest scalar in index computations: gathering reads 64-bit indices. */
  width = 0;

  constructor(extents: ExtentParameters, type: CallNode['types'][number]) {
    this.dtype = type.dtype;
    this.shape = extents.shape(type.shape);
    this.#element = e.variable('x', computeScalar(type.dtype));
  }

  get count(): number {
    return this.#asked.size;
  }

  at(index: readonly Expr[]): Expr {
    const name = (part: Expr): number | string => {
      if (part.kind === 'const') return `c${part.value}`;
      let known = this.#names.get(part);
      if (known === undefined) this.#names.set(part, (known = this.#names.size));
      return known;
    };
    this.#asked.add(index.map(name).join());
    this.width = Math.max(this.width, widthOf(index));
    return this.#element;
  }
}

function widthOf(roots: readonly Expr[]): number {
  let widest = 0;
  visitExprs(roots, ({ type }) => {
    if (type.scalar !== 'bool') widest = Math.max(widest, e.scalarBytes(type.scalar));
  });
  return widest;
}

/** Cost of divisions and roots, which take several times as long as additions on every CPU. */
const slow = 5;

function workOf(expr: Expr, seen: Set<Expr> = new Set()): number {
  if (seen.has(expr)) return 0;
  seen.add(expr);
  switch (expr.kind) {
    case 'const':
    case 'var':
      return 0;
    case 'load':
      return 1 + workOf(expr.index, seen);
    case 'binary': {
      const own = expr.op === 'div' || expr.op === 'rem' ? slow : 1;
      return own + workOf(expr.a, seen) + workOf(expr.b, seen);
    }
    case 'select':
      return 1 + workOf(expr.condition, seen) + workOf(expr.a, seen) + workOf(expr.b, seen);
    case 'ramp':
      return workOf(expr.base, seen) + workOf(expr.stride, seen);
    case 'unary':
      return (expr.op === 'sqrt' ? slow : 1) + workOf(expr.x, seen);
    case 'bitcast':
    case 'broadcast':
    case 'extract':
      return workOf(expr.x, seen);
    case 'cast':
      return 1 + workOf(expr.x, seen);
  }
}
