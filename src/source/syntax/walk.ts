import type * as t from '@babel/types';

/** A node of the syntax tree of which only its type and place are known. */
interface Located {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const skipped: ReadonlySet<string> = new Set(['loc', 'extra', 'errors', 'tokens', 'comments']);

/** Wrappers of TypeScript around expressions; all other nodes of TypeScript are types. */
const wrappers: ReadonlySet<string> = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
]);

/** Nodes of TypeScript that exist when the program runs. */
const executed: ReadonlySet<string> = new Set([
  ...wrappers,
  'TSParameterProperty',
  'TSEnumDeclaration',
  'TSEnumBody',
  'TSEnumMember',
  'TSModuleDeclaration',
  'TSModuleBlock',
  'TSExportAssignment',
]);

/** True if a node is there for the type checker only. */
export function isTypeOnly(node: t.Node): boolean {
  return node.type.startsWith('TS') && !executed.has(node.type);
}

/** The expression inside wrappers of TypeScript and parentheses. */
export function unwrapped(node: t.Node): t.Node {
  let inner = node;
  while (wrappers.has(inner.type) || inner.type === 'ParenthesizedExpression') {
    inner = (inner as t.TSAsExpression | t.ParenthesizedExpression).expression;
  }
  return inner;
}

export function isFunction(node: t.Node): node is t.Function {
  return (
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression' ||
    node.type === 'ObjectMethod' ||
    node.type === 'ClassMethod' ||
    node.type === 'ClassPrivateMethod'
  );
}

export function isClass(node: t.Node): node is t.Class {
  return node.type === 'ClassDeclaration' || node.type === 'ClassExpression';
}

function isLocated(value: unknown): value is Located {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<Located>).type === 'string' &&
    typeof (value as Partial<Located>).start === 'number'
  );
}

/** The nodes directly below a node in the order of the text, each place of the text once. */
export function childrenOf(node: t.Node): readonly t.Node[] {
  const found: Located[] = [];
  for (const [key, value] of Object.entries(node) as [string, unknown][]) {
    if (skipped.has(key)) continue;
    // A shorthand `{ x }` has the same text as key and as value; the value says how it is used.
    if (key === 'key' && 'shorthand' in node && node.shorthand === true) continue;
    if (isImportOrExportAlias(node, key)) continue;
    if (Array.isArray(value)) found.push(...value.filter(isLocated));
    else if (isLocated(value)) found.push(value);
  }
  // What has a type, a start and an end in the tree is a node.
  return found.sort((a, b) => a.start - b.start || a.end - b.end) as unknown as t.Node[];
}

function isImportOrExportAlias(node: t.Node, key: string): boolean {
  if (node.type === 'ImportSpecifier') {
    return key === 'imported' && node.imported.start === node.local.start;
  }
  return (
    node.type === 'ExportSpecifier' &&
    key === 'exported' &&
    node.exported.start === node.local.start
  );
}

/** Visits a node and all below it, each before what is below it; `false` leaves out what is below. */
export function visitNodes(root: t.Node, visit: (node: t.Node) => boolean | void): void {
  if (visit(root) === false) return;
  for (const child of childrenOf(root)) visitNodes(child, visit);
}

/** True if a function's body, or a program, starts with a directive. */
export function hasDirective(node: t.Node, text: string): boolean {
  return (
    'directives' in node && node.directives?.some(({ value }) => value.value === text) === true
  );
}

/** A stretch of the source. */
export interface CodeSpan {
  readonly start: number;
  readonly end: number;
}

/** True for code that lies within other code. */
export function contains(enclosing: CodeSpan | t.Node, inner: CodeSpan | t.Node): boolean {
  return enclosing.start! <= inner.start! && inner.end! <= enclosing.end!;
}

/** The stretches of a program that are in strict mode. */
export function strictSpans(program: t.Program): readonly CodeSpan[] {
  if (program.sourceType === 'module' || hasDirective(program, 'use strict')) return [program as CodeSpan]; // prettier-ignore
  const found: t.Node[] = [];
  visitNodes(program, (node) => {
    const isStrict = isClass(node) || (isFunction(node) && hasDirective(node.body, 'use strict'));
    if (isStrict) found.push(node);
    return !isStrict;
  });
  return found as readonly CodeSpan[];
}
