import { InternalError } from '../../base/errors.js';
import type { Operator } from '../../ir/operator.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import type { Law, LawCall } from '../../ops/declare/law.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { throughRegions, transform } from '../rewrite/transform.js';

/** Limit of laws applied to one call in sequence: a longer chain is a cycle. */
const mostSteps = 64;

/**
 * Algebraic simplification: rewrites calls by the laws of their operators, in regions too, until no law
 * applies. One walk, producers first, so a law sees simplified operands; results of a law are simplified at
 * once. `applied` is called for every application.
 */
export function simplify(
  program: Program,
  applied: (op: string, law: Law) => void = () => {},
): Program {
  const simplified = throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        const result = new Simplifier(into, applied).call(node, operands);
        return result === null ? undefined : [result];
      },
      { region, wanted: ({ op }) => (declarationOf(op).simplify?.length ?? 0) > 0 },
    ),
  );
  // Replaced calls are dead; laws would apply to them again.
  return simplified === program ? program : eliminateDeadCode(simplified);
}

/** Simplifies one call and everything that its laws make. */
class Simplifier {
  readonly #into: Program;
  readonly #applied: (op: string, law: Law) => void;
  /** Nodes from here on were made by a law. */
  readonly #first: number;
  #steps = 0;

  constructor(into: Program, applied: (op: string, law: Law) => void) {
    this.#into = into;
    this.#applied = applied;
    this.#first = into.graph.nodeCount;
  }

  /** The value of a call on simplified operands by some law; null when no law applies. */
  call({ op, attributes, types }: CallNode, inputs: readonly Value[]): Value | null {
    if (types.length !== 1) return null;
    const [type] = types;
    const { simplify: laws = [], lowering } = declarationOf(op);
    for (let i = 0; i < laws.length; i++) {
      const result = this.#by(laws[i], op, { inputs, attributes, type });
      if (result !== null) return result;
    }
    if (lowering.kind !== 'view') return null;
    const [{ node: id }] = inputs;
    const made = this.#into.node(id);
    if (made.kind !== 'call') return null;
    const { viewed } = declarationOf(made.op);
    if (viewed === undefined) return null;
    const call = { inputs: this.#into.operands(id), attributes: made.attributes, type };
    return this.#by(viewed, made.op, call);
  }

  /** The simplified value of a call by one law; null where it does not apply. */
  #by(law: Law, { name }: Operator, call: LawCall): Value | null {
    const result = law.apply(call);
    if (result === null) return null;
    if (++this.#steps > mostSteps) {
      throw new InternalError('the laws go round in a circle', { op: name, actual: law.law });
    }
    this.#applied(name, law);
    return this.#settled(result);
  }

  /** A value that a law made, simplified from its operands on. */
  #settled(value: Value): Value {
    if (value.node < this.#first) return value;
    const node = this.#into.node(value.node);
    if (node.kind !== 'call') return value;
    const operands = this.#into.operands(value.node);
    const settled = operands.map((operand) => this.#settled(operand));
    const result = this.call(node, settled);
    if (result !== null) return result;
    if (settled.every((operand, i) => operand === operands[i])) return value;
    return this.#into.appendTyped(node.op, settled, node.attributes, node.types, node)[value.port];
  }
}
