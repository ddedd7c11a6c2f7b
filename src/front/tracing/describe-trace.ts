import { attributesText } from '../../base/attributes/schema.js';
import type { NodeId } from '../../graph/graph.js';
import { type Program, typeToString } from '../../ir/program.js';
import { conditionKey } from '../../ir/requirement.js';
import { NDArray } from '../core/ndarray.js';
import type { ExternalRef } from '../graphs/graph.js';

/** One trace's side of a difference. */
export interface TraceSide {
  readonly text: string;
  /** The user's line; that of the operator that reads it for an input or a constant. */
  readonly source: string | undefined;
}

/** Difference between two traces of one function. */
export interface Difference {
  readonly problem: string;
  readonly first: TraceSide;
  readonly second: TraceSide;
  /** Value to pass as an argument: the differing one, or the deciding one. */
  readonly subject?: string;
}

/** `add(%0, %3) {}: float32[2]`. */
export function describeNode(program: Program, id: NodeId): string {
  const node = program.node(id);
  if (node.kind === 'variable') return `input ${node.name}: ${typeToString(node.type)}`;
  if (node.kind === 'constant') {
    const { data, type } = node.data;
    const shown = Array.from(data.subarray(0, 8), String).join(', ');
    return `the constant ${typeToString(type)} [${shown}${data.length > 8 ? ', ...' : ''}]`;
  }
  if (node.kind === 'check') return `require ${conditionKey(node.requirement)}`;
  const operands = program
    .operands(id)
    .map(({ node: from, port }) => (port === 0 ? `%${from}` : `%${from}.${port}`));
  const attributes = attributesText(node.op.attributes, node.attributes);
  const types = node.types.map(typeToString).join(', ');
  return `${node.op.name}(${operands.join(', ')}) ${attributes}: ${types}`;
}

/** The line of a call; for inputs and constants, of the first call that reads them. */
export function sourceOf(program: Program, id: NodeId): string | undefined {
  const node = program.node(id);
  if (node.kind === 'call') return node.source;
  let reader: NodeId | undefined;
  program.graph.forEachSuccessor(id, (successor) => {
    if (reader === undefined || successor < reader) reader = successor;
  });
  return reader === undefined ? undefined : sourceOf(program, reader);
}

export function lastSource(program: Program): string | undefined {
  for (let id = program.graph.nodeCount - 1; id >= 0; id--) {
    const node = program.node(id as NodeId);
    if (node.kind === 'call' && node.source !== undefined) return node.source;
  }
  return undefined;
}

export function describeOutput(program: Program, index: number): TraceSide {
  const output = program.outputs[index];
  if (output === undefined) return { text: 'nothing more', source: lastSource(program) };
  const { node, port } = output.value;
  return {
    text: `${output.name} = ${port === 0 ? '' : `result ${port} of `}${describeNode(program, node)}`,
    source: sourceOf(program, node) ?? lastSource(program),
  };
}

export function describeOutside(outside: ExternalRef | undefined): string {
  if (outside === undefined) return 'nothing more';
  if (outside.kind === 'random') return `${outside.draws ?? 'some'} random draws`;
  const holder = describeHolder(outside.of);
  if (outside.kind !== 'gradient') return holder;
  const { attach } = outside;
  return `the gradient of ${holder}${attach === undefined ? '' : `, attached as '${attach}'`}`;
}

export function describeHolder(of: NDArray | number | { readonly name: string }): string {
  if (of instanceof NDArray) return `an array ${typeToString(of.type)} from outside`;
  return typeof of === 'number' ? `argument array ${of}` : `the number ${of.name}`;
}
