import type { Buffer, Kernel } from '../../loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../loop/language/visit.js';
import type { ShaderLayout } from './layout.js';

/** The barrier of a kernel's workgroups, for the memory by which its invocations tell each other something. */
export function groupBarrier(kernel: Kernel, { parameters }: ShaderLayout): string {
  const bindingOf = new Map<Buffer, number>();
  kernel.params.forEach((param, k) => {
    const place = parameters[k];
    if (param.kind === 'buffer' && place.kind === 'elements') bindingOf.set(param, place.binding);
  });
  const stored = new Set<number>();
  const loaded = new Set<number>();
  const note = (into: Set<number>, buffer: Buffer): void => {
    const binding = bindingOf.get(buffer);
    if (binding !== undefined) into.add(binding);
  };
  visitStmts(kernel.body, (stmt) => {
    if (stmt.kind === 'store') note(stored, stmt.buffer);
    visitExprs(ownExprs(stmt), (expr) => {
      if (expr.kind === 'load') note(loaded, expr.buffer);
    });
  });
  const isShared = [...stored].some((binding) => loaded.has(binding));
  return isShared ? 'storageBarrier(); workgroupBarrier();' : 'workgroupBarrier();';
}
