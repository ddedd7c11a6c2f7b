import { flattenTree, type TreeStructure, unflattenTree } from '../../../base/attributes/tree.js';
import { graphDirective } from '../../../base/directive.js';
import type { TensorType } from '../../../ir/types.js';
import { array } from '../../arrays/creation.js';
import { absentValues } from '../../control/tracing.js';
import { isArray } from '../../graphs/signature.js';
import { isPlainTree, placesIn } from './containers.js';
import { asNumber, isNumberArray } from './numbers.js';
import { type Empty, isOptionalTree, optionalTree } from './optionals.js';
import type { TraceFacts } from './trace-facts.js';

/* Values that are absent on a path and there on another one: both paths give a flag, and the first zeros. */

/** Name of the value that a path returns, or that an arm of an expression gives. */
export const returnedName = 'the resulting value';

/**
 * True if undefined there is a value that may be absent. A variable or member that a path leaves undefined is refused:
 * it has no value there, and null says that it is meant.
 */
function mayBeUndefined(what: string): boolean {
  return what.startsWith(returnedName);
}

/** The arrangement of a value where it is there. */
export interface Template {
  readonly structure: TreeStructure;
  readonly types: readonly TensorType[];
  /** Leaves that stand for numbers of the user's. */
  readonly numbers: ReadonlySet<number>;
  readonly empty: Empty;
}

/** A tree in which values that another path lacks, or has, have a flag beside them. */
export function withOptionals(what: string, value: unknown, facts: TraceFacts): unknown {
  const known = facts.optionals;
  if (![...known.keys()].some((key) => key.startsWith(what))) return value;
  const inside = (tree: unknown, place: string): unknown => {
    if (!isTree(tree)) return tree;
    const entries = placesIn(tree).map(([access, key]) => {
      const entry = (tree as Record<string, unknown>)[key];
      const own = access === '' ? inside(entry, place) : visit(entry, `${place}${access}`);
      return [key, own] as const;
    });
    return Array.isArray(tree) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
  };
  const visit = (tree: unknown, place: string): unknown => {
    const template = known.get(place);
    if (template === undefined) return inside(tree, place);
    if (tree === undefined && !mayBeUndefined(place)) return tree;
    const { structure, types, numbers } = template;
    const emptyOf = (own: Empty): Empty => (template.empty === 'either' ? 'either' : own);
    if (isOptionalTree(tree)) {
      const { '?present': present, '?value': own, '?empty': empty } = tree;
      return optionalTree(present, inside(own, place), emptyOf(empty));
    }
    const flag = array(!isEmpty(tree), { dtype: 'bool' });
    if (!isEmpty(tree)) return optionalTree(flag, inside(tree, place), template.empty);
    const zeros = absentValues(types);
    for (const k of numbers) asNumber(zeros[k]);
    return optionalTree(flag, inside(unflattenTree(structure, zeros), place), emptyOf(tree));
  };
  return visit(value, what);
}

/**
 * Asks for a flag beside a value that is null or undefined on one path and there on the other.
 * @throws Retrace if there is such a value, and the trace has not known it.
 */
export function wantOptional(
  what: string,
  first: unknown,
  second: unknown,
  facts: TraceFacts,
): void {
  const [absent, other] = isAbsentFirst(first, second) ? [first, second] : [second, first];
  if (absent === undefined && !mayBeUndefined(what)) return;
  if (isEmpty(absent) || (isOptionalTree(absent) && !isOptionalTree(other))) {
    const tree = [absent, other].find(isOptionalTree);
    const empty = tree === undefined ? (absent as Empty) : tree['?empty'];
    return learn(what, tree === undefined ? other : tree['?value'], empty, facts);
  }
  if (isOptionalTree(first) && isOptionalTree(second) && first['?empty'] !== second['?empty']) {
    return learn(what, first['?value'], 'either', facts);
  }
  if (!isTree(first) || !isTree(second)) return;
  for (const [access, key] of placesIn(first)) {
    const [x, y] = [first, second].map((tree) => (tree as Record<string, unknown>)[key]);
    if (!key.startsWith('?') || access === '') wantOptional(`${what}${access}`, x, y, facts); // prettier-ignore
  }
}

/** @throws Retrace where that is new. */
function learn(what: string, value: unknown, empty: Empty, facts: TraceFacts): void {
  const known = facts.optionals;
  const isValue = isTree(value) || isArray(value) || typeof value === 'number' || typeof value === 'boolean'; // prettier-ignore
  const isKnown = known.has(what) && (empty !== 'either' || known.get(what)!.empty === 'either');
  if (!isValue || isKnown) return;
  const { leaves, structure } = flattenTree(value, isArray, graphDirective);
  known.set(what, {
    structure,
    types: leaves.map(({ type }) => type),
    numbers: new Set(leaves.flatMap((leaf, k) => (isNumberArray(leaf) ? [k] : []))),
    empty,
  });
  facts.learn(`${what}, which may be ${String(empty)}`);
}

function isEmpty(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** True if the first of two values is the one that is absent, or may be. */
function isAbsentFirst(first: unknown, second: unknown): boolean {
  return isEmpty(first) || (!isEmpty(second) && isOptionalTree(first) && !isOptionalTree(second));
}

function isTree(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isArray(value) && isPlainTree(value);
}
