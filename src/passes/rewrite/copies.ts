import type { NodeId } from '../../graph/graph.js';
import { InternalError } from '../../base/errors.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { barrier } from '../../ops/structure/identity.js';
import { isView, viewed } from './views.js';

/** Nodes that late nodes read a second copy of. */
export interface SecondCopies {
  readonly nodes: ReadonlySet<NodeId>;
  /** True when second copies must stay distinct from the first, even within one program. */
  readonly isApart: boolean;
}

/** Copies nodes from one program to another, some of them twice for late readers. */
export class Copies {
  readonly #from: Program;
  readonly #into: Program;
  readonly #again: ReadonlySet<NodeId>;
  readonly #isApart: boolean;
  readonly #first: Map<Value, Value>;
  readonly #second: Map<Value, Value> = new Map();
  readonly #barriers: Map<Value, Value> = new Map();

  /** `given` are existing copies of values. */
  constructor(
    from: Program,
    into: Program,
    again: SecondCopies,
    given?: ReadonlyMap<Value, Value>,
  ) {
    this.#from = from;
    this.#into = into;
    this.#again = again.nodes;
    this.#isApart = again.isApart;
    this.#first = new Map(given);
  }

  add(id: NodeId, isLate: boolean): void {
    const node = this.#from.node(id);
    if (node.kind === 'call') {
      this.#copy(id, this.#first, (value) => (isLate ? this.late(value) : this.early(value)));
    } else if (node.kind === 'variable') {
      const [value] = this.#from.results(id);
      this.#first.set(value, this.#into.variable(node.name, value.type));
    } else if (node.kind === 'check') this.#into.require(node.requirement);
  }

  /** The first copy of a value. Constants are copied on demand. */
  early(value: Value): Value {
    let copy = this.#first.get(value);
    if (copy === undefined) {
      const node = this.#from.node(value.node);
      if (node.kind !== 'constant') throw new InternalError('a value was not kept');
      this.#first.set(value, (copy = this.#into.constant(node.data)));
    }
    return copy;
  }

  /** The second copy of a value if there is to be one, made now with all its operands. */
  late(value: Value): Value {
    if (!this.#again.has(value.node)) return this.early(value);
    if (!this.#second.has(value)) {
      const missing = new Set([value.node]);
      for (const id of missing) {
        for (const operand of this.#from.operands(id)) {
          if (this.#again.has(operand.node) && !this.#second.has(operand))
            missing.add(operand.node);
        }
      }
      for (const id of [...missing].sort((a, b) => a - b)) {
        // A view of a saved value is not a second copy, and needs no barrier yet.
        const isDirect = !this.#isApart || isView(this.#from, id);
        this.#copy(id, this.#second, (operand) =>
          isDirect ? this.late(operand) : this.#behindBarrier(operand),
        );
      }
    }
    return this.#second.get(value)!;
  }

  /**
   * Operands of a second copy. Without a barrier after saved values, passes would merge the second copy with
   * the first, or schedule it as early as possible, and nothing would be saved.
   */
  #behindBarrier(value: Value): Value {
    const base = viewed(this.#from, value);
    const isKept = !this.#again.has(base.node) && this.#from.node(base.node).kind !== 'constant';
    if (!isKept) return this.late(value);
    let opaque = this.#barriers.get(value);
    if (opaque === undefined)
      this.#barriers.set(value, (opaque = barrier<Value>(this.late(value))));
    return opaque;
  }

  #copy(id: NodeId, to: Map<Value, Value>, operand: (value: Value) => Value): void {
    const node = this.#from.node(id) as CallNode;
    const operands = this.#from.operands(id).map(operand);
    const made = this.#into.appendTyped(node.op, operands, node.attributes, node.types, node);
    this.#from.results(id).forEach((result, port) => to.set(result, made[port]));
  }
}
