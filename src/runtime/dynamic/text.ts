import { symbolsOf } from '../../base/dim/index.js';
import { type CallNode, typeToString, type Value } from '../../ir/program.js';
import type { NodeId } from '../../graph/graph.js';
import type { Partition } from '../../passes/host/partition.js';
import type { Executable } from '../execution/executable.js';
import type { CompiledPart } from './executor.js';
import type { CompiledRegions } from './host-call.js';

/**
 * One line for each thing that happens when a partitioned program runs, in that order: islands with what
 * they read and give, the sizes that are bound behind them, and what the host runs.
 */
export function partitionLines({ program, stages }: Partition): readonly string[] {
  const nameOf = ({ node: id, port, type }: Value): string => {
    const node = program.node(id);
    const name =
      node.kind === 'variable'
        ? node.name
        : `${node.kind === 'call' ? node.op.name : 'constant'}#${id}${port === 0 ? '' : `.${port}`}`;
    return `${name}: ${typeToString(type)}`;
  };
  const list = (values: readonly Value[]): string => values.map(nameOf).join(', ') || 'nothing';
  const at = (id: NodeId): string => {
    const { source } = program.node(id) as CallNode;
    return source === undefined ? '' : `  // ${source}`;
  };
  return stages.flatMap(({ island, extents, calls }, number) => {
    const lines: string[] = [];
    if (island !== null) {
      const calls = [...island.program.graph.nodes()].filter(
        (id) => island.program.node(id).kind === 'call',
      );
      lines.push(
        `island ${number}: ${calls.length} calls; reads ${list(island.reads)}; gives ${list(island.gives)}` +
          (island.symbols.length === 0 ? '' : `; is told ${island.symbols.join(', ')}`),
      );
    }
    for (const id of extents) {
      const names = (program.node(id) as CallNode).types[0].shape.map(String).join(', ');
      lines.push(`size ${names}: the elements of ${list(program.operands(id))}${at(id)}`);
    }
    for (const id of calls) {
      const call = program.node(id) as CallNode;
      const bound = new Set(call.types.flatMap(({ shape }) => shape.flatMap((dim) => [...symbolsOf(dim)]))); // prettier-ignore
      const brings = [...bound].filter((name) => program.decidedSizes.get(name)?.node === id);
      lines.push(
        `host ${call.op.name}#${id}: reads ${list(program.operands(id))}; gives ${list(program.results(id))}` +
          (brings.length === 0 ? '' : `; decides ${brings.join(', ')}`) +
          at(id),
      );
    }
    return lines;
  });
}

/** A partitioned program for people: what runs when, then the parts in full. */
export function dynamicText(
  partition: Partition,
  parts: readonly CompiledPart[],
  regions: CompiledRegions,
): string {
  const lines = [...partitionLines(partition)];
  for (const { name, executor } of parts) lines.push(`${name}:`, indented(executor));
  for (const region of regions.compiled) lines.push('region:', indented(region));
  return lines.join('\n');
}

function indented(executable: Executable): string {
  return executable
    .toString()
    .split('\n')
    .map((line) => (line === '' ? line : `  ${line}`))
    .join('\n');
}
