import type * as t from '@babel/types';
import { isFunction, visitNodes } from './walk.js';

/* Questions about statements that only their syntax answers. */

export type LoopShape =
  t.WhileStatement | t.DoWhileStatement | t.ForStatement | t.ForInStatement | t.ForOfStatement;

export function isLoopStatement(node: t.Node): node is LoopShape {
  return /^(While|DoWhile|For|ForIn|ForOf)Statement$/.test(node.type);
}

export type Jump = t.ReturnStatement | t.BreakStatement | t.ContinueStatement;

export interface FoundJump {
  readonly jump: Jump;
  /** The statement that it leaves or continues; null for the function. */
  readonly target: t.Node | null;
  /** The statements between the root and the jump. */
  readonly path: readonly t.Node[];
}

/** The jumps in a statement with where they lead, those that stay inside included. */
export function jumpsIn(root: t.Node): readonly FoundJump[] {
  const found: FoundJump[] = [];
  const go = (node: t.Node, path: readonly t.Node[], labels: readonly string[]): void => {
    if (isFunction(node) || node.type === 'ClassBody' || node.type.startsWith('TS')) return;
    if (node.type === 'ReturnStatement') found.push({ jump: node, target: null, path });
    if (node.type === 'BreakStatement' || node.type === 'ContinueStatement') {
      found.push({ jump: node, target: jumpTarget(node, path) ?? enclosing, path });
    }
    const inside = [...path, node];
    const next = node.type === 'LabeledStatement' ? [...labels, node.label.name] : [];
    for (const value of Object.values(node) as unknown[]) {
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (isSyntax(child)) go(child, inside, next);
      }
    }
  };
  go(root, [], []);
  return found;
}

/** Stands for a target outside of what was asked about. */
export const enclosing: t.Node = { type: 'EmptyStatement' } as t.EmptyStatement;

function isSyntax(value: unknown): value is t.Node {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { type?: unknown }).type === 'string' &&
    typeof (value as { start?: unknown }).start === 'number' &&
    'loc' in value
  );
}

/** The statement among `path` that a jump leads to: a loop, a switch, or a labeled statement that is neither. */
export function jumpTarget(
  { type, label }: t.BreakStatement | t.ContinueStatement,
  path: readonly t.Node[],
): t.Node | undefined {
  if (!label) {
    return path.findLast(
      (node) =>
        isLoopStatement(node) || (type === 'BreakStatement' && node.type === 'SwitchStatement'),
    );
  }
  const at = path.findLastIndex(
    (node) => node.type === 'LabeledStatement' && node.label.name === label.name,
  );
  return at < 0 ? undefined : labeledBy(path[at] as t.LabeledStatement);
}

/** The statement below labels; the outermost label where that is neither a loop nor a switch. */
export function labeledBy(node: t.LabeledStatement): t.Node {
  let inner: t.Node = node;
  while (inner.type === 'LabeledStatement') inner = inner.body;
  return isLoopStatement(inner) || inner.type === 'SwitchStatement' ? inner : node;
}

/** The jumps in a statement that lead out of it. */
export function jumpsOutOf(node: t.Node): readonly Jump[] {
  return jumpsIn(node)
    .filter(
      ({ target, path }) =>
        target === null || target === enclosing || !(target === node || path.includes(target)),
    )
    .map(({ jump }) => jump);
}

/** True if a jump in a statement leads out of it. */
export function escapes(node: t.Node): boolean {
  return jumpsOutOf(node).length > 0;
}

/** True if some node of a kind is in a statement's own code. */
export function has(root: t.Node, test: (node: t.Node) => boolean): boolean {
  return firstOf(root, test) !== null;
}

/** The first node of a kind in a statement's own code. */
function firstOf(root: t.Node, test: (node: t.Node) => boolean): t.Node | null {
  let found: t.Node | null = null;
  visitNodes(root, (node) => {
    if (node !== root && (isFunction(node) || node.type === 'ClassBody')) return false;
    if (found === null && test(node)) found = node;
    return found === null;
  });
  return found;
}

/** The first place of a node's own code where its function suspends. */
export function suspensionIn(root: t.Node, from: number = 0): t.Node | null {
  return firstOf(root, (node) => isSuspension(node) && node.start! >= from);
}

function isSuspension(node: t.Node): boolean {
  return (
    node.type === 'AwaitExpression' ||
    node.type === 'YieldExpression' ||
    (node.type === 'ForOfStatement' && node.await === true)
  );
}

/** The keyword of a place where a function suspends. */
export function suspensionKeyword({ type }: t.Node): string {
  if (type === 'ForOfStatement') return 'for await';
  return type === 'AwaitExpression' ? 'await' : 'yield';
}

/** The first suspension in the parts of a statement that would become closures. */
export function suspensionInside(node: t.Node): t.Node | null {
  const first = (parts: readonly (t.Node | null | undefined)[]): t.Node | null =>
    parts.flatMap((part) => (part ? (suspensionIn(part) ?? []) : []))[0] ?? null;
  switch (node.type) {
    case 'IfStatement':
      return first([node.consequent, node.alternate]);
    case 'SwitchStatement':
      return first(node.cases);
    case 'ForOfStatement':
      return node.await ? node : first([node.left, node.body]);
    default:
      return suspensionIn(node);
  }
}

/** True if a jump to `target` inside it crosses a statement that stays as it is, such as `try`. */
export function isLeftFromNative(target: t.Node, isNative: (node: t.Node) => boolean): boolean {
  return jumpsIn(target).some(
    (found) =>
      found.target === target && found.path.some((node) => node !== target && isNative(node)),
  );
}

/** True for a statement after which control may go on by several paths, though jumps leave it. */
export function mayPart(node: t.Node): boolean {
  if (node.type === 'IfStatement') {
    return completes(node.consequent) && (!node.alternate || completes(node.alternate));
  }
  return node.type === 'SwitchStatement' || node.type === 'LabeledStatement';
}

/** False for a statement after which control never goes on, by its syntax. */
export function completes(node: t.Node): boolean {
  if (node.type === 'BlockStatement') return node.body.every(completes);
  if (node.type === 'IfStatement') {
    return completes(node.consequent) || !node.alternate || completes(node.alternate);
  }
  return !jumping.has(node.type);
}

/** Statements that do nothing but jump. */
export const jumping: ReadonlySet<string> = new Set([
  'ReturnStatement',
  'BreakStatement',
  'ContinueStatement',
  'ThrowStatement',
]);

/** True if statements inside of others return. */
export function returnsFromInside(body: t.Function['body']): boolean {
  return (
    body.type === 'BlockStatement' &&
    body.body.some(
      (statement) =>
        statement.type !== 'ReturnStatement' &&
        jumpsIn(statement).some(({ target }) => target === null),
    )
  );
}

/** True for a declaration that belongs to its block. */
export function isLexical(node: t.Node): boolean {
  return (
    (node.type === 'VariableDeclaration' && node.kind !== 'var') ||
    node.type === 'FunctionDeclaration' ||
    node.type === 'ClassDeclaration'
  );
}
