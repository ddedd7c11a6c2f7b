import type { Dim } from '../../../base/dim/index.js';
import { InternalError } from '../../../base/errors.js';
import type { NodeId } from '../../../graph/graph.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { Target } from '../../../loop/language/target.js';
import type { Access, Sink } from '../../../ops/declare/lowering.js';
import {
  immediateAccess,
  computedAccess,
  memoryAccess,
  memorySink,
  viewAccess,
} from '../../../ops/nests/access.js';
import { declarationOf } from '../../../ops/declare/facets.js';
import { isImmediate } from '../../groups/places.js';
import type { KernelBuilder } from './builder.js';

/** Locations of a program's values, as far as kernels need them. */
export interface ValueLocations {
  /** The location of a value; a view has that of the value it views. Undefined for none. */
  placeOf(value: Value): number | undefined;
}

/**
 * The values that one kernel can read: in memory, computed on the fly because their node is a member of the
 * group, or provided by the caller (`given`).
 */
export class KernelScope {
  readonly program: Program;
  readonly builder: KernelBuilder;
  readonly #placement: ValueLocations;
  readonly #members: ReadonlySet<NodeId>;
  readonly #target: Target | undefined;
  readonly #given: ReadonlyMap<Value, Access>;
  readonly #known: Map<Value, Access> = new Map();

  constructor(
    program: Program,
    builder: KernelBuilder,
    placement: ValueLocations,
    members: ReadonlySet<NodeId>,
    target?: Target,
    given: ReadonlyMap<Value, Access> = new Map(),
  ) {
    this.program = program;
    this.builder = builder;
    this.#placement = placement;
    this.#members = members;
    this.#target = target;
    this.#given = given;
  }

  /** The same scope with additional provided values. */
  giving(given: ReadonlyMap<Value, Access>): KernelScope {
    return new KernelScope(
      this.program,
      this.builder,
      this.#placement,
      this.#members,
      this.#target,
      given,
    );
  }

  shape(dims: readonly Dim[]): readonly Expr[] {
    return this.builder.extents.shape(dims);
  }

  access(value: Value): Access {
    let access = this.#given.get(value) ?? this.#known.get(value);
    if (access === undefined) this.#known.set(value, (access = this.#make(value)));
    return access;
  }

  /** The unrounded element of a value that is computed on the fly; `access` rounds. */
  compute(value: Value): (index: readonly Expr[]) => Expr {
    const call = this.#call(value);
    const lowering = declarationOf(call.op).lowering;
    if (lowering.kind !== 'point') {
      throw new InternalError(`${call.op.name} was fused but is not computed element by element`);
    }
    const operands = this.program.operands(value.node);
    const inputs = operands.map((operand) => this.access(operand));
    const inputTypes = operands.map(({ type }) => type);
    const outputType = { dtype: value.type.dtype, shape: this.shape(value.type.shape) };
    return (index) =>
      lowering.point({
        attributes: call.attributes,
        inputs,
        inputTypes,
        outputType,
        index,
        extent: (dim) => this.builder.extents.extent(dim),
        ...(this.#target !== undefined && { target: this.#target }),
      });
  }

  /** The memory of a value that this kernel writes. */
  sink(value: Value): Sink {
    const place = this.#placement.placeOf(value);
    if (place === undefined) throw new InternalError('a result has no place in memory');
    const { dtype, shape } = value.type;
    return memorySink(
      dtype,
      this.shape(shape),
      this.builder.buffer(place, `out${value.node}`, dtype),
    );
  }

  #make(value: Value): Access {
    const node = this.program.node(value.node);
    const { dtype, shape } = value.type;
    if (node.kind === 'constant' && isImmediate(node.data)) return immediateAccess(node.data);
    if (node.kind === 'call' && declarationOf(node.op).lowering.kind === 'view') {
      return viewAccess(this.shape(shape), this.access(this.program.operands(value.node)[0]));
    }
    if (this.#members.has(value.node)) {
      return computedAccess(dtype, this.shape(shape), this.compute(value));
    }
    const place = this.#placement.placeOf(value);
    if (place === undefined) throw new InternalError('an operand has no place in memory');
    return memoryAccess(
      dtype,
      this.shape(shape),
      this.builder.buffer(place, `x${value.node}`, dtype),
    );
  }

  #call(value: Value): CallNode {
    const node = this.program.node(value.node);
    if (node.kind !== 'call') throw new InternalError('a group holds what is not a call');
    return node;
  }
}
