import type * as t from '@babel/types';
import { UnsupportedError } from '../../base/errors.js';
import { isFunction, isTypeOnly, unwrapped } from '../syntax/walk.js';
import { type FileContext, Form, type Use } from './form.js';
import { isPlainKind } from './kinds.js';
import { syntacticPlace } from './syntactic-place.js';
import { has } from '../syntax/shape.js';
import { added, type Piece } from './output.js';

/**
 * The form in which code runs on host values and eager arrays: the code as it is, in which every test that
 * may be an array asks for the array's value.
 */
export class HostForm extends Form {
  /** Names for values that are tested and given; none where nothing can declare them. */
  readonly #temporaries: string[] | null;

  constructor(file: FileContext, isCompact: boolean, mayDeclare: boolean) {
    super(file, isCompact);
    this.#temporaries = mayDeclare ? [] : null;
  }

  /** The declaration of the names that the code so far needs. */
  declarations(): string {
    return this.#temporaries?.length ? `let ${this.#temporaries.join(', ')};` : '';
  }

  #isPlainKind(node: t.Node): boolean {
    const { scopes, plain } = this.file;
    return isPlainKind(node, 'host', (identifier) => {
      const binding = scopes.references.get(identifier)?.binding;
      return binding !== undefined && plain.has(binding);
    });
  }

  statement(node: t.Node): readonly Piece[] {
    if (isFunction(node)) return this.file.renderFunction(node, this);
    const pieces = this.#statement(node);
    return this.isCompact && endsWithoutMark(node, this.file.parsed.code)
      ? [...pieces, added(';')]
      : pieces;
  }

  #statement(node: t.Node): readonly Piece[] {
    const visit = (child: t.Node): readonly Piece[] =>
      isStatement(child) ? this.statement(child) : this.expression(child);
    switch (node.type) {
      case 'IfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return this.copy(node, (child) =>
          child === node.test ? this.test(node.test) : visit(child),
        );
      case 'ForStatement':
        return this.copy(node, (child) => {
          if (child === node.test) return this.test(node.test);
          if (child === node.update) return this.expression(child, 'none');
          return child === node.init ? this.copy(child) : visit(child);
        });
      case 'ForInStatement':
        return this.copy(node, (child) => (child === node.left ? this.copy(child) : visit(child)));
      case 'ForOfStatement':
        return this.copy(node, (child) => {
          if (child === node.left) return this.copy(child);
          return child === node.right && !node.await && !this.#isPlainKind(child)
            ? this.call('rows', child, this.argument(child))
            : visit(child);
        });
      case 'SwitchStatement':
        return this.copy(node, (child) =>
          child === node.discriminant ? this.#subject(child) : visit(child),
        );
      case 'SwitchCase':
        return this.copy(node, (child) =>
          child === node.test ? this.#subject(child) : visit(child),
        );
      case 'ExpressionStatement':
        return this.copy(node, (child) => this.expression(child, 'none'));
      default:
        return this.copy(node, visit);
    }
  }

  #subject(node: t.Node): readonly Piece[] {
    return this.#isPlainKind(node)
      ? this.expression(node)
      : this.call('subject', node, this.argument(node));
  }

  /** An expression of which only the truth matters. */
  test(node: t.Node): readonly Piece[] {
    const inner = unwrapped(node);
    if (
      inner === node &&
      (inner.type === 'ConditionalExpression' ||
        (inner.type === 'LogicalExpression' && inner.operator !== '??'))
    ) {
      return this.expression(node, 'test');
    }
    if (this.#isPlainKind(node)) return this.expression(node, 'test');
    return this.call('test', node, this.argument(node), this.site(node));
  }

  override expression(node: t.Node, use: Use = 'value'): readonly Piece[] {
    if (isTypeOnly(node)) return this.copy(node);
    if (isFunction(node)) return this.file.renderFunction(node, this);
    switch (node.type) {
      case 'ConditionalExpression':
        return this.copy(node, (child) =>
          child === node.test ? this.test(child) : this.#as(child, use),
        );
      case 'LogicalExpression':
        return this.#logical(node, use);
      case 'UnaryExpression':
        return node.operator === '!'
          ? this.copy(node, (child) => this.test(child))
          : this.copy(node);
      case 'AssignmentExpression':
        return this.#assignment(node, use);
      case 'SequenceExpression':
        return this.copy(node, (child) =>
          child === node.expressions[node.expressions.length - 1]
            ? this.#as(child, use)
            : this.expression(child, 'none'),
        );
      case 'TaggedTemplateExpression':
        return this.tagged(node);
      case 'BlockStatement':
      case 'StaticBlock':
        return this.copy(node, (child) => this.statement(child));
      case 'ClassDeclaration':
      case 'ClassExpression':
      case 'ClassBody':
        return this.copy(node, (child) =>
          new HostForm(this.file, this.isCompact, false).expression(child),
        );
      default:
        return this.copy(node);
    }
  }

  #as(node: t.Node, use: Use): readonly Piece[] {
    return use === 'test' ? this.test(node) : this.expression(node, use);
  }

  #logical(node: t.LogicalExpression, use: Use): readonly Piece[] {
    const { left, right, operator } = node;
    if (operator === '??') return this.copy(node);
    if (use !== 'value' || this.#isPlainKind(left)) {
      const first = this.#isPlainKind(left) ? this.expression(left, use) : this.test(left);
      return this.copy(node, (child) => (child === left ? first : this.#as(child, use)));
    }
    const between = this.#around(left.end!, right.start!, operator);
    const before = [...this.gap(node.start!, left.start!), ...this.argument(left), ...between[0]];
    const after = [...between[1], ...this.argument(right), ...this.gap(right.end!, node.end!)];
    if (this.#temporaries === null && has(right, suspending)) {
      if (has(right, ({ type }) => type === 'YieldExpression')) throw this.#withoutVariable(node, operator); // prettier-ignore
      const name = `${this.file.runtime}0`;
      const test = `${this.file.runtime}.test(${name}, ${this.site(node)})`;
      const [first, second] = operator === '&&' ? [after, [added(name)]] : [[added(name)], after];
      // In a list, since a promise that is a result itself would be waited for.
      return [
        added(`(await (async (${name}) => [${test} ? (`, node.start!),
        ...first,
        added(') : ('),
        ...second,
        added(')])('),
        ...before,
        added('))[0]'),
      ];
    }
    if (this.#temporaries === null) {
      return this.call(operator === '&&' ? 'and' : 'or', node, this.site(node), before, [
        added('() => ('),
        ...after,
        added(')'),
      ]);
    }
    const name = `${this.file.runtime}${this.#temporaries.length}`;
    this.#temporaries.push(name);
    const test = `${this.file.runtime}.test(${name}, ${this.site(node)})`;
    return operator === '&&'
      ? [
          added(`((${name} = (`, node.start!),
          ...before,
          added(`), ${test}) ? (`),
          ...after,
          added(`) : ${name})`),
        ]
      : [
          added(`((${name} = (`, node.start!),
          ...before,
          added(`), ${test}) ? ${name} : (`),
          ...after,
          added('))'),
        ];
  }

  /** Text before and after an operator between two operands: parentheses and comments. */
  #around(
    start: number,
    end: number,
    operator: string,
  ): readonly [readonly Piece[], readonly Piece[]] {
    const { code, tokens } = this.file.parsed;
    const at = tokens.find(
      (token) =>
        token.start >= start &&
        token.end <= end &&
        !token.isComment &&
        code.slice(token.start, token.end) === operator,
    )!;
    return [this.gap(start, at.start), this.gap(at.end, end)];
  }

  #assignment(node: t.AssignmentExpression, use: Use): readonly Piece[] {
    const { operator, right } = node;
    const left = unwrapped(node.left);
    const isLogical = operator === '||=' || operator === '&&=';
    if (isLogical && left.type === 'MemberExpression') {
      const { object, property, computed } = left;
      if (has(right, suspending)) return this.#suspendedAssignment(node, left, use);
      const value = [added('() => ('), ...this.expression(right), added(')')];
      const assignedTo = (to: readonly Piece[]): readonly Piece[] =>
        this.call('assignIf', node, `'${operator.slice(0, -1)}'`, to, value);
      const place = syntacticPlace(left);
      if (place !== null) {
        const subject = place.subject === null ? 'undefined' : this.argument(place.subject);
        return assignedTo(
          this.call('syntaxMember', left, subject, ...place.accessors, this.site(node)),
        );
      }
      const key = computed
        ? this.argument(property)
        : [added(`'`), ...this.copy(property), added(`'`)];
      return assignedTo(this.call('member', left, this.argument(object), key, this.site(node), ...this.sloppiness(node))); // prettier-ignore
    }
    if (isLogical && left.type === 'Identifier') {
      const name: Piece = { start: left.start!, end: left.start! + left.name.length };
      const test = this.call('test', node, [name], this.site(node));
      const assigned = [added('('), name, added(' = '), ...this.expression(right), added(')')];
      // Without a semicolon before it, a statement must not begin with a parenthesis.
      if (use === 'none') return [...test, added(` ${operator.slice(0, -1)} `), ...assigned];
      return operator === '&&='
        ? [added('('), ...test, added(' ? '), ...assigned, added(' : '), name, added(')')]
        : [added('('), ...test, added(' ? '), name, added(' : '), ...assigned, added(')')];
    }
    return this.copy(node);
  }

  #withoutVariable(node: t.Node, what: string): UnsupportedError {
    return new UnsupportedError(`${what} waits where no variable can be declared`, {
      op: 'transform',
      expected: 'a body in braces around it',
      actual: `an expression in line ${this.file.places.of(node.start!).line + 1}`,
      advice: 'write an if statement',
    });
  }

  /** `a.b ||= await c`: the function suspends between the read and the write, so no closure can hold the value. */
  #suspendedAssignment(
    node: t.AssignmentExpression,
    { object, property, computed }: t.MemberExpression,
    use: Use,
  ): readonly Piece[] {
    if (this.#temporaries === null) throw this.#withoutVariable(node, `${node.operator} of a member`); // prettier-ignore
    const declared = (
      value: readonly Piece[],
    ): { readonly name: string; readonly set: readonly Piece[] } => {
      const name = `${this.file.runtime}${this.#temporaries!.length}`;
      this.#temporaries!.push(name);
      return { name, set: [added(`${name} = `), ...value, added(', ')] };
    };
    const base =
      object.type === 'Super' ? { name: 'super', set: [] } : declared(this.argument(object));
    const key = computed ? declared(this.argument(property)) : null;
    const member: readonly Piece[] =
      key === null
        ? [added(`${base.name}.`), ...this.copy(property)]
        : [added(`${base.name}[${key.name}]`)];
    const old = declared(member);
    const given = added(` : ${old.name}`);
    const assigned = [
      added('('),
      ...member,
      added(' = '),
      ...this.expression(node.right),
      added(')'),
    ];
    const [first, second] =
      node.operator === '&&='
        ? [[...assigned], [given]]
        : [[added(old.name)], [added(' : '), ...assigned]];
    // Without a semicolon before it, a statement must not begin with a parenthesis.
    const start = use === 'none' ? 'void 0, (' : '((';
    return [
      added(start, node.start!),
      ...base.set,
      ...(key?.set ?? []),
      ...old.set,
      ...this.call('test', node, old.name, this.site(node)),
      added(') ? '),
      ...first,
      ...second,
      added(use === 'none' ? '' : ')'),
    ];
  }
}

const suspending = ({ type }: t.Node): boolean =>
  type === 'AwaitExpression' || type === 'YieldExpression';

function isStatement(node: t.Node): boolean {
  return (
    (/Statement$|Declaration$/.test(node.type) ||
      node.type === 'SwitchCase' ||
      node.type === 'CatchClause') &&
    !isFunction(node)
  );
}

const marked: ReadonlySet<string> = new Set([
  'ExpressionStatement',
  'VariableDeclaration',
  'ReturnStatement',
  'ThrowStatement',
  'BreakStatement',
  'ContinueStatement',
  'DebuggerStatement',
  'DoWhileStatement',
]);

/** True if only the end of a line ends a statement. */
export function endsWithoutMark(node: t.Node, code: string): boolean {
  return marked.has(node.type) && code[node.end! - 1] !== ';';
}
