import type { NodeId } from '../../../graph/graph.js';
import type { CallNode, Value } from '../../../ir/program.js';
import { canCompile, controlOf } from '../../lower/main/control.js';

/**
 * True for a loop or branch that the host runs, with its regions as programs of their own: one with sizes
 * that are unknown when it starts. `own` are the symbols of the program that its data decides.
 */
export function isHostRun(call: CallNode, id: NodeId, own: ReadonlyMap<string, Value>): boolean {
  return controlOf(call) !== null && !canCompile(call, (symbol) => own.get(symbol)?.node !== id);
}
