import { graphDirective } from '../base/directive.js';
import type { SyntaxNode } from './linter.js';

/* Functions that are converted: their branches and loops may be decided by arrays. */

type FunctionNode = SyntaxNode & {
  readonly body: SyntaxNode & { readonly body?: readonly SyntaxNode[] };
};

type DirectiveStatement = SyntaxNode & { readonly directive?: string };

type Decision = SyntaxNode & { readonly test?: SyntaxNode | null };

function isFunctionNode(node: SyntaxNode): node is FunctionNode {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

function hasGraphDirective({ body }: FunctionNode): boolean {
  return (body.body ?? []).some(
    (each) => (each as DirectiveStatement).directive === graphDirective,
  );
}

/** The nodes around a node, the innermost first. */
function* ancestors(node: SyntaxNode): IterableIterator<SyntaxNode> {
  for (let at = node.parent; at !== null && at !== undefined; at = at.parent) yield at;
}

/** True in a function with the directive `'use graph'`, and in functions inside of one. */
export function isConverted(node: SyntaxNode): boolean {
  return [...ancestors(node)].some((each) => isFunctionNode(each) && hasGraphDirective(each));
}

/**
 * True for a part of a branch or loop, in the same function, that an array decides about.
 * @param decides Predicate for tests.
 */
export function isDecidedByArray(
  node: SyntaxNode,
  decides: (test: SyntaxNode) => boolean,
): boolean {
  let inner = node;
  for (const around of ancestors(node)) {
    if (isFunctionNode(around)) return false;
    const { test } = around as Decision;
    if (test !== null && test !== undefined && test !== inner && decides(test)) return true;
    inner = around;
  }
  return false;
}
