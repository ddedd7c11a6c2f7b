import { type TreeStructure, structureToString } from '../../base/attributes/tree.js';
import { typeToString } from '../../ir/program.js';
import { sameType, type TensorType } from '../../ir/types.js';
import type { NewGradient } from '../capture/gradients.js';
import type { GraphParts } from '../graphs/graph.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';
import type { CallSignature } from '../graphs/signature.js';
import { isNewGradient } from '../dispatch/values.js';

/** Kind of a guard. */
export type GuardKind =
  /** Nesting, number of entries, keys and their order, and which entries are arrays. */
  | 'structure'
  /** An argument that is not an array: a primitive by value, a function by identity. */
  | 'value'
  | 'dtype'
  | 'rank'
  | 'size'
  /** Two arguments that are the same array. */
  | 'alias'
  /** The attached gradient of an array argument. */
  | 'gradient'
  | 'recording'
  | 'training'
  /** The blocks and parameters that a block consists of. */
  | 'blocks'
  /** The type and the attached gradient of a captured outer array. */
  | 'captured'
  /** Freshness of a gradient for an optimizer that uses each once. */
  | 'new gradient'
  /** A field of a block, or of another object whose method is captured. */
  | 'field';

/** An assumption of captured code that a call violates. */
export interface Guard {
  readonly kind: GuardKind;
  /** Location: `argument 0.image, axis 1`, `training`, the path of a block, the name of a captured array. */
  readonly path: string;
  /** Value at capture. */
  readonly expected: string;
  /** Value at the call. */
  readonly actual: string;
}

/** One property of a call. Two facts of one slot are comparable. */
interface Fact {
  readonly kind: GuardKind;
  readonly path: string;
  readonly slot: string;
  readonly text: string;
  /** Set when a size is a symbol: any size matches, if it is the same in all places. */
  readonly isSymbol?: boolean;
}

/** All properties of a call that decide if a trace serves it, in the order of reports. */
export type CallFacts = readonly Fact[];

/** @param types The types of the array arguments, with symbols for variable sizes. */
export function factsOf(
  { leaves, structure }: CallSignature,
  types: readonly TensorType[],
  parts: ReadonlyMap<string, string>,
): CallFacts {
  const facts: Fact[] = [];
  const add = (kind: GuardKind, path: string, text: string, slot: string = kind): void => {
    facts.push({ kind, path, text, slot: `${slot} ${path}` });
  };
  const seen = new Map<NDArray, string>();
  let next = 0;
  const addLeaf = (path: string): void => {
    const leaf = leaves[next];
    const { dtype, shape } = types[next++];
    add('structure', path, 'an array', 'node');
    add('dtype', path, dtype);
    add('rank', path, String(shape.length));
    add('alias', path, seen.has(leaf) ? `the same as ${seen.get(leaf)}` : 'an array of its own');
    add('gradient', path, leaf.gradient?.req ?? 'none');
    if (!seen.has(leaf)) seen.set(leaf, path);
    shape.forEach((dim, axis) => {
      facts.push({
        kind: 'size',
        path: `${path}, axis ${axis}`,
        // Axes of arrays of different ranks are not comparable.
        slot: `size ${path} ${axis} of ${shape.length}`,
        text: String(dim),
        isSymbol: typeof dim !== 'number',
      });
    });
  };
  const visit = (part: TreeStructure, path: string): void => {
    if (part.kind === 'leaf') return addLeaf(path);
    if (part.kind === 'static') return add('value', path, structureToString(part), 'node');
    const { entries } = part;
    if (part.kind === 'list') {
      const isCall = path === '';
      add('structure', isCall ? 'the call' : path, describeList(isCall, entries.length), 'node');
      entries.forEach((entry, i) => visit(entry, isCall ? `argument ${i}` : `${path}[${i}]`));
    } else {
      add('structure', path, `{${part.keys.join(', ')}}`, 'node');
      entries.forEach((entry, i) => visit(entry, `${path}${keyPath(part.keys[i])}`));
    }
  };
  visit(structure, '');
  add('recording', 'recording', mode.session === null ? 'off' : 'on');
  add('training', 'training', mode.training ? 'on' : 'off');
  for (const [path, text] of parts) add('blocks', path, text);
  return facts;
}

function describeList(isCall: boolean, count: number): string {
  const noun = isCall ? 'argument' : 'entry';
  const many = isCall ? 'arguments' : 'entries';
  return `${isCall ? '' : 'a list of '}${count} ${count === 1 ? noun : many}`;
}

function keyPath(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Differences between a call and the facts of a trace, and the number of facts in common. */
export function compareFacts(
  expected: CallFacts,
  actual: CallFacts,
): { readonly guards: readonly Guard[]; readonly shared: number } {
  const known = new Map(expected.map((fact) => [fact.slot, fact]));
  const sizes = new Map<string, string>();
  const guards: Guard[] = [];
  let shared = 0;
  for (const fact of actual) {
    const before = known.get(fact.slot);
    known.delete(fact.slot);
    // Facts of one side only follow from a structural difference that is reported already, or from a block's
    // parts.
    if (before === undefined) {
      if (fact.kind === 'blocks') guards.push(guardOf(fact, 'nothing', fact.text));
      continue;
    }
    let wanted = before.text;
    if (before.isSymbol === true) {
      const size = sizes.get(before.text);
      if (size === undefined) sizes.set(before.text, fact.text);
      wanted = size === undefined ? fact.text : size;
    }
    if (wanted === fact.text) shared++;
    else {
      const isBound = before.isSymbol === true;
      guards.push(guardOf(fact, isBound ? `${before.text} = ${wanted}` : wanted, fact.text));
    }
  }
  for (const fact of known.values()) {
    if (fact.kind === 'blocks') guards.push(guardOf(fact, fact.text, 'nothing'));
  }
  return { guards, shared };
}

function guardOf({ kind, path }: Fact, expected: string, actual: string): Guard {
  return { kind, path, expected, actual };
}

/** Assumption about a captured outer array. */
export interface CapturedGuard {
  readonly name: string;
  readonly array: NDArray;
  readonly type: TensorType;
  readonly gradient: string;
}

/** Assumption about the freshness of an outer array's gradient. */
export interface NewGradientGuard extends NewGradient<NDArray> {
  readonly name: string;
}

/** Assumption of a trace besides the arguments. */
export type OutsideGuard = CapturedGuard | NewGradientGuard;

/**
 * Guards of the outer arrays that graphs depend on: those that they read, those that take part in recordings,
 * and those whose gradients the code has read or changed.
 *
 * @param found Gradient modes at capture, where the code may have changed them since.
 */
export function capturedGuards(
  graphs: readonly GraphParts[],
  found: ReadonlyMap<NDArray, string>,
): readonly CapturedGuard[] {
  const guards = new Map<NDArray, CapturedGuard>();
  const add = (name: string, array: NDArray): void => {
    if (guards.has(array)) return;
    const gradient = found.get(array) ?? gradientOf(array);
    guards.set(array, { name, array, type: array.type, gradient });
  };
  for (const parts of graphs) for (const [name, array] of readsOf(parts)) add(name, array);
  for (const { touched = [] } of graphs) {
    for (const array of touched) if (array instanceof NDArray) add('captured', array);
  }
  for (const array of found.keys()) add('captured', array);
  return [...guards.values()];
}

function readsOf({ reads, program }: GraphParts): readonly (readonly [string, NDArray])[] {
  const first = program.inputs.length - reads.length;
  return reads.flatMap((read, i) => {
    if (read.kind === 'random' || !(read.of instanceof NDArray)) return [];
    const node = program.node(program.inputs[first + i].node);
    const name = node.kind === 'variable' ? node.name : 'captured';
    return [[name, read.of] as const];
  });
}

/** The first guard of an outer array that fails; null when all hold. */
export function changedCapture(guards: readonly OutsideGuard[]): Guard | null {
  for (const guard of guards) {
    if ('isNew' in guard) {
      if (isNewGradient(guard.array, guard.user) === guard.isNew) continue;
      const [expected, actual] = [guard.isNew, !guard.isNew].map(describeNew);
      return { kind: 'new gradient', path: guard.name, expected, actual };
    }
    const { name, array, type, gradient } = guard;
    const isSame = array.type === type || sameType(array.type, type);
    if (isSame && gradientOf(array) === gradient) continue;
    return {
      kind: 'captured',
      path: name,
      expected: describeCaptured(type, gradient),
      actual: describeCaptured(array.type, gradientOf(array)),
    };
  }
  return null;
}

function gradientOf({ gradient }: NDArray): string {
  return gradient?.req ?? 'none';
}

function describeNew(isNew: boolean): string {
  return isNew ? 'written since the last step' : 'not written since the last step';
}

function describeCaptured(type: TensorType, gradient: string): string {
  return `${typeToString(type)}, gradient: ${gradient}`;
}

/** Advice for a guard that fails at each call. */
export function adviceFor({ kind, path, expected, actual }: Guard): string {
  switch (kind) {
    case 'value':
      if ([expected, actual].every((text) => /^(-?[\d.]|-?Infinity|NaN)/.test(text))) {
        return `pass ${path} as an array, kn.array(value): the values of arrays are not guarded`;
      }
      return expected.startsWith('function ') && actual.startsWith('function ')
        ? `pass the same function as ${path} each time, made once outside of the loop`
        : `pass fewer different values as ${path}, or an array`;
    case 'size':
      return `name the axis in { dynamic }, or use -1, shapeOf or operators where the code reads x.shape of ${path}`;
    case 'structure':
      return `pass ${path} with one nesting and one order of keys`;
    case 'dtype':
    case 'rank':
      return `pass ${path} with one ${kind}`;
    case 'alias':
      return 'pass an array in one place, or the same way each time';
    case 'gradient':
    case 'captured':
      return `attach the gradient of ${path} once, before the first call`;
    case 'new gradient':
      return 'let backward passes before a step reach the same parameters each time';
    case 'recording':
    case 'training':
      return `call it with ${kind} on or off: each is captured once`;
    case 'field':
      return `give ${path} few different values, or pass it as an argument, as an array if only its value matters`;
    case 'blocks':
      return 'keep the blocks of a network, and change their parameters with assign';
  }
}
