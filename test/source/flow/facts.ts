import { buildFlowGraph } from '../../../src/source/flow/build.js';
import { BindingIndex, type FlowGraph } from '../../../src/source/flow/flow-graph.js';
import type { NodeId } from '../../../src/graph/graph.js';
import { loadParser, parse } from '../../../src/source/syntax/parse.js';
import { resolveScopes } from '../../../src/source/syntax/scopes.js';

await loadParser();

/** The flow graph of the first function of some code. */
export function flowOf(code: string): { flow: FlowGraph; index: BindingIndex } {
  const { file } = parse(code, 'test.ts');
  const scopes = resolveScopes(file.program);
  const node = file.program.body.find(({ type }) => type === 'FunctionDeclaration');
  if (node?.type !== 'FunctionDeclaration') throw new Error('the test has no function');
  const flow = buildFlowGraph(node, scopes);
  return { flow, index: BindingIndex.of(flow) };
}

/** The steps that read a variable, such as one whose name marks a place. */
export function readsOf({ graph }: FlowGraph, name: string): readonly NodeId[] {
  return [...graph.nodes()].filter((id) => {
    const { kind, binding } = graph.node(id);
    return kind === 'read' && binding?.name === name;
  });
}
