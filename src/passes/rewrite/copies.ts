import type { NodeId } from '../../graph/graph.js';
import { InternalError } from '../../base/errors.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { barrier } from '../../ops/structure/identity.js';
import { isView, viewed } from './views.js';

/** The nodes that late ones read a second copy of. */
export interface Again {
  readonly nodes: ReadonlySet<NodeId>;
  /** Whether second copies must stay apart from the first ones, should the two meet in one program. */
  readonly isApart: boolean;
}

/** Nodes on their way from one program into another, some of them once more for those that come late. */
export class Copies {
  readonly #from: Program;
  readonly #into: Program;
  readonly #again: ReadonlySet<NodeId>;
  readonly #isApart: boolean;
  readonly #first: Map<Value, Value>;
  readonly #second: Map<Value, Value> = new Map();
  readonly #barriers: Map<Value, Value> = new Map();

  /** `given` are the values there are already. */
  constructor(from: Program, into: Program, again: Again, given?: ReadonlyMap<Value, Value>) {
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

  /** The first copy of a value. Constants come along when they are asked for. */
  early(value: Value): Value {
    let copy = this.#first.get(value);
    if (copy === undefined) {
      const node = this.#from.node(value.node);
      if (node.kind !== 'constant') throw new InternalError('a value was not kept');
      this.#first.set(value, (copy = this.#into.constant(node.data)));
    }
    return copy;
  }

  /** The second copy of a value if there is to be one, made now with all that it takes. */
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
        // What only views something kept is no second copy of anything, and needs no barrier yet.
        const isDirect = !this.#isApart || isView(this.#from, id);
        this.#copy(id, this.#second, (operand) =>
          isDirect ? this.late(operand) : this.#behindBarrier(operand),
        );
      }
    }
    return this.#second.get(value)!;
  }

  /**
   * What a second copy reads. Without a barrier before what is kept, passes would find the second copy
   * equal to the first, or compute it as soon as they can, and nothing would be gained.
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
