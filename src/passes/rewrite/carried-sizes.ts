import { carrierOf } from '../../ir/bind.js';
import { namedInputs, Program } from '../../ir/program.js';
import { instantiate } from './transform.js';

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
