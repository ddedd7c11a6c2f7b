import { eliminateCommonSubexpressions } from './simplify/cse.js';
import { eliminateDeadCode } from './rewrite/dce.js';
import { hasBranches, simplifyBranches } from './branches/simplify-branches.js';
import { decompose } from './simplify/decompose.js';
import { foldConstants } from './simplify/fold.js';
import type { Pass, PassContext } from './rewrite/pass.js';
import { inline } from './rewrite/inline.js';
import { hasLoops, loopForms, loopPasses } from './loops/passes.js';
import { mergeLoops } from './loops/merge-loops.js';
import { simplify } from './simplify/simplify.js';
import { pushTranspositions } from './rewrite/turn.js';
import type { Program } from '../ir/program.js';
import { verified } from '../ir/verify.js';

const branches: Pass = {
  name: 'branches',
  doc: 'take out of branches what needs none',
  concerns: hasBranches,
  run: simplifyBranches,
};

/** The pass pipeline: every program goes through these passes in this order before lowering. */
export const passes: readonly Pass[] = [
  {
    name: 'inline',
    doc: 'put the bodies of calls in their places',
    run: (program) => inline(program),
  },
  { name: 'decompose', doc: 'expand operators that are written in others', run: decompose },
  { name: 'cse', doc: 'compute equal things once', run: eliminateCommonSubexpressions },
  branches,
  { name: 'merge', doc: 'run once what several loops do', concerns: hasLoops, run: mergeLoops },
  ...loopForms,
  {
    name: 'simplify',
    doc: 'apply the laws of the operators',
    run: (program, { applied }) => simplify(program, applied),
  },
  {
    name: 'turn',
    doc: 'make products in the order in which they are read',
    run: pushTranspositions,
  },
  {
    name: 'fold',
    doc: 'compute what depends on constants only',
    run: (program, { evaluate }) =>
      evaluate === undefined ? program : foldConstants(program, { evaluate }),
  },
  ...loopPasses,
  branches,
  { name: 'cse', doc: 'find what became equal', run: eliminateCommonSubexpressions },
  {
    name: 'dce',
    doc: 'drop what no output needs',
    run: (program) => eliminateDeadCode(program),
  },
];

/** Report on a pass that ran. */
export interface PassReport {
  readonly name: string;
  readonly milliseconds: number;
  readonly before: Program;
  readonly after: Program;
  readonly unchanged: boolean;
}

/** Runs passes one after another; `observe` is called after each. */
export function runPipeline(
  program: Program,
  steps: readonly Pass[] = passes,
  { observe, ...context }: PassContext & { readonly observe?: (report: PassReport) => void } = {},
): Program {
  let current = verified('what the compiler was given', program);
  /** Programs that a pass left unchanged, which it need not see again. */
  const settled = new Map<Pass['run'], Program>();
  for (const { name, run, concerns } of steps) {
    if (concerns?.(current) === false) continue;
    const before = current;
    const start = observe === undefined ? 0 : performance.now();
    if (settled.get(run) !== before) {
      const after = run(before, context);
      current = after === before ? before : verified(name, after);
    }
    if (current === before) settled.set(run, before);
    observe?.({
      name,
      milliseconds: performance.now() - start,
      before,
      after: current,
      unchanged: current === before,
    });
  }
  return current;
}
