import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { BitSet } from './bits.js';
import { buildFlowGraph } from './build.js';
import { BindingIndex, type FlowGraph } from './flow-graph.js';
import { type Liveness, liveness } from './passes.js';
import {
  type VariableBinding,
  isCaptured,
  patternNames,
  type VariableReference,
  type Scope,
  type Scopes,
} from '../syntax/scopes.js';
import { type CodeSpan, contains, unwrapped, visitNodes } from '../syntax/walk.js';

/** The variables that a stretch of code changes and that exist outside of it. */
export interface Changed {
  /** Read after the place that was asked about; the new value matters there. */
  readonly merged: readonly VariableBinding[];
  /** Not read there: each path sees the value from before, and the new one is dropped. */
  readonly local: readonly VariableBinding[];
  /** Members of what they hold are assigned. */
  readonly mutated: ReadonlySet<VariableBinding>;
}

/** Facts about a function that the emitter asks for. */
export class FunctionFacts {
  readonly flow: FlowGraph;
  readonly #scopes: Scopes;
  readonly #owner: Scope;
  /** The offset at which the body starts: its variables are unknown to the defaults of parameters. */
  readonly #bodyStart: number;
  readonly #liveness: Liveness;
  readonly #writes: readonly VariableReference[];
  readonly #mutations: readonly VariableReference[];
  readonly #integerWrites: IntegerWrites;
  /** Variables that inner functions write: any call may change them. */
  readonly #writtenInside: ReadonlySet<VariableBinding>;

  constructor(node: t.Function, scopes: Scopes) {
    this.#scopes = scopes;
    this.#owner = scopes.of.get(node)!;
    this.#bodyStart = node.body.start!;
    this.flow = buildFlowGraph(node, scopes);
    const index = BindingIndex.of(this.flow);
    let shared = BitSet.none(index.size);
    index.bindings.forEach((binding, bit) => {
      if (this.#isShared(binding)) shared = shared.with(bit);
    });
    this.#liveness = liveness(this.flow, index, shared);
    const inside = [...scopes.references.values()].filter(({ identifier }) =>
      contains(node, identifier),
    );
    this.#writes = inside.filter(({ writes }) => writes);
    this.#integerWrites = integerWritesOf(node);
    const bases = mutatedNames(node);
    this.#mutations = inside.filter(({ identifier }) => bases.has(identifier));
    this.#writtenInside = new Set(
      this.#writes
        .filter(({ from, binding }) => from.owner !== binding.scope.owner)
        .map(({ binding }) => binding),
    );
  }

  /** True if others than the function's own straight code read the variable. */
  #isShared(binding: VariableBinding): boolean {
    return binding.scope.owner !== this.#owner || isCaptured(binding);
  }

  /**
   * The variables that stretches of code change, as seen from a scope around them; merged are those read at
   * any of the given steps.
   */
  changed(
    stretches: readonly CodeSpan[],
    scope: Scope,
    at: readonly (NodeId | undefined)[],
  ): Changed {
    const start = Math.min(...stretches.map((stretch) => stretch.start));
    const isIn = ({ identifier }: VariableReference): boolean =>
      stretches.some((stretch) => contains(stretch, identifier));
    const found = new Set<VariableBinding>();
    for (const reference of this.#writes) if (isIn(reference)) found.add(reference.binding);
    for (const binding of this.#writtenInside) found.add(binding);
    const mutated = new Set<VariableBinding>();
    for (const reference of this.#mutations) if (isIn(reference)) mutated.add(reference.binding);
    const isMerged = (binding: VariableBinding): boolean =>
      mutated.has(binding) ||
      this.#isShared(binding) ||
      at.some((step) => step === undefined || this.#isLiveBefore(binding, step));
    const all = [...found]
      .filter(({ kind }) => kind !== 'const')
      .concat([...mutated].filter((binding) => binding.kind === 'const' || !found.has(binding)))
      .filter((binding) => this.#existsAt(binding, scope, start));
    return {
      merged: all.filter(isMerged),
      local: all.filter((binding) => !isMerged(binding)),
      mutated,
    };
  }

  /** True if a name means this variable in a scope, and the variable is there before an offset. */
  #existsAt(binding: VariableBinding, from: Scope, offset: number): boolean {
    if (binding.kind === 'free' || binding.kind === 'import') return false;
    let scope: Scope | null = from;
    while (scope !== null && !scope.bindings.has(binding.name)) scope = scope.parent;
    if (scope?.bindings.get(binding.name) !== binding) return false;
    if (scope.owner !== this.#owner || binding.declaredAt < offset) return true;
    const isHoisted = binding.kind === 'var' || binding.kind === 'function';
    return isHoisted && offset >= this.#bodyStart;
  }

  /** The scope that a node opens, or the one around it. */
  scopeOf(node: t.Node): Scope {
    return this.#scopes.of.get(node) ?? this.scopeAround(node);
  }

  /** The variables of the scope that a node opens. */
  bindingsOf(node: t.Node): Iterable<VariableBinding> {
    return this.#scopes.of.get(node)?.bindings.values() ?? [];
  }

  /** The variables that a declaration declares. */
  declaredBy(node: t.VariableDeclaration): readonly VariableBinding[] {
    const names = node.declarations.flatMap(({ id }) => patternNames(id));
    return names.flatMap((name) => this.#scopes.references.get(name)?.binding ?? []);
  }

  /** True for a loop over values that are computed from its own variables, which are not there yet. */
  usesOwnVariables(node: t.ForOfStatement): boolean {
    return [...this.bindingsOf(node)].some(({ references }) =>
      references.some(({ identifier }) => contains(node.right, identifier)),
    );
  }

  /** True if names that the tail of a list of statements declares are used before it. */
  isUsedBefore(list: readonly t.Node[], tail: readonly t.Node[]): boolean {
    if (tail.length === 0) return false;
    const [start, end] = [tail[0].start!, tail[tail.length - 1].end!];
    const functions = list.filter(({ type }) => type === 'FunctionDeclaration');
    return [...this.scopeAround(tail[0]).bindings.values()].some(
      ({ kind, declaredAt, references }) =>
        (kind === 'let' || kind === 'const' || kind === 'class') &&
        declaredAt >= start &&
        declaredAt < end &&
        references.some(
          ({ identifier }) =>
            identifier.start! < start || functions.some((each) => contains(each, identifier)),
        ),
    );
  }

  /** The innermost scope around a node, its own left out. */
  scopeAround(node: t.Node): Scope {
    let found = this.#scopes.root;
    for (const [opener, scope] of this.#scopes.of) {
      // A name in the tree stands for a function expression's own scope; it has no extent of its own.
      if (opener.type === 'Identifier' || opener === node) continue;
      if (contains(opener, node) && contains(found.node, opener)) found = scope;
    }
    return found;
  }

  #isLiveBefore(binding: VariableBinding, step: NodeId): boolean {
    const bit = this.#liveness.index.number(binding);
    return bit !== undefined && this.#liveness.before.get(step).has(bit);
  }

  /**
   * True for a variable that every assignment gives an integer of 32 bits, by the syntax of all of them: a counter, which
   * integer literals alone change, or one that results of bit operators, or of sums with these, are assigned to.
   */
  isInteger(binding: VariableBinding): boolean {
    const kinds = this.#integerKinds(binding, new Set());
    return !kinds.has('none') && (!kinds.has('variable') || kinds.has('bits'));
  }

  #integerKinds(binding: VariableBinding, open: Set<VariableBinding>): ReadonlySet<IntegerKind> {
    const kinds = new Set<IntegerKind>();
    if (open.has(binding)) return kinds;
    open.add(binding);
    const ofVariable = (name: t.Node): ReadonlySet<IntegerKind> => {
      const known = this.#scopes.references.get(name)?.binding;
      const isKnown = known !== undefined && /^(let|const|var)$/.test(known.kind) && known.references.some(({ writes }) => writes); // prettier-ignore
      return isKnown ? this.#integerKinds(known, open) : new Set(['none']);
    };
    for (const { writes, identifier } of binding.references) {
      if (!writes) continue;
      const value = this.#integerWrites.get(identifier);
      if (value === undefined) kinds.add('none');
      else if (value !== null) addKinds(value, kinds, ofVariable);
    }
    return kinds;
  }
}

/** The names at the root of members that are assigned: `state` of `state.h = 1`. */
function mutatedNames(node: t.Node): ReadonlySet<t.Node> {
  const found = new Set<t.Node>();
  const note = (target: t.Node): void => {
    let at = unwrapped(target);
    if (at.type !== 'MemberExpression') {
      if (at.type === 'ArrayPattern') for (const each of at.elements) if (each) note(each);
      return;
    }
    while (at.type === 'MemberExpression') at = unwrapped(at.object);
    if (at.type === 'Identifier') found.add(at);
  };
  visitNodes(node, (each) => {
    if (each.type === 'AssignmentExpression') note(each.left);
    else if (each.type === 'UpdateExpression') note(each.argument);
  });
  return found;
}

/** Origin of an integer: literals, another variable, bit operators; or none that is known. */
type IntegerKind = 'literal' | 'variable' | 'bits' | 'none';

/** Values of writes by the names they write; null for writes that count by literals. */
type IntegerWrites = ReadonlyMap<t.Node, t.Node | null>;

function integerWritesOf(node: t.Node): IntegerWrites {
  const found = new Map<t.Node, t.Node | null>();
  visitNodes(node, (each) => {
    if (each.type === 'UpdateExpression') found.set(unwrapped(each.argument), null);
    else if (each.type === 'VariableDeclarator' && each.init) found.set(each.id, each.init);
    else if (each.type !== 'AssignmentExpression') return;
    else if (each.operator === '=') found.set(each.left, each.right);
    else if (/^[+-]=$/.test(each.operator) && isIntegerLiteral(each.right))
      found.set(each.left, null); // prettier-ignore
    else found.set(each.left, each);
  });
  return found;
}

/** Operators whose results are integers of 32 bits, with a sign. */
const bitOperators: ReadonlySet<string> = new Set('| & ^ << >>'.split(' '));

/** True for a number of bits that leaves no sign. */
function isShift(node: t.Node): boolean {
  const inner = unwrapped(node);
  return inner.type === 'NumericLiteral' && Number.isInteger(inner.value) && inner.value % 32 > 0;
}

/** Adds how an expression gives integers of 32 bits. */
function addKinds(
  node: t.Node,
  kinds: Set<IntegerKind>,
  ofVariable: (name: t.Node) => ReadonlySet<IntegerKind>,
): void {
  const inner = unwrapped(node);
  if (isIntegerLiteral(inner)) kinds.add('literal');
  else if (givesBits(inner)) kinds.add('bits');
  else if (inner.type === 'ConditionalExpression') {
    addKinds(inner.consequent, kinds, ofVariable);
    addKinds(inner.alternate, kinds, ofVariable);
  } else if (inner.type === 'Identifier') {
    for (const kind of ofVariable(inner)) kinds.add(kind);
    kinds.add('variable');
  } else if (inner.type === 'BinaryExpression' && /^[+-]$/.test(inner.operator) && isIntegerLiteral(inner.right)) {
    addKinds(inner.left, kinds, ofVariable);
    kinds.add('variable');
  } else kinds.add('none');
} // prettier-ignore

/** True for operators on bits, and assignments by them, whose results have 32 bits with a sign. */
function givesBits(node: t.Node): boolean {
  switch (node.type) {
    case 'UnaryExpression':
      return node.operator === '~';
    case 'BinaryExpression':
      return bitOperators.has(node.operator) || (node.operator === '>>>' && isShift(node.right));
    case 'AssignmentExpression':
      return bitOperators.has(node.operator.slice(0, -1)) || (node.operator === '>>>=' && isShift(node.right)); // prettier-ignore
    case 'CallExpression': {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.computed) return false;
      const { object, property } = callee;
      return object.type === 'Identifier' && object.name === 'Math' && property.type === 'Identifier' && /^(imul|clz32)$/.test(property.name); // prettier-ignore
    }
    default:
      return false;
  }
}

/** True for an integer literal, and for a choice between such. */
export function isIntegerLiteral(node: t.Node): boolean {
  const inner = unwrapped(node);
  if (inner.type === 'ConditionalExpression') {
    return isIntegerLiteral(inner.consequent) && isIntegerLiteral(inner.alternate);
  }
  if (inner.type === 'UnaryExpression' && inner.operator === '-') {
    return isIntegerLiteral(inner.argument);
  }
  return inner.type === 'NumericLiteral' && Number.isSafeInteger(inner.value);
}

/** True for a function that may suspend: its code between two suspensions can be put into closures. */
export function suspends(node: t.Function): boolean {
  return node.async === true || ('generator' in node && node.generator === true);
}
