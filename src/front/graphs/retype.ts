import { type Dim, substituteDim } from '../../base/dim/index.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';

/**
 * The output types of a program for other input types: everything is inferred again. Symbols of the program's
 * own declarations keep their meaning where an input keeps them.
 */
export function inferOutputTypes(
  program: Program,
  types: ReadonlyMap<string, TensorType>,
): readonly TensorType[] {
  const into = new Program();
  const renamed = new Map<string, Dim>();
  const results: (readonly Value[])[] = [];
  const moved = (value: Value): Value => results[value.node][value.port];
  const rename = (from: TensorType, to: TensorType): void =>
    from.shape.forEach((dim, axis) => {
      if (typeof dim !== 'number') renamed.set(String(dim), to.shape[axis]);
    });
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'constant') results.push([into.constant(node.data)]);
    else if (node.kind === 'variable') {
      const type = types.get(node.name) ?? node.type;
      if (type.shape.length === node.type.shape.length) rename(node.type, type);
      results.push([into.variable(node.name, type)]);
    } else if (node.kind === 'check') results.push([]);
    else {
      const attributes = mapAttributeDims(node.op.attributes, node.attributes, (dim) =>
        substituteDim(dim, renamed),
      );
      const values = into.append(node.op, program.operands(id).map(moved), attributes, node);
      values.forEach(({ type }, i) => rename(node.types[i], type));
      results.push(values);
    }
  }
  return program.outputs.map(({ value }) => moved(value).type);
}
