import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program } from '../../ir/program.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { throughRegions, transform } from '../rewrite/transform.js';
import { decompose } from './decompose.js';

/** Expands calls as a device wants them, in regions too; of all calls those that `isWanted` accepts. */
export function expandFor(
  program: Program,
  { expansions, tuning }: DeviceTarget,
  isWanted: (program: Program, call: CallNode, id: NodeId) => boolean = () => true,
): Program {
  if (expansions === undefined) return program;
  const expanded = throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        const { attributes, types: outputTypes } = node;
        const context = { attributes, inputs: operands, outputTypes };
        return into.assuming(() => expansions.get(node.op)!(context, tuning)) ?? undefined;
      },
      { region, wanted: (call, id) => expansions.has(call.op) && isWanted(inner, call, id) },
    ),
  );
  // What an expansion looks through may have lost its last use.
  return expanded === program ? program : eliminateDeadCode(decompose(expanded));
}
