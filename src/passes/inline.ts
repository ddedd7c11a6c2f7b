import type { Dim } from '../base/dim.js';
import { bindTypes } from '../ir/bind.js';
import type { Program, Value, VariableNode } from '../ir/program.js';
import { declarationOf } from './facets.js';
import { instantiate, throughRegions, transform } from './transform.js';

/** Replaces every call that only runs its first region by the nodes of that region. */
export function inline(program: Program): Program {
  return throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call' || declarationOf(node.op).lowering.kind !== 'inline')
          return undefined;
        const [body] = node.regions;
        const dims: Map<string, Dim> = bindTypes(
          namedInputs(body),
          operands.map(({ type }) => type),
          node.op.name,
        );
        return instantiate(body, into, operands, dims);
      },
      { region },
    ),
  );
}

/** The inputs of a program as declared: names and types. */
export function namedInputs(
  program: Program,
): readonly { readonly name: string; readonly type: Value['type'] }[] {
  return program.inputs.map(({ node, type }) => ({
    name: (program.node(node) as VariableNode).name,
    type,
  }));
}
