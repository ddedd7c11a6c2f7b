import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { patternNames } from '../syntax/scopes.js';
import { type CodeSpan, isFunction, isTypeOnly, unwrapped } from '../syntax/walk.js';
import { CapturedMembers } from './captured-members.js';
import { memberName } from '../syntax/changing-methods.js';
import type { FileContext, Use } from './form.js';
import { type FunctionFacts, isIntegerLiteral } from '../flow/function-facts.js';
import { environmentOf, presentEnvironment } from './environments.js';
import { convertedOperators, isPlainKind } from './kinds.js';
import { afterLink, linkOf, type OptionalChain } from './optional-chain.js';
import { added, type Piece } from './output.js';
import { has, mayPart, suspensionIn } from '../syntax/shape.js';

/** Functions of the runtime for the operators that compute their right side only if the left one asks for it. */
const logical: Readonly<Record<string, string>> = { '&&': 'and', '||': 'or', '??': 'nullish' };

/**
 * Expressions in the form that captured code runs in. It works on host values as well; what it decides, it
 * decides when it runs.
 */
export abstract class CapturedExpressions extends CapturedMembers {
  readonly facts: FunctionFacts;
  /** Steps at which the paths of statements around may meet. */
  protected meets: readonly NodeId[] = [];
  #names = 0;

  constructor(file: FileContext, facts: FunctionFacts) {
    super(file, true);
    this.facts = facts;
  }

  /** Pieces for a block of statements as the body of a closure or of a class's static block. */
  abstract block(node: t.BlockStatement | t.StaticBlock): readonly Piece[];

  newName(): string {
    return `${this.file.runtime}_${this.#names++}`;
  }

  /**
   * The accessors of the variables that stretches of code change. @param steps Where they are read afterwards.
   * @param meets Where they are, too, if the paths of a statement around meet.
   */
  variables(
    stretches: readonly (CodeSpan | t.Node | null | undefined)[],
    around: ReturnType<FunctionFacts['scopeAround']>,
    steps: Parameters<FunctionFacts['changed']>[2],
    meets: Parameters<FunctionFacts['changed']>[2] = [],
  ): string {
    const present = stretches.filter((each) => each !== null && each !== undefined) as CodeSpan[];
    const always = new Set(this.facts.changed(present, around, steps).merged);
    const { merged: read, local, mutated } = this.facts.changed(present, around, [...steps, ...meets]); // prettier-ignore
    const merged = [...always, ...read.filter((binding) => !always.has(binding))];
    const all = [...merged, ...local];
    if (all.length === 0) return 'undefined';
    const given = this.newName();
    const described = merged.map((binding) => {
      const isTree = mutated.has(binding);
      const flags = `${this.facts.isInteger(binding) ? ' int' : ''}${isTree ? ' tree' : ''}${always.has(binding) ? '' : ' meet'}`; // prettier-ignore
      return `'${binding.name}${flags}'`;
    });
    const set = all.flatMap(({ name, kind }, i) =>
      kind === 'const' ? [] : [`${name} = ${given}[${i}];`],
    );
    const names = all.map(({ name }) => name).join(', ');
    const environments = all.flatMap((binding) => environmentOf(binding, this.file.runtime) ?? []);
    const beside =
      environments.length === 0
        ? ''
        : `, () => [${environments.map(presentEnvironment).join(', ')}]`;
    const dropped = local.map(({ name }) => `'${name}'`).join(', ');
    return `${this.file.runtime}.vars([${described.join(', ')}], [${dropped}], () => [${names}], (${given}) => { ${set.join(' ')} }${beside})`;
  }

  /** The variables of a statement after which several paths may go on, as they are where these meet. */
  mergedWhereMeeting(node: t.Node, ends: readonly NodeId[]): readonly string[] {
    if (!mayPart(node)) return [];
    const steps = [...ends, ...this.stepsAfter(node)];
    return [this.variables([node], this.facts.scopeAround(node), steps, this.meets)];
  }

  /** The step after a statement, if control comes to one. */
  stepsAfter(node: t.Node): readonly NodeId[] {
    const { after } = this.facts.flow;
    const step = after.get(node) ?? (node.type === 'LabeledStatement' ? after.get(node.body) : undefined); // prettier-ignore
    return step === undefined ? [] : [step];
  }

  override expression(node: t.Node, use: Use = 'value'): readonly Piece[] {
    if (isTypeOnly(node)) return this.copy(node);
    if (isFunction(node)) return this.file.renderFunction(node, this);
    switch (node.type) {
      case 'ConditionalExpression':
        if (use === 'none') return this.#asIf(node, node.test, node.consequent, node.alternate);
        return this.call(
          'pick',
          node,
          this.site(node),
          this.argument(node.test, 'test'),
          this.thunk(node.consequent, use),
          this.thunk(node.alternate, use),
          this.#changedBy(node, [node.consequent, node.alternate]),
          ...(use === 'test' ? ["'test'"] : isIntegerLiteral(node) ? ["'integer'"] : []),
        );
      case 'LogicalExpression':
        return this.#logical(node, use);
      case 'UnaryExpression':
        return this.#unary(node);
      case 'BinaryExpression':
        if (!convertedOperators.has(node.operator)) return this.copy(node);
        if (isPlainKind(node.left, 'captured') && isPlainKind(node.right, 'captured')) {
          return this.copy(node);
        }
        return this.call(
          'op',
          node,
          `'${node.operator}'`,
          this.argument(node.left),
          this.argument(node.right),
        );
      case 'AssignmentExpression':
        this.noteMade(node.right, this.nameOf(node.left));
        return this.#noticed(node.left, this.#assignment(node));
      case 'UpdateExpression':
        return this.#noticed(node.argument, this.#update(node, use));
      case 'ArrayPattern':
      case 'ObjectPattern':
        return this.copy(node, (child) => this.target(child));
      case 'RestElement':
        return this.copy(node, (child) => this.target(child));
      case 'AssignmentPattern':
        if (node.left.type === 'Identifier') this.noteMade(node.right, node.left.name);
        return this.copy(node, (child) =>
          child === node.left ? this.target(child) : this.expression(child),
        );
      case 'CallExpression':
        this.noteCallee(node.callee);
        return this.#pushToEither(node, use) ?? this.changingCall(node) ?? this.hostCall(node) ?? this.mutatingCall(node, use) ?? this.copy(node, (child) => (child === node.callee ? this.callee(child) : this.expression(child))); // prettier-ignore
      case 'OptionalCallExpression':
        this.noteCallee(node.callee);
        return this.#chain(node, use) ?? this.#nativeChain(node);
      case 'VariableDeclarator':
        if (node.init && node.id.type === 'Identifier') this.noteMade(node.init, node.id.name);
        return this.copy(node);
      case 'ClassProperty':
      case 'ClassPrivateProperty':
        if (node.value) this.noteMade(node.value, `this.${this.nameOf(node.key)}`);
        return this.copy(node);
      case 'ArrayExpression':
        return this.joined(node) ?? this.made(node) ?? this.copy(node);
      case 'ObjectExpression':
      case 'NewExpression':
        return this.made(node) ?? this.copy(node);
      case 'TaggedTemplateExpression':
        this.noteCallee(node.tag);
        return this.tagged(node);
      case 'MemberExpression':
        return this.read(node);
      case 'OptionalMemberExpression':
        return this.#chain(node, use) ?? this.#nativeChain(node);
      case 'TemplateLiteral':
        return this.copy(node, (child) =>
          child.type === 'TemplateElement' ? this.copy(child) : this.hostOnly(child),
        );
      case 'BlockStatement':
      case 'StaticBlock':
        return this.block(node);
      case 'SequenceExpression':
        return this.copy(node, (child) =>
          this.expression(
            child,
            child === node.expressions[node.expressions.length - 1] ? use : 'none',
          ),
        );
      default:
        return this.copy(node);
    }
  }

  /** An assignment, after the runtime has been told of variables of functions around that it writes. */
  #noticed(left: t.Node, assignment: readonly Piece[]): readonly Piece[] {
    const { runtime, scopes } = this.file;
    const notices = patternNames(unwrapped(left)).flatMap((identifier) => {
      const reference = scopes.references.get(identifier);
      if (reference === undefined || reference.from.owner === reference.binding.scope.owner)
        return [];
      const environment = environmentOf(reference.binding, runtime);
      if (environment === null) return [];
      const { name } = identifier;
      return [`${runtime}.writing(${presentEnvironment(environment)}, '${name}', () => ${name}, (_, value) => { ${name} = value; }, ${this.site(left)}), `]; // prettier-ignore
    });
    if (notices.length === 0) return assignment;
    return [added(`(${notices.join('')}`, left.start!), ...assignment, added(')')];
  }

  #changedBy(node: t.Node, parts: readonly t.Node[]): string {
    const assigns = parts.some((part) =>
      has(
        part,
        ({ type }) =>
          type === 'AssignmentExpression' ||
          type === 'UpdateExpression' ||
          type === 'CallExpression',
      ),
    );
    if (!assigns) return 'undefined';
    return this.variables(parts, this.facts.scopeAround(node), [this.facts.flow.after.get(node)]);
  }

  /** An expression without use of its value: an `if`, whose paths give no values that would have to agree. */
  #asIf(node: t.Node, test: t.Node, first: t.Node | null, second?: t.Node): readonly Piece[] {
    const arm = (part: t.Node | null | undefined): string | readonly Piece[] =>
      part ? [added('() => { '), ...this.expression(part, 'none'), added('; }')] : '() => {}';
    const parts = [first, second].flatMap((part) => part ?? []);
    const arms = [arm(first), second === undefined ? 'undefined' : arm(second)];
    return this.call('branch', node, this.site(node), this.argument(test, 'test'), ...arms, this.#changedBy(node, parts)); // prettier-ignore
  }

  /** `(test ? a : b).push(row)`: each path pushes to its list, as `if` would have it. */
  #pushToEither(node: t.CallExpression, use: Use): readonly Piece[] | null {
    const { callee } = node;
    if (use !== 'none' || memberName(callee) !== 'push') return null;
    const lists = unwrapped((callee as t.MemberExpression).object);
    if (lists.type !== 'ConditionalExpression') return null;
    const arm = (list: t.Node): readonly Piece[] => {
      const rows = node.arguments.flatMap((each) => [...this.argument(each), added(', ')]);
      return [added('() => { '), ...this.receiver(node, list, this.argument(list), use), added('.push('), ...rows, added('); }')]; // prettier-ignore
    };
    return this.call('branch', node, this.site(lists), this.argument(lists.test, 'test'), arm(lists.consequent), arm(lists.alternate), this.#changedBy(node, [node])); // prettier-ignore
  }

  #logical(node: t.LogicalExpression, use: Use): readonly Piece[] {
    const { operator, left, right } = node;
    if (operator === '??') {
      if (suspensionIn(right) !== null) return this.copy(node);
      return this.call('nullish', node, this.site(node), this.argument(left), this.thunk(right, use === 'none' ? 'value' : use), this.#changedBy(node, [right])); // prettier-ignore
    }
    if (use === 'none') {
      return operator === '&&'
        ? this.#asIf(node, left, right)
        : this.#asIf(node, left, null, right);
    }
    return this.call(
      operator === '&&' ? 'and' : 'or',
      node,
      this.site(node),
      this.argument(left, use),
      this.thunk(right, use),
      this.#changedBy(node, [right]),
      ...(use === 'test' ? ["'test'"] : []),
    );
  }

  /** A chain in parentheses stays one. */
  protected override callee(node: t.Node): readonly Piece[] {
    return node.type === 'OptionalMemberExpression'
      ? this.#nativeChain(node)
      : this.expression(node);
  }

  /** An optional chain as it is. */
  #nativeChain(node: t.Node): readonly Piece[] {
    return this.copy(node, (child) => {
      const isCallee = node.type === 'OptionalCallExpression' && child === node.callee;
      if (child.type.startsWith('Optional') && (isCallee || child.start === node.start))
        return this.#nativeChain(child);
      const isIndex = node.type === 'OptionalMemberExpression' && node.computed && child === node.property; // prettier-ignore
      return isIndex ? this.hostOnly(child) : this.expression(child);
    });
  }

  /** An optional chain as a call; null where that cannot be. */
  #chain(node: OptionalChain, use: Use): readonly Piece[] | null {
    const found = linkOf(node);
    if (found === null || suspensionIn(node) !== null) return null;
    const value = this.newName();
    const rest = afterLink(this, node, found.link, value, {
      index: (index) => this.hostOnly(index),
      receiver: (call, object, code) => this.receiver(call, object, code, call === node ? use : 'value'), // prettier-ignore
    });
    const closure =
      use === 'none'
        ? [added(`(${value}) => { `), ...rest, added('; }')]
        : [added(`(${value}) => (`), ...rest, added(')')];
    return this.call('chain', node, this.site(node), this.argument(found.head), closure, this.#changedBy(node, [node])); // prettier-ignore
  }

  #unary(node: t.UnaryExpression): readonly Piece[] {
    const { operator, argument } = node;
    if (operator === '!') {
      return isPlainKind(argument, 'captured')
        ? this.copy(node)
        : this.call('not', node, this.argument(argument, 'test'));
    }
    if (operator === 'void') return this.copy(node, (child) => this.expression(child, 'none'));
    if (operator === 'delete') {
      const member = unwrapped(argument);
      // The place itself: a chain as a call would be its value.
      if (member.type !== 'MemberExpression' || member.object.type === 'Super')
        return this.copy(node, (child) => this.#nativeChain(child));
      return this.copy(node, (child) => this.member(child, true));
    }
    if (operator === 'typeof') return this.kind(node);
    if (operator !== '-' && operator !== '+' && operator !== '~') return this.copy(node);
    return isPlainKind(argument, 'captured')
      ? this.copy(node)
      : this.call('unary', node, `'${operator}'`, this.argument(argument));
  }

  #assignment(node: t.AssignmentExpression): readonly Piece[] {
    const { operator, left, right } = node;
    const target = unwrapped(left);
    if (operator === '=') {
      const place = this.place(target, node);
      if (place !== null) return this.call('setMember', node, place, this.argument(right));
      return this.copy(node, (child) =>
        child === left ? this.target(child) : this.expression(child),
      );
    }
    const plain = operator.slice(0, -1);
    if (target.type === 'Identifier') {
      const { name } = target;
      if (plain in logical) {
        return this.call(
          logical[plain],
          node,
          this.site(node),
          name,
          [added(`() => (${name} = `), ...this.expression(right), added(')')],
          this.variables([node], this.facts.scopeAround(node), [this.facts.flow.after.get(node)]),
        );
      }
      if (!convertedOperators.has(plain)) return this.copy(node);
      return [
        added(`(${name} = `, node.start!),
        ...this.call('op', node, `'${plain}'`, name, this.argument(right)),
        added(')'),
      ];
    }
    if (target.type === 'MemberExpression' && convertedOperators.has(plain)) {
      const place = this.place(target, node);
      if (place !== null) return this.call('update', node, place, `'${plain}'`, this.thunk(right));
    }
    if (target.type === 'MemberExpression' && plain in logical) {
      const { object, computed, property } = target;
      if (this.isVariable(object) && !computed && property.type === 'Identifier') {
        // The variable is read again for the write, which no one can see.
        const place = `${object.name}.${property.name}`;
        const value = [added(`() => (${place} = `), ...this.argument(right), added(')')];
        const changes = this.variables([node], this.facts.scopeAround(node), [this.facts.flow.after.get(node)]); // prettier-ignore
        return this.call(logical[plain], node, this.site(node), place, value, changes); // prettier-ignore
      }
      const place = this.place(target, node);
      if (place !== null)
        return this.call('assignIf', node, `'${plain}'`, place, this.thunk(right));
    }
    return this.copy(node, (child) =>
      child === left ? this.target(child) : this.expression(child),
    );
  }

  #update(node: t.UpdateExpression, use: Use): readonly Piece[] {
    const target = unwrapped(node.argument);
    const step = node.operator === '++' ? '1' : '-1';
    if (target.type === 'Identifier') {
      const { name } = target;
      if (node.prefix || use === 'none') {
        return [
          added(`(${name} = `, node.start!),
          ...this.call('step', node, name, step),
          added(')'),
        ];
      }
      const given = this.newName();
      return this.call('before', node, name, step, `(${given}) => { ${name} = ${given}; }`);
    }
    const place = this.place(target, node);
    if (place !== null) return this.call('increment', node, place, step, String(node.prefix));
    return this.copy(node, (child) => this.target(child));
  }
}
