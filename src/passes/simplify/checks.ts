import type { NodeId } from '../../graph/graph.js';
import { someCall } from '../../ir/all-calls.js';
import { symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { declarationOf, hasRootCall } from '../../ops/declare/facets.js';
import { hasOwnDerivative, inline } from '../rewrite/inline.js';
import { withOutputs } from '../rewrite/outputs.js';
import { isView, viewed } from '../rewrite/views.js';

/** An operand whose elements an operator may refuse. */
export interface Checked {
  readonly call: CallNode;
  readonly operands: readonly Value[];
  /** Source of the elements: an input of the program, or an output of `probe`. */
  readonly source: { readonly input: number } | { readonly output: number };
}

/** Checks that can be made before a program runs; others are reported by the program itself. */
export interface Checks {
  readonly program: Program;
  readonly checked: readonly Checked[];
  /** Their calls. */
  readonly early: ReadonlySet<NodeId>;
  /** Computes the elements that are not inputs, from the same inputs; null when there are none. */
  readonly probe: Program | null;
}

/**
 * The operands whose elements are checked when operators run eagerly, as far as they are inputs or cheaply
 * computed from them. Costlier operands are not computed twice for the sake of a check. Null when there is
 * nothing to check.
 */
export function checksOf(original: Program): Checks | null {
  if (!mayCheck(original)) return null;
  // Whoever checks may differentiate afterwards.
  const program = inline(original, hasOwnDerivative);
  const inputs = new Map(program.inputs.map((value, index) => [value, index]));
  const outputs = new Map<Value, number>();
  const cheap = new Map<NodeId, boolean>();
  const checked: Checked[] = [];
  const early = new Set<NodeId>();
  const own = program.decidedSizes;
  const isOwn = ({ type }: Value): boolean =>
    [...symbolsOfTypes([type]).keys()].some((name) => own.has(name));
  let isBehindRoot = false;
  for (const [id, call] of program.calls()) {
    const { check } = declarationOf(call.op);
    isBehindRoot ||= call.regions.some(hasRootCall);
    // What a root refuses comes first, and nothing may be refused behind it that it might have prevented.
    if (check === undefined || isBehindRoot) continue;
    const operands = program.operands(id);
    const base = viewed(program, operands[check.operand]);
    const input = inputs.get(base);
    // Data-dependent sizes are unknown before the program runs: it checks them itself.
    if (own.size > 0 && operands.some(isOwn)) isBehindRoot ||= check.isRoot === true;
    else if (input !== undefined) {
      early.add(id);
      checked.push({ call, operands, source: { input } });
    } else if (isCheap(program, base.node, cheap)) {
      const output = outputs.get(base) ?? outputs.size;
      outputs.set(base, output);
      early.add(id);
      checked.push({ call, operands, source: { output } });
    } else isBehindRoot ||= check.isRoot === true;
  }
  const wanted = [...outputs.keys()].map((value, k) => ({ name: `checked_${k}`, value }));
  return {
    program,
    checked,
    early,
    probe: wanted.length === 0 ? null : withOutputs(program, wanted, 'drop'),
  };
}

/** True if some call of a finished program, or of a region in it, refuses elements. */
export const mayCheck: (program: Program) => boolean = someCall(
  ({ op }) => declarationOf(op).check !== undefined,
);

/** True when a value is elementwise arithmetic on inputs and constants. */
function isCheap(program: Program, id: NodeId, known: Map<NodeId, boolean>): boolean {
  let cheap = known.get(id);
  if (cheap === undefined) {
    const node = program.node(id);
    cheap =
      node.kind !== 'call' ||
      ((isView(program, id) || declarationOf(node.op).lowering.kind === 'point') &&
        program.operands(id).every((operand) => isCheap(program, operand.node, known)));
    known.set(id, cheap);
  }
  return cheap;
}
