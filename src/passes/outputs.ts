import { type Output, Program } from '../ir/program.js';
import { eliminateDeadCode } from './dce.js';
import { Copies } from './copies.js';
import { carryRequirements } from './transform.js';

/** A program with other outputs, without what they do not need. All inputs stay. */
export function withOutputs(program: Program, outputs: readonly Output[]): Program {
  const all = Program.from(program, (into) => {
    const copies = new Copies(program, into, { nodes: new Set(), isApart: false });
    for (const id of program.graph.nodes()) copies.add(id, false);
    into.setOutputs(outputs.map(({ name, value }) => ({ name, value: copies.early(value) })));
    carryRequirements(program, into);
  });
  return eliminateDeadCode(all);
}
