import { type DType, isDType, isFloat } from '../../base/dtype.js';
import { exactBits } from '../../base/numbers.js';
import { type CallNode, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { abs, add, cast, equal, floor, less, logicalAnd, mul, randomUniform, where } from '../../ops/index.js'; // prettier-ignore
import { decompose } from './decompose.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { inline } from '../rewrite/inline.js';

/**
 * The program with the same inputs, computed in float64. With a `seed` all results have random relative
 * errors, a few times the rounding of the original dtype: their effect on the outputs bounds the effect of
 * rounding (after Parker, "Monte Carlo arithmetic", 1997). Random draws stay the same.
 */
export function inFloat64(program: Program, seed: number | null): Program {
  const noise = seed === null ? null : new Noise(seed);
  return widened(decompose(inline(program)), noise, false);
}

function widened(program: Program, noise: Noise | null, isRegion: boolean): Program {
  return Program.from(program, (into) => {
    const results: (readonly Value[])[] = [];
    /** Values that have been perturbed already. */
    const perturbed = new Set<Value>();
    const moved = (value: Value): Value => results[value.node][value.port];
    const off = (value: Value, dtype: DType): Value => {
      if (noise === null || value.type.dtype !== 'float64' || perturbed.has(value)) return value;
      const found = noise.on(value, dtype);
      perturbed.add(found);
      return found;
    };
    for (const id of program.graph.nodes()) {
      const node = program.node(id);
      if (node.kind === 'variable') {
        const value = into.variable(node.name, isRegion ? wideType(node.type) : node.type);
        results.push([wide(value)]);
        continue;
      }
      if (node.kind === 'constant') {
        results.push([wide(into.constant(node.data))]);
        continue;
      }
      if (node.kind === 'check') {
        into.require(node.requirement);
        results.push([]);
        continue;
      }
      const narrow = program.operands(id);
      const kind = kindOf(node);
      const operands = narrow.map((operand) => {
        const value = moved(operand);
        if (kind === 'adds') return off(value, operand.type.dtype);
        return kind === 'rounds' && noise !== null && value.type.dtype === 'float64'
          ? noise.on(value, operand.type.dtype, false)
          : value;
      });
      const computed = into.withSource(node.source, () => callOf(node, narrow, operands, into, (region) => widened(region, noise, true))); // prettier-ignore
      results.push(
        computed.map((value, port) =>
          kind === 'moves' ? value : off(value, node.types[port].dtype),
        ),
      );
    }
    into.setOutputs(program.outputs.map(({ name, value }) => ({ name, value: moved(value) })));
  });
}

function callOf(
  node: CallNode,
  narrow: readonly Value[],
  operands: readonly Value[],
  into: Program,
  region: (region: Program) => Program,
): readonly Value[] {
  const { op, attributes, types, decides, source } = node;
  const states = Object.values(attributes).some((value) => isDType(value) && isFloat(value));
  // Between floats there is nothing left to convert.
  if (op === cast.declaration && states && isFloat(narrow[0].type.dtype)) return operands;
  const regions = node.regions.map(region);
  const found = states ? types : types.map(wideType);
  return into.appendTyped(op, operands, attributes, found, { regions, decides, source }).map(wide);
}

/** Class of a call: sums numbers, rounds intermediate results, computes each from few, or only moves them. */
function kindOf(call: CallNode): 'adds' | 'rounds' | 'computes' | 'moves' {
  const { lowering, family } = declarationOf(call.op);
  if (lowering.kind === 'kernel' && family === 'normalization') return 'rounds';
  if (lowering.kind === 'reduce' || lowering.kind === 'kernel') return 'adds';
  return lowering.kind === 'point' && lowering.elementwise ? 'computes' : 'moves';
}

function wideType({ dtype, shape }: TensorType): TensorType {
  return { dtype: isFloat(dtype) ? 'float64' : dtype, shape };
}

function wide(value: Value): Value {
  const { dtype } = value.type;
  return isFloat(dtype) && dtype !== 'float64' ? cast(value, 'float64') : value;
}

/** Size of the random errors in roundings: more than a blocked sum makes, and an operator within its margin. */
const roundings = 16;
/** Narrow floats are only a storage format: computed in a wider one and rounded once. */
const narrowRoundings = 2;

/** A source of random errors, different each time. */
class Noise {
  readonly #seed: number;
  #draws = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /**
   * By default whole numbers stay as far as they are exact: they count, label and select, and their sums are
   * exact, too.
   */
  on(value: Value, dtype: DType, keepsWhole = true): Value {
    const bits = exactBits(dtype);
    const size = 2 ** -bits * (bits < exactBits('float32') ? narrowRoundings : roundings);
    const state = value.program.constant({
      type: { dtype: 'int64', shape: [2] },
      data: BigInt64Array.of(BigInt(this.#seed), BigInt(this.#draws++)),
    });
    const error = randomUniform(state, value.type.shape, { low: -size, high: size, dtype: 'float64' }); // prettier-ignore
    if (!keepsWhole) return mul(value, add(error, 1));
    const isExact = logicalAnd(equal(floor(value), value), less(abs(value), 2 ** bits));
    return mul(value, add(where(isExact, 0, error), 1));
  }
}
