import { encodeAttributes } from '../../../src/base/attributes/schema.js';
import type { Program, Value } from '../../../src/ir/program.js';
import { wordsOf } from '../../../src/ir/formats/constants.js';

/** The only output of a program as one nested expression: `add(x0, neg(x1))`. */
export function expressionOf(program: Program): string {
  const show = (value: Value): string => {
    const node = program.node(value.node);
    if (node.kind === 'variable') return node.name;
    if (node.kind === 'constant') {
      const words = wordsOf(node.data)!.join(', ');
      return node.data.type.shape.length === 0 ? words : `[${words}]`;
    }
    if (node.kind === 'check') throw new Error('a check has no value');
    const operands = program.operands(value.node).map(show);
    const attributes = Object.values(encodeAttributes(node.op.attributes, node.attributes)).map(
      (attribute) => JSON.stringify(attribute).replaceAll('"', ''),
    );
    return `${node.op.name}(${[...operands, ...attributes].join(', ')})`;
  };
  return show(program.outputs[0].value);
}
