import { sameDim } from '../base/dim/index.js';
import { attributesKey } from '../base/attributes/key.js';
import type { NodeId } from '../graph/graph.js';
import type { CallNode, Program, Value } from './program.js';
import { type ConstantData, sameType } from './types.js';
import { conditionKey } from './requirement.js';
import { bitsOf, sameBits } from './bits.js';

/** Structural equality of programs. The names of inputs and outputs do not count; those of dimensions do. */
export function sameProgram(a: Program, b: Program): boolean {
  if (a === b) return true;
  if (sizeKey(a) !== sizeKey(b)) return false;
  if (!a.sizes.every((size, i) => sameDim(size, b.sizes[i]))) return false;
  const isSameEnd = a.outputs.every(({ value: { node, port } }, k) => {
    const other = b.outputs[k].value;
    return node === other.node && port === other.port;
  });
  if (!isSameEnd || a.inputs.some(({ node }, k) => node !== b.inputs[k].node)) return false;
  for (const id of a.graph.nodes()) if (!sameNode(a, b, id)) return false;
  return true;
}

/** Cheap key that equal programs have in common. */
function sizeKey({ graph, inputs, outputs, sizes }: Program): string {
  const { nodeCount, edgeCount } = graph;
  return `${nodeCount},${edgeCount},${inputs.length},${outputs.length},${sizes.length}`;
}

/** Programs of which none equals another. */
export class DistinctPrograms {
  readonly #known: WeakSet<Program> = new WeakSet();
  readonly #bySize: Map<string, Program[]> = new Map();

  /** The first program that equals this one. */
  firstLike(program: Program): Program {
    if (this.#known.has(program)) return program;
    const key = sizeKey(program);
    let alike = this.#bySize.get(key);
    if (alike === undefined) this.#bySize.set(key, (alike = []));
    const found = alike.find((other) => sameProgram(other, program));
    if (found !== undefined) return found;
    alike.push(program);
    this.#known.add(program);
    return program;
  }
}

function sameNode(a: Program, b: Program, id: NodeId): boolean {
  const [one, other] = [a.node(id), b.node(id)];
  if (one.kind === 'variable') return other.kind === 'variable' && sameType(one.type, other.type);
  if (one.kind === 'constant') {
    return other.kind === 'constant' && sameConstant(one.data, other.data);
  }
  if (one.kind === 'check') {
    return (
      other.kind === 'check' && conditionKey(one.requirement) === conditionKey(other.requirement)
    );
  }
  if (other.kind !== 'call' || !sameCall(one, other)) return false;
  const [read, otherRead] = [a.operands(id), b.operands(id)];
  return (
    read.length === otherRead.length &&
    read.every(({ node, port }, k) => node === otherRead[k].node && port === otherRead[k].port)
  );
}

function sameConstant(a: ConstantData, b: ConstantData): boolean {
  if (a === b) return true;
  return sameType(a.type, b.type) && sameBits(bitsOf(a.data), bitsOf(b.data));
}

function sameCall(a: CallNode, b: CallNode): boolean {
  return (
    a.types.length === b.types.length &&
    a.types.every((type, k) => sameType(type, b.types[k])) &&
    sameParts(a, b)
  );
}

/** True for calls that do the same to equal operands. */
export function sameParts(a: CallNode, b: CallNode): boolean {
  return (
    a.op === b.op &&
    a.regions.length === b.regions.length &&
    a.regions.every((region, k) => sameProgram(region, b.regions[k])) &&
    attributesKey(a.op, a.attributes) === attributesKey(b.op, b.attributes)
  );
}

/** True for values of one program that the same calls compute from the same inputs; sizes that they decide may differ. */
export function sameValue(program: Program, a: Value, b: Value): boolean {
  const pairs: (readonly [Value, Value])[] = [];
  const seen = new Set<string>();
  const note = (one: Value, other: Value): void => {
    const key = `${one.node}.${one.port}=${other.node}.${other.port}`;
    if (one === other || seen.has(key)) return;
    seen.add(key);
    pairs.push([one, other]);
  };
  note(a, b);
  // The list grows while it is walked.
  for (const [one, other] of pairs) {
    if (one.port !== other.port) return false;
    const [node, otherNode] = [program.node(one.node), program.node(other.node)];
    if (node.kind === 'constant' && otherNode.kind === 'constant') {
      if (!sameConstant(node.data, otherNode.data)) return false;
    } else if (node.kind === 'call' && otherNode.kind === 'call') {
      if (!sameParts(node, otherNode)) return false;
      const [read, otherRead] = [program.operands(one.node), program.operands(other.node)];
      if (read.length !== otherRead.length) return false;
      read.forEach((value, k) => note(value, otherRead[k]));
    } else return false;
  }
  return true;
}
