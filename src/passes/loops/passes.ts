import { someCall } from '../../ir/all-calls.js';
import type { Program } from '../../ir/program.js';
import { eliminateCommonSubexpressions } from '../simplify/cse.js';
import type { Pass } from '../rewrite/pass.js';
import { simplify } from '../simplify/simplify.js';
import { pushTranspositions } from '../rewrite/turn.js';
import { hoistRowWork } from './ahead.js';
import { sinkRowWork } from './behind.js';
import { canonicalLoops } from './canonical.js';
import { sinkSums } from './collect.js';
import { eliminateDeadLoopParts } from './dead.js';
import { hoistFromLoops } from './hoist.js';
import { isLoop } from './loop.js';
import { unrollLoops } from './unroll.js';

/** True when a program, or a region of it, has a loop. */
export const hasLoops: (program: Program) => boolean = someCall((call) => isLoop(call));

/** Programs produced by loop passes, which cleanup passes tidy. */
const remade = new WeakSet<Program>();

function onLoops(name: string, doc: string, edit: (program: Program) => Program): Pass {
  return {
    name,
    doc,
    concerns: hasLoops,
    run: (program) => {
      const after = edit(program);
      if (after !== program) remade.add(after);
      return after;
    },
  };
}

/** A pass that only runs on programs whose loops have changed. */
function afterLoops(name: string, doc: string, run: Pass['run']): Pass {
  return {
    name,
    doc,
    concerns: (program) => remade.has(program),
    run: (program, context) => {
      const after = run(program, context);
      remade.add(after);
      return after;
    },
  };
}

const forms = onLoops('loop-forms', 'bring loops into one form', canonicalLoops);
const dead = onLoops('loop-dce', 'drop what nobody needs of loops', eliminateDeadLoopParts);
const tidy: readonly Pass[] = [
  afterLoops('cse', 'find what loops have in common', eliminateCommonSubexpressions),
  afterLoops('simplify', 'apply the laws of the operators to it', (program, { applied }) =>
    simplify(program, applied),
  ),
];

/** Canonicalization before the algebraic laws, which then see simpler programs. */
export const loopForms: readonly Pass[] = [forms, dead];

/**
 * Loop passes on decomposed, simplified bodies. Trip counts matter only to the last. Accumulations move
 * first, since their terms need not be stored then; other work may leave the loop at either end.
 */
export const loopPasses: readonly Pass[] = [
  onLoops('hoist', 'compute before a loop what is always the same', hoistFromLoops),
  onLoops('collect', 'add up behind a loop what is only added up', sinkSums),
  onLoops('ahead', 'compute before a loop what waits for no iteration', hoistRowWork),
  onLoops('behind', 'compute behind a loop what no iteration waits for', sinkRowWork),
  ...tidy,
  forms,
  dead,
  onLoops('unroll', 'write out short loops', unrollLoops),
  ...tidy,
  afterLoops('turn', 'make products behind loops in the order in which they are read', pushTranspositions), // prettier-ignore
];
