import type { Program, Value } from '../../ir/program.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { cast, sum } from '../../ops/index.js';
import { countTrue } from '../../ops/reduction/lowered.js';
import { isExtents } from '../rewrite/measure.js';
import { throughRegions, transform } from '../rewrite/transform.js';
import { eliminateDeadCode } from '../rewrite/dce.js';

/**
 * Positions of int64 that are int32 converted stay int32 where they are only moved and used, and counts of truth values
 * are made as int32: for devices that hold no int64. What a program gives is converted last.
 */
export function narrowPositions(program: Program): Program {
  const narrowed = throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        if (node.op === sum.declaration && operands[0].type.dtype === 'bool') {
          const [count] = into.append(countTrue.declaration, operands, node.attributes);
          return [cast<Value>(count, 'int64')];
        }
        const narrow = operands.map(widenedFrom);
        if (narrow.every((value) => value === null)) return undefined;
        const { family, check } = declarationOf(node.op);
        if (node.op === cast.declaration || isExtents(node))
          return into.appendNode(node, [narrow[0]!]);
        const position = check === undefined ? null : narrow[check.operand];
        if (position !== null)
          return into.appendNode(node, operands.with(check!.operand, position));
        const [{ dtype, shape }, ...others] = node.types;
        const isMoved = family === 'movement' && others.length === 0 && dtype === 'int64';
        if (!isMoved || narrow.some((value) => value === null)) return undefined;
        const { attributes, source } = node;
        const types = [{ dtype: 'int32', shape }] as const;
        const moved = into.appendTyped(node.op, narrow as readonly Value[], attributes, types, { source }); // prettier-ignore
        return [cast<Value>(moved[0], 'int64')];
      },
      { region },
    ),
  );
  return narrowed === program ? program : eliminateDeadCode(narrowed);
}

/** The int32 that a value of int64 is converted from; null for all others. */
function widenedFrom(value: Value): Value | null {
  const { program, node: id, type } = value;
  const node = program.node(id);
  if (type.dtype !== 'int64' || node.kind !== 'call' || node.op !== cast.declaration) return null;
  const [narrow] = program.operands(id);
  return narrow.type.dtype === 'int32' ? narrow : null;
}
