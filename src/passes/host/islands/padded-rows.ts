import { elementCount, isStatic } from '../../../base/dim/index.js';
import { bytesOf } from '../../../base/dtype.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import { paddingBytes } from '../../../ops/control/body.js';
import { whileLoop } from '../../../ops/control/while-loop.js';
import { extents } from '../../../ops/dynamic/extents.js';
import { reshape, slice } from '../../../ops/index.js';
import { canCompile } from '../../lower/main/control.js';
import { throughRegions, transform } from '../../rewrite/transform.js';

/**
 * Loops whose number of rows the data decides, as loops that have room for all rows that there may be, and a number of
 * them that are taken: for devices, which then run the loop by themselves and keep the number. Where that room is large,
 * or not bounded, the host runs the loop and makes room as it goes on.
 */
export function padRows(program: Program): Program {
  return throughRegions(program, (inner, region) =>
    transform(
      inner,
      ({ node, operands, into }) => {
        if (node.kind !== 'call') return undefined;
        const { attributes, regions, decides, types } = node;
        const padded = into.append(whileLoop.declaration, operands, { ...attributes, padded: true }, { regions }); // prettier-ignore
        const rows = rowsOf(node);
        const [{ size, most }] = decides;
        const count = reshape<Value>(padded[padded.length - 1], [1]);
        into.appendTyped(extents.declaration, [count], { most: [most] }, [{ dtype: 'bool', shape: [size] }], { decides }); // prettier-ignore
        return padded.map((value, k) => (k < rows ? slice<Value>(value, [0, types[k].shape[0]]) : value)); // prettier-ignore
      },
      { region, wanted: isWorthPadding },
    ),
  );
}

/** The number of results that have rows. */
function rowsOf({ regions, attributes }: CallNode): number {
  return regions[1].outputs.length - Number(attributes['states']);
}

function isWorthPadding(call: CallNode): boolean {
  const { op, attributes, types, decides } = call;
  if (op !== whileLoop.declaration || attributes['padded'] === true) return false;
  const { limit } = attributes;
  // Rows whose own sizes the iterations decide are compared by the host.
  if (typeof limit !== 'number' || rowsOf(call) === 0 || decides.length !== 1) return false;
  let bytes = 0;
  for (const { dtype, shape } of types.slice(0, rowsOf(call))) {
    const length = elementCount(shape.slice(1));
    if (!isStatic(length)) return false;
    bytes += bytesOf(dtype) * length;
  }
  return bytes * limit <= paddingBytes && canCompile(call, () => true);
}
