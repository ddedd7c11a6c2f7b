import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { elementCount, isStatic } from '../../base/dim/index.js';
import type { Program } from '../../ir/program.js';
import type { ConstantData } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { Evaluate } from '../rewrite/pass.js';
import { isExtents, knownExtents } from '../rewrite/measure.js';
import { complete, constantOf, knownElementsOf } from '../../ops/known/elements.js';
import { throughRegions, transform } from '../rewrite/transform.js';

export interface FoldOptions {
  /** Supplied by a floor that can run programs. */
  readonly evaluate: Evaluate;
  /** Limit of result elements: a program should not carry constants that are cheap to compute. Default 4096. */
  readonly limit?: number;
}

/**
 * Constant folding: a call whose operands are all constants and whose results are small becomes constants,
 * and so does an integer call with known elements although its operands are not constants, such as the size
 * of a static axis beside symbolic ones. Sizes held by an array are replaced everywhere by the known
 * elements, numbers or other sizes. Calls without operands stay, since they are compact already, and so do
 * random ones, whose operand stands for their numbers.
 */
export function foldConstants(program: Program, { evaluate, limit = 4096 }: FoldOptions): Program {
  return throughRegions(program, (inner, region) => {
    const introducers = new Set([...inner.decidedSizes.values()].map(({ node }) => node));
    return transform(
      inner,
      (site) => {
        const { node, operands, into } = site;
        if (node.kind !== 'call' || operands.length === 0 || node.regions.length > 0)
          return undefined;
        if (declarationOf(node.op).family === 'random') return undefined;
        if (isExtents(node)) return introducers.has(site.id) ? knownExtents(node, site) : undefined;
        const small = node.types.every(({ shape }) => {
          const size = elementCount(shape);
          return typeof size === 'number' && size <= limit;
        });
        if (!small) return undefined;
        const data: ConstantData[] = [];
        for (const operand of operands) {
          const made = into.node(operand.node);
          if (made.kind === 'constant') data.push(made.data);
        }
        // The value of a size is no constant, whatever array it is made like.
        const speaksOfSizes = symbolsOfAttributes(node.op.attributes, node.attributes).size > 0;
        if (data.length === operands.length && !speaksOfSizes)
          return evaluate(node, data)?.map((result) => into.constant(result));
        if (node.types.length > 1) return undefined;
        const [type] = node.types;
        const declaration = declarationOf(node.op);
        const { attributes } = node;
        const found = knownElementsOf(into).ofResult(type, { declaration, attributes, operands });
        const known = complete(type, found);
        return known?.every(isStatic) === true
          ? [into.constant(constantOf(type, known))]
          : undefined;
      },
      mayFold(inner) ? { region } : { region, wanted: () => false },
    );
  });
}

/** True when a call may be folded: by constants, or by symbolic sizes. */
function mayFold(program: Program): boolean {
  const isConstant = new Uint8Array(program.graph.nodeCount);
  for (const id of program.graph.nodes()) {
    const operands = program.operands(id);
    if (program.node(id).kind === 'constant') isConstant[id] = 1;
    if (operands.length === 0) continue;
    if (operands.every(({ node }) => isConstant[node] === 1)) return true;
    if (operands.some(({ type }) => !type.shape.every(isStatic))) return true;
  }
  return false;
}
