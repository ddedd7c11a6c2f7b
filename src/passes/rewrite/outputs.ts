import { symbolsOf } from '../../base/dim/index.js';
import { type Output, Program } from '../../ir/program.js';
import { eliminateDeadCode } from './dce.js';
import { Copies } from './copies.js';

/**
 * True when a result has a size that the program's data decides. In the body of a loop, iterations must agree
 * on it, which only the host can check.
 */
export function givesOwnSizes({ outputs, decidedSizes }: Program): boolean {
  if (decidedSizes.size === 0) return false;
  return outputs.some(({ value }) =>
    value.type.shape.some((dim) => [...symbolsOf(dim)].some((name) => decidedSizes.has(name))),
  );
}

/** A program with other outputs and without dead code. All inputs stay; `roots` as for `eliminateDeadCode`. */
export function withOutputs(
  program: Program,
  outputs: readonly Output[],
  roots: 'keep' | 'drop' = 'keep',
): Program {
  const all = Program.from(program, (into) => {
    const copies = new Copies(program, into, { nodes: new Set(), isApart: false });
    for (const id of program.graph.nodes()) copies.add(id, false);
    into.setOutputs(outputs.map(({ name, value }) => ({ name, value: copies.early(value) })));
  });
  return eliminateDeadCode(all, roots);
}
