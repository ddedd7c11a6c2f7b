import type * as t from '@babel/types';
import { CapturedForm } from '../emit/captured.js';
import type { FileContext } from '../emit/form.js';
import { FunctionFacts } from '../flow/function-facts.js';
import { dynamicScopeIn } from '../emit/native-statements.js';
import type { Piece } from '../emit/output.js';
import { capturedParameter } from '../emit/parameters.js';
import { jumpsOutOf } from '../syntax/shape.js';
import type { VariableBinding } from '../syntax/scopes.js';
import { type CodeSpan, contains, isFunction, visitNodes } from '../syntax/walk.js';
import type { SourceConstruct, SourceRefusal } from './construct.js';

/** The branches and loops of a function, and what of it cannot become a graph. */
export interface FunctionExplanation {
  readonly constructs: readonly SourceConstruct[];
  readonly refusals: readonly SourceRefusal[];
}

interface Found {
  readonly node: t.Node;
  readonly kind: string;
  /** False for expressions that neither assign nor call. */
  readonly mayChange: boolean;
}

/**
 * Explains a function by writing its captured form: the constructs are those for which the emitter calls the
 * runtime, with the variables that the same data flow finds.
 */
export function explainFunction(node: t.Function, file: FileContext): FunctionExplanation {
  const found: (Found & { readonly facts: FunctionFacts })[] = [];
  const refused: SourceRefusal[] = [];
  const visit = (each: t.Function): void => {
    if ((each as { readonly body?: unknown }).body === undefined) return;
    const dynamic = dynamicScopeIn(each);
    if (dynamic !== null) {
      refused.push({ construct: `a function with ${dynamic}`, ...placeOf(each, file) });
      // It has the host form only; functions inside it have both.
      return visitNodes(each.body, (inner) => !isFunction(inner) || (visit(inner), false));
    }
    const facts = new FunctionFacts(each, file.scopes);
    const inner: FileContext = { ...file, renderFunction: (f) => (visit(f), []) };
    const form = new ExplainingForm(inner, facts, each);
    for (const parameter of each.params) capturedParameter(parameter, form, each);
    form.statements();
    found.push(...form.found.map((one) => ({ ...one, facts })));
    refused.push(...form.refused);
  };
  visit(node);
  const ordered = found.sort((a, b) => a.node.start! - b.node.start! || b.node.end! - a.node.end!);
  return {
    constructs: ordered.map((each) => describeConstruct(each, ordered, file)),
    refusals: distinct(refused).sort((a, b) => a.line - b.line || a.column - b.column),
  };
}

/** Refusals without those that several statements have for the same reason. */
function distinct(refused: readonly SourceRefusal[]): SourceRefusal[] {
  const byText = refused.map((each) => [`${each.line}:${each.column} ${each.construct}`, each] as const); // prettier-ignore
  return [...new Map(byText).values()];
}

function placeOf(
  node: t.Node,
  file: FileContext,
): { readonly line: number; readonly column: number } {
  const [line, column] = file.places.text(node.start!).split(':').map(Number);
  return { line, column };
}

function describeConstruct(
  { node, kind, mayChange, facts }: Found & { readonly facts: FunctionFacts },
  all: readonly Found[],
  file: FileContext,
): SourceConstruct {
  const { heads, after } = facts.flow;
  const head = heads.get(node);
  const scope = head === undefined ? facts.scopeAround(node) : facts.scopeOf(node);
  const changed = (at: Parameters<FunctionFacts['changed']>[2]): ReturnType<FunctionFacts['changed']> =>
    facts.changed(changingParts(node) as readonly CodeSpan[], scope, at); // prettier-ignore
  const end = after.get(node);
  const outer = mayChange ? changed([end]) : { merged: [], local: [] };
  const carries = head === undefined ? [] : changed([head]).merged;
  const inside = declaredInside(node, file);
  const kept = outer.local.filter((binding) => !carries.includes(binding));
  return {
    kind,
    ...placeOf(node, file),
    depth: all.filter(({ node: other }) => other !== node && contains(other, node)).length,
    reads: namesOf(readBy(node, file)),
    carries: namesOf(carries),
    returns: namesOf(outer.merged),
    local: namesOf([...kept, ...inside.filter((binding) => !carries.includes(binding))]),
    leavesBy: jumpNames(node),
  };
}

/** The parts of a construct in which it may change variables; nodes that were parsed have an extent. */
function changingParts(node: t.Node): readonly t.Node[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return [node.consequent, ...(node.alternate ? [node.alternate] : [])];
    case 'LogicalExpression':
      return [node.right];
    case 'ForOfStatement':
      return [node.left, node.body];
    case 'ForStatement':
      return [node.test, node.update, node.body].filter((part) => part !== null && part !== undefined); // prettier-ignore
    default:
      return [node];
  }
}

/** The variables that a construct declares. */
function declaredInside(node: t.Node, { scopes }: FileContext): readonly VariableBinding[] {
  const found = new Set<VariableBinding>();
  for (const { binding } of scopes.references.values()) {
    const { kind, declaredAt, scope } = binding;
    const isVariable = kind === 'let' || kind === 'const' || kind === 'var';
    const isWithin = declaredAt >= node.start! && declaredAt < node.end!;
    // Those of functions inside it are theirs.
    if (isVariable && isWithin && contains(scope.owner.node, node)) found.add(binding);
  }
  return [...found].filter(({ kind }) => kind !== 'var');
}

/** The variables from outside of a construct that it reads; functions, classes and imports are no values of it. */
function readBy(node: t.Node, { scopes }: FileContext): readonly VariableBinding[] {
  const found = new Set<VariableBinding>();
  for (const { identifier, binding, reads } of scopes.references.values()) {
    if (!reads || !contains(node, identifier)) continue;
    if (/^(?:free|import|function|class)$/.test(binding.kind)) continue;
    const isOwn = binding.declaredAt >= node.start! && binding.declaredAt < node.end!;
    if (!isOwn || binding.kind === 'var') found.add(binding);
  }
  return [...found];
}

function jumpNames(node: t.Node): readonly string[] {
  const names = jumpsOutOf(node).map(({ type }) => type.replace('Statement', '').toLowerCase());
  return [...new Set(names)];
}

function namesOf(bindings: readonly VariableBinding[]): readonly string[] {
  return [...new Set(bindings.map(({ name }) => name))];
}

/** The keyword of each construct by the function of the runtime that decides it. */
const kinds: Readonly<Record<string, (node: t.Node) => string>> = {
  branch: () => 'if',
  pick: () => '?:',
  and: () => '&&',
  or: () => '||',
  select: () => 'switch',
  each: () => 'for...of',
  loop: ({ type }) =>
    type === 'ForStatement' ? 'for' : type === 'WhileStatement' ? 'while' : 'do',
};

/** Functions of the runtime that are given the place and name of what cannot become a graph. */
const asking: ReadonlySet<string> = new Set(['test', 'rows', 'subject']);

/** The captured form of a function, written to see what it is made of. */
class ExplainingForm extends CapturedForm {
  readonly found: Found[] = [];
  readonly refused: SourceRefusal[] = [];

  override call(
    name: string,
    node: t.Node,
    ...args: readonly (string | readonly Piece[])[]
  ): readonly Piece[] {
    if (Object.hasOwn(kinds, name)) {
      const isExpression = name === 'pick' || name === 'and' || name === 'or';
      const mayChange = !isExpression || args[name === 'pick' ? 4 : 3] !== 'undefined';
      this.found.push({ node, kind: kinds[name](node), mayChange });
    }
    const [, place, construct] = args;
    if (asking.has(name) && typeof place === 'string' && typeof construct === 'string') {
      const [line, column] = place.slice(1, -1).split(':').map(Number);
      this.refused.push({ construct: construct.slice(1, -1), line, column });
    }
    return super.call(name, node, ...args);
  }

  override native(node: t.Node): readonly Piece[] {
    if (node.type === 'ForInStatement') this.#refuse(node, 'a loop over the keys of an object');
    return super.native(node);
  }

  #refuse(node: t.Node, construct: string): void {
    this.refused.push({ construct, ...placeOf(node, this.file) });
  }

  override statement(node: t.Node): readonly Piece[] {
    if (node.type === 'TryStatement') this.#refuse(node, 'try');
    return super.statement(node);
  }

  override expression(
    node: t.Node,
    use?: Parameters<CapturedForm['expression']>[1],
  ): readonly Piece[] {
    const isDelete = node.type === 'UnaryExpression' && node.operator === 'delete';
    if (isDelete) this.#refuse(node, 'delete');
    return super.expression(node, use);
  }
}
