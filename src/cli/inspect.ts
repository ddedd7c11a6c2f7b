import type { DimBindings } from '../base/dim/index.js';
import { bytesOf } from '../base/dtype.js';
import { printable } from '../base/escape.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';
import { namedInputs, type Program, typeToString } from '../ir/program.js';
import type { OnnxGraph } from '../onnx.js';
import { byteText, memorySummary } from './plan.js';

/** Description of a graph: signature, operators, parameters, memory for some sizes. */
export function inspect(graph: StaticGraph, sizes: DimBindings): string {
  const { program, parts } = graph;
  const types = new Map(namedInputs(program).map(({ name, type }) => [name, type]));
  const outputs = program.outputs.slice(0, graph.outputNames.length);
  const parameters = [...graph.parameters].map(([name, array]) => ({
    name,
    type: typeToString(array),
    bytes: array.size * bytesOf(array.dtype),
  }));
  const weight = parameters.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${printable(line)}`), ''];
  return [
    ...rows('model', modelLines(graph)),
    ...rows('inputs', graph.inputNames.map((name) => `${name}: ${typeToString(types.get(name)!)}`)),
    ...rows('outputs', outputs.map(({ name, value }) => `${name}: ${typeToString(value.type)}`)),
    ...rows(
      `parameters: ${parameters.length}, ${byteText(weight)}`,
      parameters.map(({ name, type, bytes }) => `${name}: ${type}, ${byteText(bytes)}`),
    ),
    ...rows('operators, those of loops and branches among them', histogram(program)),
    ...rows('memory', memorySummary(graph, sizes)),
    parts.writes.length === 0
      ? 'It changes nothing: two runs on the same inputs give the same.'
      : `A run changes ${parts.writes.length} arrays of its state.`,
    '',
  ].join('\n'); // prettier-ignore
}

/** Lines about the file of an ONNX model. */
function modelLines(graph: StaticGraph | OnnxGraph): readonly string[] {
  if (!('model' in graph)) return [];
  const { irVersion, opsets, producer, producerVersion, description } = graph.model;
  const versions = [...opsets].map(([domain, version]) => `opset ${version}${domain === '' ? '' : ` of ${domain}`}`); // prettier-ignore
  return [
    `ONNX, ${[`version ${irVersion} of the format`, ...versions].join(', ')}`,
    ...(producer === '' ? [] : [`made by ${[producer, producerVersion].join(' ').trim()}`]),
    ...(description === '' ? [] : [description]),
  ];
}

function histogram(program: Program): readonly string[] {
  const counts = new Map<string, number>();
  const count = (each: Program): void => {
    for (const [, node] of each.calls()) {
      counts.set(node.op.name, (counts.get(node.op.name) ?? 0) + 1);
      node.regions.forEach(count);
    }
  };
  count(program);
  return [...counts].sort(([, a], [, b]) => b - a).map(([name, times]) => `${times} ${name}`);
}
