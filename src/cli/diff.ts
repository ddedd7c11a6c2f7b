import { printable } from '../base/escape.js';
import { attributesText } from '../base/attributes/schema.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import type { NodeId } from '../graph/graph.js';
import { conditionKey } from '../ir/requirement.js';
import { printProgram } from '../ir/formats/text.js';
import { typeToString } from '../ir/program.js';
import { bitsOf } from '../ir/bits.js';

/** Structural value of a node, from the inputs on: equal for equal computations, in either graph. */
interface Described {
  readonly key: number;
  readonly line: string;
}

/** Value numbering over both graphs. */
class Computations {
  readonly #numbers: Map<string, number> = new Map();

  number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) this.#numbers.set(text, (number = this.#numbers.size));
    return number;
  }

  /** By node, in the order of the program. */
  of({ program, inputNames, outputNames }: StaticGraph): readonly Described[] {
    const given = new Set(inputNames);
    const returned = new Set(outputNames);
    const described = new Map<NodeId, Described>();
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      const types = program.results(id).map(({ type }) => typeToString(type)).join(', '); // prettier-ignore
      if (node.kind === 'variable') {
        const what = given.has(node.name) ? 'input' : 'state';
        described.set(id, this.#described(`${what} ${node.name} ${types}`, `${what} ${node.name}: ${types}`)); // prettier-ignore
      } else if (node.kind === 'constant') {
        const bits = String(bitsOf(node.data.data));
        described.set(id, this.#described(`constant ${types} ${bits}`, `constant ${types}`));
      } else if (node.kind === 'check') {
        const text = `require ${conditionKey(node.requirement)}`;
        described.set(id, this.#described(text, text));
      } else {
        const operands = program.operands(id).map((operand) => `${described.get(operand.node)!.key}.${operand.port}`); // prettier-ignore
        const regions = node.regions.map((region) => printProgram(region));
        const attributes = attributesText(node.op.attributes, node.attributes);
        described.set(
          id,
          this.#described(
            `${node.op.name} ${attributes} ${operands.join()} ${regions.join()} ${types}`,
            `${node.op.name}${attributes === '{}' ? '' : ` ${attributes}`}: ${types}${node.source === undefined ? '' : ` at ${node.source}`}`,
          ),
        );
      }
    }
    const outputs = program.outputs.map(({ name, value }) => {
      const what = returned.has(name) ? 'output' : 'next state';
      return this.#described(
        `${what} ${name} ${described.get(value.node)!.key}.${value.port}`,
        `${what} ${name}: ${typeToString(value.type)}`,
      );
    });
    return [...described.values(), ...outputs];
  }

  #described(text: string, line: string): Described {
    return { key: this.number(text), line: printable(line) };
  }
}

/**
 * Operators that only one of two graphs computes, `-` for the first and `+` for the second; an operator
 * differs when any of its inputs does. Empty for graphs that compute the same.
 */
export function diffGraphs(a: StaticGraph, b: StaticGraph): readonly string[] {
  const computations = new Computations();
  const [first, second] = [a, b].map((graph) => computations.of(graph));
  const only = (of: readonly Described[], others: readonly Described[]): readonly string[] => {
    const counts = new Map<number, number>();
    for (const { key } of others) counts.set(key, (counts.get(key) ?? 0) + 1);
    return of.flatMap(({ key, line }) => {
      const left = counts.get(key) ?? 0;
      if (left > 0) counts.set(key, left - 1);
      return left > 0 ? [] : [line];
    });
  };
  return [
    ...only(first, second).map((line) => `- ${line}`),
    ...only(second, first).map((line) => `+ ${line}`),
    ...differentParameters(a, b),
  ];
}

/** Parameters that both graphs have with different values. */
function differentParameters(a: StaticGraph, b: StaticGraph): readonly string[] {
  return [...a.parameters].flatMap(([name, array]) => {
    const other = b.parameters.get(name);
    if (other === undefined || typeToString(array) !== typeToString(other)) return [];
    const [one, two] = [bitsOf(array.storage.host), bitsOf(other.storage.host)];
    const wrong = one.findIndex((bits, i) => bits !== two[i]);
    return wrong < 0
      ? []
      : [`! parameter ${printable(name)} has other values, from element ${wrong} on`];
  });
}
