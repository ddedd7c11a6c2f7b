import type { CallNode, Program } from './program.js';

/** The calls of a program, those in regions behind the call that owns them. */
export function allCalls(program: Program): readonly CallNode[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node, ...node.regions.flatMap(allCalls)] : [];
  });
}

/** True when a size is known only when data has been computed. */
export function decidesSizes(program: Program): boolean {
  return allCalls(program).some(({ decides }) => decides.length > 0);
}
