import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { childrenOf, isClass, isFunction, isTypeOnly } from '../syntax/walk.js';
import type { FlowWriter } from './writer.js';

/** Writes the steps of expressions, and of patterns that give variables their values. */
export class ExpressionFlow {
  readonly #writer: FlowWriter;

  constructor(writer: FlowWriter) {
    this.#writer = writer;
  }

  test(node: t.Node): void {
    this.expression(node);
    this.#writer.add({ kind: 'test', node });
  }

  class(node: t.Class): void {
    if (node.superClass) this.expression(node.superClass);
    for (const member of node.body.body) {
      if ('computed' in member && member.computed && 'key' in member) this.expression(member.key);
    }
  }

  #expressions(nodes: readonly (t.Node | null | undefined)[]): void {
    for (const node of nodes) if (node) this.expression(node);
  }

  expression(node: t.Node): void {
    if (isTypeOnly(node)) return;
    if (isClass(node)) return this.class(node);
    if (isFunction(node)) {
      if ('key' in node && node.computed && node.key) this.expression(node.key);
      return;
    }
    switch (node.type) {
      case 'Identifier':
      case 'JSXIdentifier':
        return this.#writer.read(node);
      case 'MemberExpression':
        return this.#expressions([node.object, node.computed ? node.property : null]);
      case 'OptionalMemberExpression':
      case 'OptionalCallExpression': {
        const ends: NodeId[] = [];
        this.#chain(node, ends);
        const after = this.#writer.join(node);
        for (const end of ends) this.#writer.edge(end, after, 'next');
        return this.#writer.goTo(after);
      }
      case 'ObjectProperty':
        return this.#expressions([node.computed ? node.key : null, node.value]);
      case 'MetaProperty':
        return;
      case 'LogicalExpression':
        return this.#writer.branch(
          node,
          () => this.test(node.left),
          () => node.operator === '&&' && this.expression(node.right),
          () => node.operator !== '&&' && this.expression(node.right),
        );
      case 'ConditionalExpression':
        return this.#writer.branch(
          node,
          () => this.test(node.test),
          () => this.expression(node.consequent),
          () => this.expression(node.alternate),
        );
      case 'AssignmentExpression':
        return this.#assignment(node);
      case 'UpdateExpression':
        this.expression(node.argument);
        return this.bind(node.argument);
      default:
        return this.#expressions(childrenOf(node));
    }
  }

  /** An optional chain; `ends` collects the steps from which the rest of it is left out. */
  #chain(node: t.Node, ends: NodeId[]): void {
    if (node.type === 'OptionalMemberExpression') {
      this.#chain(node.object, ends);
      if (node.optional) ends.push(this.#writer.add({ kind: 'test', node }));
      if (node.computed) this.expression(node.property);
    } else if (node.type === 'OptionalCallExpression') {
      this.#chain(node.callee, ends);
      if (node.optional) ends.push(this.#writer.add({ kind: 'test', node }));
      this.#expressions(node.arguments);
    } else this.expression(node);
  }

  #assignment(node: t.AssignmentExpression): void {
    const { left, operator, right } = node;
    if (operator === '=') {
      this.#target(left);
      this.expression(right);
      return this.bind(left);
    }
    this.expression(left);
    if (operator === '&&=' || operator === '||=' || operator === '??=') {
      return this.#writer.branch(
        node,
        () => this.#writer.add({ kind: 'test', node: left }),
        () => {
          this.expression(right);
          this.bind(left);
        },
        () => {},
      );
    }
    this.expression(right);
    this.bind(left);
  }

  /** Reads that the target of an assignment makes before the value is computed. */
  #target(node: t.Node): void {
    if (node.type === 'MemberExpression') this.expression(node);
  }

  /** Gives variables of a pattern their values. */
  bind(pattern: t.Node): void {
    switch (pattern.type) {
      case 'Identifier':
        return this.#writer.write(pattern, pattern);
      case 'ObjectPattern':
        for (const property of pattern.properties) {
          if (property.type === 'RestElement') this.bind(property.argument);
          else {
            if (property.computed) this.expression(property.key);
            this.bind(property.value);
          }
        }
        return;
      case 'ArrayPattern':
        for (const element of pattern.elements) if (element) this.bind(element);
        return;
      case 'AssignmentPattern':
        this.#writer.branch(
          pattern,
          () => this.#writer.add({ kind: 'test', node: pattern }),
          () => this.expression(pattern.right),
          () => {},
        );
        return this.bind(pattern.left);
      case 'RestElement':
        return this.bind(pattern.argument);
      case 'TSParameterProperty':
        return this.bind(pattern.parameter);
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSTypeAssertion':
      case 'ParenthesizedExpression':
        return this.bind(pattern.expression);
      default:
        return this.expression(pattern);
    }
  }
}
