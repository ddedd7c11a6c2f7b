import type * as t from '@babel/types';
import { unwrapped } from '../syntax/walk.js';

const plainTypes: ReadonlySet<string> = new Set([
  'NumericLiteral',
  'StringLiteral',
  'BooleanLiteral',
  'NullLiteral',
  'BigIntLiteral',
  'RegExpLiteral',
  'TemplateLiteral',
  'ArrowFunctionExpression',
  'FunctionExpression',
  'ClassExpression',
  'ObjectExpression',
  'ArrayExpression',
]);

/** Operators that give a primitive, or throw, whatever the operands are. */
const primitive: ReadonlySet<string> = new Set(
  '+ - * / % ** | & ^ << >> >>> < <= > >= == != === !== in instanceof'.split(' '),
);

/** Operators that the captured form converts. */
export const convertedOperators: ReadonlySet<string> = new Set(
  '+ - * / % ** | & ^ << >> >>> < <= > >= == != === !=='.split(' '),
);

/**
 * True if an expression is no array, by its syntax alone. On the host arithmetic and comparison give
 * primitives; in captured code numbers may be arrays, and so may the results.
 */
export function isPlainKind(
  expression: t.Node,
  form: 'host' | 'captured',
  isPlainName: (identifier: t.Node) => boolean = () => false,
): boolean {
  const node = unwrapped(expression);
  const inside = (part: t.Node): boolean => isPlainKind(part, form, isPlainName);
  if (plainTypes.has(node.type)) return true;
  switch (node.type) {
    case 'BinaryExpression':
      if (node.operator === 'in' || node.operator === 'instanceof') return true;
      if (form === 'host') return primitive.has(node.operator);
      return inside(node.left) && inside(node.right);
    case 'UnaryExpression':
      if (['typeof', 'void', 'delete'].includes(node.operator)) return true;
      return form === 'host' || inside(node.argument);
    case 'UpdateExpression':
      return form === 'host';
    case 'LogicalExpression':
      return inside(node.left) && inside(node.right);
    case 'ConditionalExpression':
      return inside(node.consequent) && inside(node.alternate);
    case 'SequenceExpression':
      return inside(node.expressions[node.expressions.length - 1]);
    case 'AssignmentExpression':
      return node.operator === '='
        ? inside(node.right)
        : form === 'host' && /^[^&|?]=|^(\*\*|<<|>>>?)=|^[&|]=/.test(node.operator);
    case 'Identifier':
      return isPlainName(node);
    default:
      return false;
  }
}
