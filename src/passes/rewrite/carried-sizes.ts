import type { DimExpr } from '../../base/dim/index.js';
import { namedInputs, Program } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { instantiate } from './transform.js';

/** An array without elements whose shape, from its second axis on, tells the sizes of symbols. */
export function carrierOf(symbols: readonly DimExpr[]): TensorType {
  return { dtype: 'bool', shape: [0, ...symbols] };
}

/** A program for whoever passes arrays only: an input of the type `carrierOf`, the last, tells its size parameters. */
export function withCarriedSizes(program: Program): Program {
  const { sizes } = program;
  if (sizes.length === 0) return program;
  const fill = (into: Program): void => {
    const inputs = namedInputs(program).map(({ name, type }) => into.variable(name, type));
    into.variable(into.freshName('sizes'), carrierOf(sizes));
    const values = instantiate(program, into, inputs);
    into.setOutputs(program.outputs.map(({ name }, k) => ({ name, value: values[k] })));
  };
  return Program.from(program, fill, []);
}
