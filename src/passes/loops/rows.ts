import type { Dim } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { substituteCall } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { sameType } from '../../ir/types.js';
import { callOf } from '../../ops/declare/law.js';
import { add } from '../../ops/elementwise/arithmetic.js';
import { fill } from '../../ops/movement/fill.js';
import {
  callOnRows,
  hasTotal,
  isLinear,
  repeated,
  type RowCall,
  totalOfCall,
  totalOfRows,
} from './batching.js';
import { nodesBehind } from '../../ir/behind.js';

/** A value of a loop's body in the enclosing program. */
export interface OutsideValue {
  readonly value: Value;
  /** True when it has an additional first axis, along which it differs from row to row. */
  readonly isBatched: boolean;
}

/** Computes values of a loop's body outside of the loop, batched over all rows. */
export class BatchedRows {
  readonly #body: Program;
  readonly #into: Program;
  readonly #dims: ReadonlyMap<string, Dim>;
  readonly #length: Dim;
  readonly #known: Map<Value, OutsideValue>;
  readonly #totals: Map<Value, Value> = new Map();

  /** `given` are the values available: the data, the captures, rows of the loop's results. */
  constructor(
    body: Program,
    into: Program,
    dims: ReadonlyMap<string, Dim>,
    length: Dim,
    given: ReadonlyMap<Value, OutsideValue>,
  ) {
    this.#body = body;
    this.#into = into;
    this.#dims = dims;
    this.#length = length;
    this.#known = new Map(given);
  }

  /** Every row of a value, stacked. */
  stacked(value: Value): Value {
    const found = this.of(value);
    return found.isBatched ? found.value : repeated(found.value, this.#length);
  }

  /** A value for all rows, or once where it is invariant. */
  of(value: Value): OutsideValue {
    for (const id of nodesBehind(this.#body, [value], (given) => this.#known.has(given))) {
      const node = this.#body.node(id);
      if (node.kind === 'check') continue;
      if (node.kind === 'variable')
        throw new InternalError(`the rows of ${node.name} are not known`);
      const results = this.#body.results(id);
      if (node.kind === 'constant') {
        this.#known.set(results[0], { value: this.#into.constant(node.data), isBatched: false });
        continue;
      }
      const call = this.#rowCall(node, this.#body.operands(id));
      const isBatched = call.isBatched.includes(true);
      const made = isBatched ? callOnRows(call) : once(call);
      results.forEach((result, port) => {
        if (!this.#known.has(result)) this.#known.set(result, { value: made[port], isBatched });
      });
    }
    return this.#known.get(value)!;
  }

  /** The sum of a value over all rows, by the cheapest way. */
  total(value: Value): Value {
    let total = this.#totals.get(value);
    if (total === undefined) this.#totals.set(value, (total = this.#total(value)));
    return total;
  }

  #total(value: Value): Value {
    const node = this.#body.node(value.node);
    if (this.#known.has(value) || node.kind !== 'call') return totalOfRows(this.stacked(value));
    const operands = this.#body.operands(value.node);
    const isAtHand = operands.every((operand) => this.#known.has(operand)) && hasTotal(node);
    if (isDistributive(node, operands) && !isAtHand) {
      const [only] = operands;
      const adapted = this.#adapted(node);
      return this.#into.append(node.op, [this.total(only)], adapted.attributes, node)[0];
    }
    if (!hasTotal(node)) return totalOfRows(this.stacked(value));
    const call = this.#rowCall(node, operands);
    return call.isBatched.includes(true) ? totalOfCall(call) : totalOfRows(this.stacked(value));
  }

  /** The sum of values over all rows, added to an initial value. */
  sumOf(values: readonly Value[], initial: Value): Value {
    const totals = values.map((value) => this.total(value));
    const isFromZero = callOf(initial, fill)?.attributes.value === 0;
    const isWhole = totals.some(({ type }) => sameType(type, initial.type));
    // Zero is not added to a value of its shape.
    if (!isFromZero || !isWhole) return totals.reduce((sum, total) => add(sum, total), initial);
    return totals.reduce((sum, total) => add(sum, total));
  }

  #rowCall(node: CallNode, operands: readonly Value[]): RowCall {
    const found = operands.map((operand) => this.of(operand));
    return {
      node: this.#adapted(node),
      into: this.#into,
      operands: found.map(({ value }) => value),
      isBatched: found.map(({ isBatched }) => isBatched),
      length: this.#length,
    };
  }

  /** A call of the body in the dimensions of the enclosing program. */
  #adapted(node: CallNode): CallNode {
    return substituteCall(node, this.#dims);
  }
}

/** True when the sum over rows can be taken before the call. */
export function isDistributive(node: CallNode, operands: readonly Value[]): boolean {
  const isOne = operands.length === 1 && node.types.length === 1;
  return isOne && isLinear(node) && operands[0].type.dtype === node.types[0].dtype;
}

function once({ node, into, operands }: RowCall): readonly Value[] {
  return into.appendTyped(node.op, operands, node.attributes, node.types, node);
}
