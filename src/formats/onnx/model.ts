import { UnsupportedError } from '../../base/errors.js';
import { damagedFile, illFormedGraph, importOp, quotedName } from './place.js';
import { protobufFor } from './proto/library.js';
import type { GraphProto, ModelProto, NodeProto } from './proto/onnx_pb.js';

/** The newest supported opset of ONNX's own domain. */
const newestOpset = 28;

/**
 * Reads a model's bytes.
 * @throws FormatError for anything that is not a model.
 */
export function readModel(bytes: Uint8Array): ModelProto {
  const { fromBinary, schema } = protobufFor(importOp);
  if (!(bytes instanceof Uint8Array)) {
    throw damagedFile('this is not a file', 'the bytes of a model as a Uint8Array');
  }
  let model: ModelProto;
  try {
    model = fromBinary(schema.ModelProtoSchema, bytes, { readUnknownFields: false });
  } catch (cause) {
    throw damagedFile('this is not an ONNX model', undefined, String((cause as Error).message));
  }
  if (model.graph === undefined) throw damagedFile('this is not an ONNX model: it has no graph');
  return model;
}

/** The opset versions that a model or function imports, by domain. */
export function opsetsOf(
  imports: readonly { readonly domain: string; readonly version: bigint }[],
): ReadonlyMap<string, number> {
  const opsets = new Map<string, number>();
  for (const { domain, version } of imports) {
    const name = domain === 'ai.onnx' ? '' : domain;
    if (opsets.has(name) && opsets.get(name) !== Number(version)) {
      throw illFormedGraph(
        `two versions of the operators of domain ${quotedName(name)} are imported`,
      );
    }
    if (name === '' && (version < 1n || version > BigInt(newestOpset))) {
      throw new UnsupportedError(`the model uses version ${version} of ONNX's operators`, {
        op: importOp,
        expected: `7 to ${newestOpset}`,
        actual: String(version),
        advice: 'convert it to another version with the exporter it comes from',
      });
    }
    opsets.set(name, Number(version));
  }
  return opsets;
}

/** Name of a node in messages. */
export function nodePlace(node: NodeProto, index: number): string {
  return node.name === '' ? `node ${index}` : `node ${quotedName(node.name)}`;
}

/** Refuses nodes that define a name twice or use one before its definition. */
export function checkNodes(
  nodes: readonly NodeProto[],
  given: Iterable<string>,
  outputs: readonly string[],
  isKnownOutside: (name: string) => boolean,
  where: string,
): void {
  const defined = new Set<string>(given);
  const later = new Set(nodes.flatMap(({ output }) => output));
  nodes.forEach((node, index) => {
    for (const name of node.input) {
      if (name === '' || defined.has(name)) continue;
      if (later.has(name)) {
        throw illFormedGraph(
          `${nodePlace(node, index)} of ${where} reads ${quotedName(name)} before it is computed`,
          'nodes in the order of a computation, without cycles',
        );
      }
      if (!isKnownOutside(name)) {
        throw illFormedGraph(`${nodePlace(node, index)} of ${where} reads ${quotedName(name)}, which nothing defines`); // prettier-ignore
      }
    }
    for (const name of node.output) {
      if (name === '') continue;
      if (defined.has(name))
        throw illFormedGraph(`${quotedName(name)} is defined twice in ${where}`);
      defined.add(name);
    }
  });
  for (const name of outputs) {
    if (!defined.has(name) && !isKnownOutside(name)) {
      throw illFormedGraph(`output ${quotedName(name)} of ${where} is never computed`);
    }
  }
}

/** Refuses a graph with undefined or repeated names. */
export function checkGraphProto(
  graph: GraphProto,
  isKnownOutside: (name: string) => boolean,
  where: string,
): void {
  const inputs = new Set<string>();
  for (const { name } of graph.input) {
    if (name === '' || inputs.has(name)) throw illFormedGraph(`two inputs of ${where} are called ${quotedName(name)}`); // prettier-ignore
    inputs.add(name);
  }
  const stored = new Set<string>();
  const names = [
    ...graph.initializer.map(({ name }) => name),
    ...graph.sparseInitializer.map(({ values }) => values?.name ?? ''),
  ];
  for (const name of names) {
    if (name === '' || stored.has(name)) throw illFormedGraph(`two initializers of ${where} are called ${quotedName(name)}`); // prettier-ignore
    stored.add(name);
  }
  checkNodes(
    graph.node,
    [...inputs, ...stored],
    graph.output.map(({ name }) => name),
    isKnownOutside,
    where,
  );
}

/** The free names of a graph and its sub-graphs, which they read from outside. */
export function freeNames(graph: GraphProto, free: Set<string> = new Set()): ReadonlySet<string> {
  const own = new Set([
    ...graph.input.map(({ name }) => name),
    ...graph.initializer.map(({ name }) => name),
    ...graph.sparseInitializer.map(({ values }) => values?.name ?? ''),
    ...graph.node.flatMap(({ output }) => output),
  ]);
  const add = (name: string): void => {
    if (name !== '' && !own.has(name)) free.add(name);
  };
  for (const { input, attribute } of graph.node) {
    input.forEach(add);
    for (const { g, graphs } of attribute) {
      for (const inner of g === undefined ? graphs : [g, ...graphs]) freeNames(inner).forEach(add);
    }
  }
  for (const { name } of graph.output) add(name);
  return free;
}
