import * as attr from '../../../base/attributes/attribute.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import { ceilDivDim } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type { Tensor, TensorType } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import {
  type Declaration,
  type Input,
  operator,
  type OperatorFunction,
} from '../../../ops/declare/declare.js';
import { type Access, computeScalar, type KernelContext } from '../../../ops/declare/lowering.js';
import type { Scan, ScanContext } from '../../../ops/declare/scan.js';
import { overAll } from '../../../ops/loops.js';
import {
  declareAll,
  declaredScan,
  scanLocals,
  scanLoops,
  scanPosition,
} from '../../../ops/reduction/scans/scan.js';
import { scanOfBlocks } from './scan.js';

/*
 * The two dispatches of a scan in blocks: the states of the blocks, and the results. They are calls that only the
 * expansion of a scan makes: no operators of the library, so that they have no samples.
 */

/** Attributes of the scan, and those of its blocks; all operands have the shape of the result. */
interface StepAttributes extends Attributes {
  readonly blockLength: number;
  readonly resultDType: DType;
}

type Step<R> = <T extends Tensor>(inputs: readonly Input<T>[], attributes: StepAttributes) => R extends 'one' ? T : readonly T[]; // prettier-ignore

/** The operators of the two dispatches of a scan. */
export interface ScanSteps {
  readonly totals: OperatorFunction<Step<'list'>>;
  /** Takes the operands of the scan, and behind them the totals. */
  readonly results: OperatorFunction<Step<'one'>>;
}

/** The two dispatches of an operator that is declared as a scan of so many operands. */
export function scanSteps(declaration: Declaration, operands: number): ScanSteps {
  const scanOf = declaredScan(declaration);
  if (scanOf === null) throw new InternalError(`${declaration.name} is not a scan`);
  const common = {
    family: declaration.family,
    attributes: { ...declaration.attributes, blockLength: attr.int, resultDType: attr.dtype },
    operands: 'keep',
    precision: 'own',
    call: (inputs: readonly Input[], attributes: StepAttributes) => ({ inputs, attributes }),
    gradient: 'none',
    samples: [],
  } as const;
  const contextOf = (context: KernelContext<StepAttributes>): ScanContext<Attributes> => {
    const inputs = context.inputs.slice(0, operands);
    return { ...context, inputs, result: { dtype: context.attributes.resultDType, shape: inputs[0].shape } };
  };
  const totals: ScanSteps['totals'] = operator({
    ...common,
    name: `${declaration.name}Totals`,
    results: 'list',
    infer: ({ inputs, attributes }) => {
      const { axis, associative } = scanOf(ofTypes(inputs, attributes as StepAttributes));
      const [{ shape }] = inputs;
      const blocks = shape.with(axis, ceilDivDim(shape[axis], (attributes as StepAttributes).blockLength));
      return associative.dtypes.map((dtype) => ({ dtype, shape: blocks }));
    },
    lowering: {
      kind: 'kernel',
      kernel: (context) => {
        const given = contextOf(context as KernelContext<StepAttributes>);
        const blocks = { block: context.attributes.blockLength, totals: null };
        const scan = scanOf(given);
        return context.target.isGrid === true
          ? scanOfBlocks(scan, given.result.shape, blocks, context.outputs)
          : totalsInOrder(context, scan, given.result.shape[scan.axis]);
      },
    },
  });
  const results: ScanSteps['results'] = operator({
    ...common,
    name: `${declaration.name}Results`,
    infer: ({ inputs: [{ shape }], attributes }) => [{ dtype: (attributes as StepAttributes).resultDType, shape }],
    lowering: {
      kind: 'kernel',
      kernel: (context) => {
        const given = contextOf(context as KernelContext<StepAttributes>);
        const blocks = { block: context.attributes.blockLength, totals: context.inputs.slice(operands) };
        return context.target.isGrid === true
          ? scanOfBlocks(scanOf(given), given.result.shape, blocks, context.outputs)
          : scanLoops({ ...context, inputs: given.inputs }, scanOf(given));
      },
    },
  });
  return { totals, results };
} // prettier-ignore

/** The states of all blocks by loops, for a processor that computes what the device lacks a dtype for. */
function totalsInOrder(
  context: KernelContext<StepAttributes>,
  scan: Scan,
  length: Expr,
): Stmt {
  const { axis, associative } = scan;
  const { blockLength } = context.attributes;
  return overAll(
    context.outputs[0].shape,
    (index) => {
      const [state, element] = ['state', 'element'].map((name) => scanLocals(name, associative.initial));
      const begin = e.mul(index[axis], blockLength);
      const joined = scanLocals('joined', associative.initial);
      return e.block(
        ...declareAll(state, associative.initial),
        e.forLoop('k', begin, e.min(e.add(begin, blockLength), length), (k) =>
          e.block(
            ...declareAll(element, associative.element(index.with(axis, scanPosition(scan, length, k)))),
            ...declareAll(joined, associative.combine(state, element)),
            ...state.map((part, j) => e.assign(part, joined[j])),
          ),
        ),
        ...context.outputs.map((sink, k) => sink.store(index, e.cast(computeScalar(sink.dtype), state[k]))),
      );
    },
    'serial',
    context,
  );
} // prettier-ignore

/** A call of which only the types are known. */
function ofTypes(
  types: readonly TensorType[],
  attributes: StepAttributes,
): ScanContext<Attributes> {
  const inputs = types.map(({ dtype, shape }): Access => ({
    dtype,
    shape: shape.map(() => e.i32(1)),
    buffer: null,
    at: () => {
      throw new InternalError('elements of a call of which only types are known');
    },
  }));
  return { attributes, inputs, result: { dtype: attributes.resultDType, shape: inputs[0].shape } };
}
