import { bindTypes } from '../../../src/ir/bind.js';
import { type CallNode, namedInputs, Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { controlOf } from '../../../src/passes/lower/main/control.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { HostForeach } from '../../../src/runtime/dynamic/foreach.js';
import { HostWhile } from '../../../src/runtime/dynamic/while.js';
import type { CompileOptions, Operand } from '../../../src/runtime/execution/executable.js';

/** A program whose inputs have no names of interest. */
export function program(
  inputs: readonly TensorType[],
  build: (...values: Value[]) => readonly Value[],
): Program {
  const made = new Program();
  const values = inputs.map((type, k) => made.variable(`x${k}`, type));
  made.setOutputs(build(...values).map((value, k) => ({ name: `y${k}`, value })));
  return made;
}

/** What runs a program that is one loop on its inputs by the host, whether or not it has to be. */
export function hosted(
  loop: Program,
  options: CompileOptions = {},
): (operands: readonly Operand[]) => readonly Operand[] {
  const call = loop.node(loop.outputs[0].value.node) as CallNode;
  const control = controlOf(call);
  const [first, second] = call.regions.map((region) => compile(region, options));
  return (operands) => {
    const actual = operands.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const sizes = bindTypes(namedInputs(loop), actual);
    if (control?.kind === 'foreach') {
      return new HostForeach(call, control.loop(call.attributes), first).run(operands, sizes);
    }
    if (control?.kind === 'while') {
      return new HostWhile(call, control.loop(call.attributes), first, second).run(operands, sizes);
    }
    throw new Error('not a loop');
  };
}
