import { TraceError } from '../base/errors.js';
import { encodeAttributes } from '../base/schema.js';
import { structureToString } from '../base/tree.js';
import type { NodeId } from '../graph/graph.js';
import { type Program, type ProgramNode, typeToString } from '../ir/program.js';
import type { Outside } from './graph.js';
import type { Trace } from './trace.js';

/** What two traces of one function disagree in. */
interface Difference {
  readonly problem: string;
  readonly first: string;
  readonly second: string;
}

/**
 * Two traces of one call must be the same: what differs depends on something that is not an argument,
 * and would have been frozen into the graph.
 *
 * @throws TraceError that shows both sides, with their lines.
 */
export function verifyTrace(first: Trace, second: Trace): void {
  const difference =
    differentPrograms(first.parts.program, second.parts.program) ??
    differentOutsides('reads', first.parts.reads, second.parts.reads) ??
    differentOutsides('writes', first.parts.writes, second.parts.writes) ??
    differentText(
      'the structure of the result',
      structureToString(first.outputs),
      structureToString(second.outputs),
    );
  if (difference === null) return;
  throw new TraceError(`captured code changed between two calls: ${difference.problem}`, {
    op: 'hybridize',
    expected: difference.first,
    actual: difference.second,
    advice:
      'pass what changes as an argument, as an array if its value matters; { verify: "off" } keeps the first capture',
  });
}

function differentPrograms(first: Program, second: Program): Difference | null {
  const count = Math.min(first.graph.nodeCount, second.graph.nodeCount);
  for (let id = 0 as NodeId; id < count; id++) {
    const [a, b] = [first.node(id), second.node(id)];
    const texts = [describeNode(first, id), describeNode(second, id)] as const;
    if (texts[0] !== texts[1] || !sameData(a, b)) {
      return {
        problem: 'another operator',
        first: withLine(a, texts[0]),
        second: withLine(b, texts[1]),
      };
    }
    if (a.kind !== 'call' || b.kind !== 'call') continue;
    for (const [i, region] of a.regions.entries()) {
      const inside = differentPrograms(region, b.regions[i]);
      if (inside !== null) return inside;
    }
  }
  if (first.graph.nodeCount !== second.graph.nodeCount) {
    const longer = first.graph.nodeCount > count ? first : second;
    const more = withLine(longer.node(count as NodeId), describeNode(longer, count as NodeId));
    const [a, b] = longer === first ? [more, 'nothing'] : ['nothing', more];
    return { problem: 'another number of operators', first: a, second: b };
  }
  const outputs = ({ outputs }: Program): string =>
    outputs.map(({ name, value }) => `${name} = ${value.node}.${value.port}`).join(', ');
  return differentText('the outputs', outputs(first), outputs(second));
}

/** A node without its line: `add(%0.0, %3.0) {}: float32[2]`. */
function describeNode(program: Program, id: NodeId): string {
  const node = program.node(id);
  if (node.kind === 'variable') return `input ${node.name}: ${typeToString(node.type)}`;
  if (node.kind === 'constant') return `constant ${typeToString(node.data.type)}`;
  const operands = program.operands(id).map((value) => `%${value.node}.${value.port}`);
  const attributes = JSON.stringify(encodeAttributes(node.op.attributes, node.attributes));
  const types = node.types.map(typeToString).join(', ');
  return `${node.op.name}(${operands.join(', ')}) ${attributes}: ${types} [${node.regions.length}]`;
}

function sameData(a: ProgramNode, b: ProgramNode): boolean {
  if (a.kind !== 'constant' || b.kind !== 'constant') return true;
  const [x, y] = [a.data.data, b.data.data];
  return (
    x.length === y.length && x.every((element: number | bigint, i) => Object.is(element, y[i]))
  );
}

function withLine(node: ProgramNode, text: string): string {
  if (node.kind === 'call') return `${text} at ${node.source ?? 'an unknown line'}`;
  if (node.kind !== 'constant') return text;
  return `${text} [${Array.from(node.data.data as ArrayLike<number | bigint>)
    .slice(0, 8)
    .join(', ')}]`;
}

function differentOutsides(
  what: string,
  first: readonly Outside[],
  second: readonly Outside[],
): Difference | null {
  const at = first.findIndex((outside, i) => !sameOutside(outside, second[i]));
  if (at < 0 && first.length === second.length) return null;
  return {
    problem: `it ${what} another array`,
    first: at < 0 ? `${first.length} arrays` : describeOutside(first[at]),
    second: at < 0 ? `${second.length} arrays` : describeOutside(second[at]),
  };
}

function sameOutside(a: Outside, b: Outside | undefined): boolean {
  if (b === undefined || a.kind !== b.kind) return false;
  if (a.kind === 'random') return a.draws === (b as typeof a).draws;
  return a.of === (b as typeof a).of;
}

function describeOutside(outside: Outside | undefined): string {
  if (outside === undefined) return 'nothing';
  if (outside.kind === 'random') return `${outside.draws} random draws`;
  if (outside.kind === 'host') return `the number ${outside.of.name}`;
  const { of } = outside;
  const array = typeof of === 'number' ? `argument ${of}` : `an array ${typeToString(of.type)}`;
  return outside.kind === 'array' ? array : `the gradient of ${array}`;
}

function differentText(problem: string, first: string, second: string): Difference | null {
  return first === second ? null : { problem, first, second };
}
