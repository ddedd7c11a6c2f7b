import { someCall } from '../../ir/all-calls.js';
import { nodesBehind } from '../../ir/behind.js';
import type { Dim } from '../../base/dim/index.js';
import { bindProgram } from '../../ir/bind.js';
import {
  type CallNode,
  namedInputs,
  type Output,
  type Program,
  type Value,
} from '../../ir/program.js';
import { sameType } from '../../ir/types.js';
import { logicalNot } from '../../ops/elementwise/logic.js';
import { declarationOf, isRootCall, sizesPassedBy } from '../../ops/declare/facets.js';
import { callOf } from '../../ops/declare/law.js';
import { eliminateDeadCode } from '../rewrite/dce.js';
import { withOutputs } from '../rewrite/outputs.js';
import type { PassContext } from '../rewrite/pass.js';
import { throughRegions, transform } from '../rewrite/transform.js';
import { unread } from '../rewrite/unread.js';
import { type CarvedRegions, carveRegions } from '../loops/carve.js';
import { valuesBehind } from '../loops/liveness.js';
import { selection } from './selections.js';
import { choiceOf, isSame, mayBeOfChoice, throughChoice } from './choices.js';

/**
 * Branches without the results that need none. No result that is read changes.
 *
 * - a result that is not read is dropped: `_, y = cond(p, [a, b], [c, d])` gives `y = cond(p, [b], [d])`;
 * - an operand that both branches return is that operand: `cond(p, x, x) = x`;
 * - one constant of both branches is that constant, and one number of each a choice: `cond(p, 1, 2) =
 *   where(p, 1, 2)`, and so is what is computed of that;
 * - so is a number that either branch is given or computes of a few integers;
 * - a result that both branches return twice is computed once;
 * - branches of a negated predicate change places: `cond(not p, a, b) = cond(p, b, a)`.
 */
export function simplifyBranches(program: Program, { evaluate }: PassContext = {}): Program {
  let current = program;
  for (;;) {
    const edited = throughRegions(current, (inner, region) => {
      let read: ReadonlySet<Value> | undefined;
      return transform(
        inner,
        ({ node, id, operands, into }) => {
          if (node.kind !== 'call') return undefined;
          if (!isBranch(node)) {
            const chosen = evaluate && throughChoice(node, operands, into, evaluate);
            return chosen && [chosen];
          }
          read ??= valuesBehind(inner, ends(inner));
          const isRead = inner.results(id).map((value) => read!.has(value));
          return simplified(node, isRead, operands, into);
        },
        { region, wanted: (node) => isBranch(node) || mayBeOfChoice(node) },
      );
    });
    if (edited === current) return current;
    // Operands that a branch no longer returns are dead outside, possibly in another branch.
    current = eliminateDeadCode(edited);
  }
}

/** True when a program, or a region of it, has a branch. */
export const hasBranches: (program: Program) => boolean = someCall((call) => isBranch(call));

function isBranch({ op }: CallNode): boolean {
  return declarationOf(op).lowering.kind === 'branch';
}

/** Values that stay whoever reads them: outputs, and results of calls that check. */
function ends(program: Program): readonly Value[] {
  const roots = [...program.calls()].filter(([, { op, regions }]) => isRootCall(op, regions));
  return [...program.outputs.map(({ value }) => value), ...roots.flatMap(([id]) => program.results(id))]; // prettier-ignore
}

/** A result of a branch: its place among those that stay, or the value that it is without the branch. */
type Result = number | (() => Value);

function simplified(
  node: CallNode,
  isRead: readonly boolean[],
  operands: readonly Value[],
  into: Program,
): readonly Value[] | undefined {
  // Sizes that branches decide are told by their results.
  if (node.decides.length > 0) return undefined;
  const [predicate, ...captures] = operands;
  const [then, otherwise] = node.regions;
  const kept: number[] = [];
  const results = node.types.map((type, k): Result => {
    if (!isRead[k]) return () => unread(into, type);
    const one = then.outputs[k].value;
    const other = otherwise.outputs[k].value;
    const outside =
      outsideOf(one, other, predicate, captures, into) ??
      selection([one, other], predicate, captures, into);
    if (outside !== null && sameType(outside.type, type)) return () => outside;
    const twin = kept.findIndex(
      (at) => then.outputs[at].value === one && otherwise.outputs[at].value === other,
    );
    return twin >= 0 ? twin : kept.push(k) - 1;
  });
  const isRoot = isRootCall(node.op, node.regions);
  const inputs = isRoot ? [...captures.keys()] : inputsRead(node.regions, kept);
  const isWhole = kept.length === node.types.length && inputs.length === captures.length;
  const negated = callOf(predicate, logicalNot)?.inputs[0];
  if (isWhole && negated === undefined) return undefined;
  if (kept.length === 0 && !isRoot) return results.map((result) => (result as () => Value)());
  const { regions, sizes } = isWhole
    ? { regions: node.regions, sizes: sizesPassedBy(node) }
    : withParts(node, captures, kept, inputs, isRoot);
  const made = into.appendTyped(
    node.op,
    [negated ?? predicate, ...inputs.map((k) => captures[k])],
    { ...node.attributes, sizes },
    kept.map((k) => node.types[k]),
    { regions: negated === undefined ? regions : regions.toReversed(), source: node.source },
  );
  return results.map((result) => (typeof result === 'number' ? made[result] : result()));
}

/** Regions with some of their outputs and inputs; with all of their inputs and checks if the call is a root. */
function withParts(
  node: CallNode,
  captures: readonly Value[],
  kept: readonly number[],
  inputs: readonly number[],
  isRoot: boolean,
): CarvedRegions {
  const sizes = sizesPassedBy(node);
  const outputsOf = ({ outputs }: Program): readonly Output[] => kept.map((k) => outputs[k]);
  if (isRoot) {
    return { regions: node.regions.map((each) => withOutputs(each, outputsOf(each))), sizes };
  }
  const types = captures.map(({ type }) => type);
  return carveRegions(
    node.regions.map((from) => {
      const names = namedInputs(from);
      return {
        from,
        dims: bindProgram<Dim>(from, types, sizes),
        inputs: inputs.map((k) => ({
          name: names[k].name,
          stands: [from.inputs[k]],
          outside: names[k].type,
        })),
        outputs: outputsOf(from),
        // A size that only a check speaks of is still refused where it does not fit.
        keepsRequirements: true,
      };
    }),
  );
}

/** Places of the inputs that regions read for some of their outputs. */
function inputsRead(regions: readonly Program[], kept: readonly number[]): readonly number[] {
  const places = new Set<number>();
  for (const region of regions) {
    const behind = new Set(nodesBehind(region, kept.map((k) => region.outputs[k].value))); // prettier-ignore
    region.inputs.forEach(({ node }, k) => {
      if (behind.has(node)) places.add(k);
    });
  }
  return [...places].sort((a, b) => a - b);
}

/** A result that needs no branch; null where it does. */
function outsideOf(
  one: Value,
  other: Value,
  predicate: Value,
  captures: readonly Value[],
  into: Program,
): Value | null {
  const [first, second] = [one, other].map(({ program, node }) => program.node(node));
  if (first.kind === 'variable' && second.kind === 'variable') {
    const place = one.program.inputs.indexOf(one);
    return place === other.program.inputs.indexOf(other) ? captures[place] : null;
  }
  if (first.kind !== 'constant' || second.kind !== 'constant') return null;
  const [a, b] = [first.data, second.data];
  if (isSame(a, b)) return into.constant(a);
  const isNumber = sameType(a.type, b.type) && a.type.shape.length === 0;
  return isNumber && predicate.type.shape.length === 0 ? choiceOf(predicate, a, b, into) : null;
}
