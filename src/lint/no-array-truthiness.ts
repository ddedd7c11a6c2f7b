import { isConverted, isDecidedByArray } from './directive.js';
import type { Context, Identifier, SyntaxNode, Rule, Visitors } from './linter.js';
import { localArrayTest } from './local.js';
import { binaryOperators, equalities, type Message, messages, unaryOperators } from './messages.js';
import { typedArrayTest } from './typed.js';

type Infix = SyntaxNode & {
  readonly operator: string;
  readonly left: SyntaxNode;
  readonly right: SyntaxNode;
};
type Prefix = SyntaxNode & { readonly operator: string; readonly argument: SyntaxNode };
type Tested = SyntaxNode & { readonly test: SyntaxNode | null };
type Choice = Tested & { readonly consequent: SyntaxNode; readonly alternate: SyntaxNode };
type Call = SyntaxNode & { readonly callee: SyntaxNode; readonly arguments: readonly SyntaxNode[] };
type Text = SyntaxNode & { readonly expressions: readonly SyntaxNode[] };

/** Arithmetic that converts text to a number, which `+` does not. */
const numeric: ReadonlySet<string> = new Set(['-', '*', '/', '%', '**']);

/**
 * Reports JavaScript operators on arrays. Those that convert throw at run time; truthiness and identity
 * cannot be trapped, so only a linter can find them. In functions with the directive `'use graph'` arrays may
 * decide branches and loops; what conversion leaves as it is is reported where they decide about it.
 */
export const noArrayTruthiness: Rule = {
  meta: {
    type: 'problem',
    docs: { description: "disallow JavaScript's operators and conditions on arrays" },
    messages: { ...messages },
    schema: [
      {
        type: 'object',
        properties: { modules: { type: 'array', items: { type: 'string' } } },
        additionalProperties: false,
      },
    ],
  },

  create(given: unknown): Visitors {
    const context = given as Context;
    const { sourceCode, options } = context;
    const { modules = [] } = (options[0] ?? {}) as { modules?: readonly string[] };
    const isArray =
      typedArrayTest(sourceCode.parserServices) ?? localArrayTest(sourceCode, modules);

    const report = (
      node: SyntaxNode,
      messageId: Message,
      data: Readonly<Record<string, string>> = {},
    ): void => context.report({ node, messageId, data });

    /** Reports arrays whose truthiness decides a condition. */
    const tested = (node: SyntaxNode | null, messageId: Message): void => {
      if (node === null) return;
      if (node.type === 'LogicalExpression') {
        const { operator, left, right } = node as Infix;
        if (operator === '??') tested(left, messageId); // the others' own visit reports their left
        tested(right, messageId);
      } else if (node.type === 'ConditionalExpression') {
        tested((node as Choice).consequent, messageId);
        tested((node as Choice).alternate, messageId);
      } else if (isArray(node)) {
        if (messageId === 'convert' || !isConverted(node)) report(node, messageId);
      }
    };

    /** True for tests that have an array in them, certainly. */
    const decides = (node: SyntaxNode): boolean => {
      if (node.type === 'LogicalExpression') {
        return decides((node as Infix).left) || decides((node as Infix).right);
      }
      if (node.type === 'UnaryExpression') return decides((node as Prefix).argument);
      return isArray(node);
    };

    /** Reports what conversion leaves as it is, where an array decides about it. */
    const unconverted = (node: SyntaxNode, construct: string): void => {
      if (isConverted(node) && isDecidedByArray(node, decides))
        report(node, 'refused', { construct });
    };

    const logical = ({ operator, left }: Infix): void => {
      if (operator.startsWith('&&')) tested(left, 'and');
      else if (operator.startsWith('||')) tested(left, 'or');
    };

    const binary = (node: Infix, operator: string): void => {
      const operands = [node.left, node.right];
      const arrays = operands.filter(isArray);
      const data = { operator: node.operator };
      if (operator in equalities) {
        const isCertain = arrays.length === 2 || (arrays.length === 1 && operands.some(isPlain));
        if (isCertain) report(node, 'equality', { ...data, method: equalities[operator] });
      } else if (arrays.length > 0 && operator === '+' && operands.some(isText)) {
        report(node, 'concatenation', data);
      } else if (arrays.length > 0 && operator in binaryOperators) {
        report(node, 'binary', { ...data, method: binaryOperators[operator] });
      } else if (numeric.has(operator) && operands.some(isArrayText)) report(node, 'text', data);
    };

    const isArrayText = (node: SyntaxNode): boolean =>
      node.type === 'TemplateLiteral' && (node as Text).expressions.some(isArray);

    const loop = ({ test }: Tested): void => tested(test, 'loop');

    const visitors: Readonly<Record<string, (node: never) => void>> = {
      IfStatement: ({ test }: Tested): void => tested(test, 'branch'),
      ConditionalExpression: ({ test }: Tested): void => tested(test, 'branch'),
      WhileStatement: loop,
      DoWhileStatement: loop,
      ForStatement: loop,
      LogicalExpression: logical,
      BinaryExpression: (node: Infix): void => binary(node, node.operator),
      AssignmentExpression: (node: Infix): void => {
        if (node.operator === '=') return;
        logical(node);
        binary(node, node.operator.slice(0, -1));
      },
      UnaryExpression: (node: Prefix): void => {
        const { operator, argument } = node;
        const instead = unaryOperators[operator];
        if (operator === 'delete') unconverted(node, operator);
        if (operator === '!') tested(argument, 'not');
        else if (instead === undefined) return;
        else if (isArray(argument)) report(argument, 'unary', { operator, instead });
        else if (isArrayText(argument)) report(argument, 'text', { operator });
      },
      TryStatement: (node: SyntaxNode): void => unconverted(node, 'try'),
      AwaitExpression: (node: SyntaxNode): void => unconverted(node, 'await'),
      YieldExpression: (node: SyntaxNode): void => unconverted(node, 'yield'),
      UpdateExpression: ({ operator, argument }: Prefix): void => {
        const method = binaryOperators[operator[0]];
        if (isArray(argument)) report(argument, 'update', { operator, method });
      },
      CallExpression: ({ callee, arguments: [argument] }: Call): void => {
        const isConversion =
          callee.type === 'Identifier' && (callee as Identifier).name === 'Boolean';
        if (isConversion && argument !== undefined) tested(argument, 'convert');
      },
    };
    return visitors as Visitors; // each is called with nodes of its type alone
  },
};

/** True for a literal number, bigint, boolean or text, which no array equals. */
function isPlain(node: SyntaxNode): boolean {
  if (node.type === 'UnaryExpression') {
    const { operator, argument } = node as Prefix;
    return operator === '-' && isPlain(argument);
  }
  return (
    node.type === 'Literal' && (node as SyntaxNode & { readonly value: unknown }).value !== null
  );
}

function isText(node: SyntaxNode): boolean {
  if (node.type === 'TemplateLiteral') return true;
  return (
    node.type === 'Literal' &&
    typeof (node as SyntaxNode & { readonly value: unknown }).value === 'string'
  );
}
