import { type DType, isNarrowFloat } from '../../../base/dtype.js';
import type { HloValue } from '../language/types.js';
import type { HloAttributes } from '../language/builder.js';
import type { HloWriter } from '../language/writer.js';

/** Asks for products of float32 in float32: by default devices round their operands to 16 bits or so. */
export function exactly(dtype: DType): HloAttributes {
  if (dtype !== 'float32') return {};
  const highest = '#stablehlo<precision HIGHEST>';
  return { precision_config: `[${highest}, ${highest}]` };
}

/** Sums products in the dtype that Kaon sums them in: 16-bit floats in float32, narrow integers in int32. */
export function inWideDType(
  hlo: HloWriter,
  dtype: DType,
  operands: readonly HloValue[],
  build: (operands: readonly HloValue[], wide: DType) => HloValue,
): HloValue {
  if (isNarrowFloat(dtype)) return hlo.convert(build(operands, 'float32'), dtype);
  const isNarrow = dtype === 'int8' || dtype === 'uint8' || dtype === 'bool';
  if (!isNarrow) return build(operands, dtype);
  const sums = build(operands.map((x) => hlo.convert(x, 'int32')), 'int32'); // prettier-ignore
  if (dtype !== 'bool') return hlo.convert(sums, dtype);
  return hlo.compare('NE', sums, hlo.splat('int32', 0, sums.shape));
}
