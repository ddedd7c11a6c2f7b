import type * as t from '@babel/types';
import type { NodeId } from '../../graph/graph.js';
import { isFunction, isTypeOnly, unwrapped } from '../syntax/walk.js';
import { Form, type FileContext, type Use } from './form.js';
import { contains, type FunctionFacts, type CodeSpan } from './function-facts.js';
import { convertedOperators, isPlainKind } from './kinds.js';
import { added, type Piece } from './output.js';
import { has, mayPart } from './shape.js';
import { syntacticPlace } from './syntactic-place.js';

/**
 * Expressions in the form that captured code runs in. It works on host values as well; what it decides, it
 * decides when it runs.
 */
export abstract class CapturedExpressions extends Form {
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
    const dropped = local.map(({ name }) => `'${name}'`).join(', ');
    return `${this.file.runtime}.vars([${described.join(', ')}], [${dropped}], () => [${names}], (${given}) => { ${set.join(' ')} })`;
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
        return this.call(
          'pick',
          node,
          this.site(node),
          this.argument(node.test),
          this.#thunk(node.consequent),
          this.#thunk(node.alternate),
          this.#changedBy(node, [node.consequent, node.alternate]),
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
        return this.#assignment(node);
      case 'UpdateExpression':
        return this.#update(node, use);
      case 'ArrayPattern':
      case 'ObjectPattern':
        return this.copy(node, (child) => this.target(child));
      case 'RestElement':
        return this.copy(node, (child) => this.target(child));
      case 'AssignmentPattern':
        return this.copy(node, (child) =>
          child === node.left ? this.target(child) : this.expression(child),
        );
      case 'CallExpression':
        return this.#mutatingCall(node, use) ?? this.copy(node);
      case 'VariableDeclarator':
        // Lists that are made where an array decides may be filled there.
        return this.copy(node, (child) =>
          child === node.init && node.id.type === 'Identifier'
            ? this.#made(child, node.id.name)
            : this.expression(child),
        );
      case 'TaggedTemplateExpression':
        return this.tagged(node);
      case 'MemberExpression':
      case 'OptionalMemberExpression':
        return this.copy(node, (child) =>
          node.computed && child === node.property ? this.#hostOnly(child) : this.expression(child),
        );
      case 'TemplateLiteral':
        return this.copy(node, (child) =>
          child.type === 'TemplateElement' ? this.copy(child) : this.#hostOnly(child),
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

  /** The initial value of a variable, or of a member of it, with a note of the lists, maps and sets in it. */
  #made(value: t.Node, name: string): readonly Piece[] {
    const { type } = value;
    if (type === 'ArrayExpression' || (type === 'NewExpression' && !name.includes('.'))) {
      return this.call('made', value, this.argument(value), `'${name}'`);
    }
    if (type !== 'ObjectExpression') return this.expression(value);
    const object = this.copy(value, (property) => {
      if (property.type !== 'ObjectProperty' || property.computed || property.key.type !== 'Identifier') return this.expression(property); // prettier-ignore
      const place = `${name}.${property.key.name}`;
      return this.copy(property, (part) =>
        part === property.value ? this.#made(part, place) : this.expression(part),
      );
    });
    return this.call('made', value, object, `'${name}'`);
  }

  /** A function without parameters that gives the value of an expression. */
  #thunk(node: t.Node): readonly Piece[] {
    return [added('() => ('), ...this.expression(node), added(')')];
  }

  /** An index or a part of a text: a number that is an array can be neither. */
  #hostOnly(node: t.Node): readonly Piece[] {
    if (isPlainKind(node, 'captured')) return this.expression(node);
    return this.call('hostOnly', node, this.argument(node), this.site(node));
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

  #logical(node: t.LogicalExpression, use: Use): readonly Piece[] {
    const { operator, left, right } = node;
    if (operator === '??') return this.copy(node);
    if (use === 'none') {
      // Without its value it is an `if`, whose paths give no values that would have to agree.
      const arm = [added('() => { '), ...this.expression(right, 'none'), added('; }')];
      const arms = operator === '&&' ? [arm, 'undefined'] : ['() => {}', arm];
      const changes = this.#changedBy(node, [right]);
      return this.call('branch', node, this.site(node), this.argument(left), ...arms, changes);
    }
    return this.call(
      operator === '&&' ? 'and' : 'or',
      node,
      this.site(node),
      this.argument(left),
      this.#thunk(right),
      this.#changedBy(node, [right]),
    );
  }

  #unary(node: t.UnaryExpression): readonly Piece[] {
    const { operator, argument } = node;
    if (operator === '!') {
      return isPlainKind(argument, 'captured')
        ? this.copy(node)
        : this.call('not', node, this.argument(argument));
    }
    if (operator === 'delete') {
      const member = unwrapped(argument);
      if (member.type !== 'MemberExpression' || member.object.type === 'Super')
        return this.copy(node);
      return this.copy(node, (child) => this.#member(child, true));
    }
    if (operator !== '-' && operator !== '+') return this.copy(node);
    return isPlainKind(argument, 'captured')
      ? this.copy(node)
      : this.call('unary', node, `'${operator}'`, this.argument(argument));
  }

  #assignment(node: t.AssignmentExpression): readonly Piece[] {
    const { operator, left, right } = node;
    const target = unwrapped(left);
    if (operator === '=') {
      const place = target.type === 'MemberExpression' ? this.#reference(target) : null;
      if (place !== null) {
        return this.call('setMember', node, ...place, this.argument(right), this.site(node));
      }
      return this.copy(node, (child) =>
        child === left ? this.target(child) : this.expression(child),
      );
    }
    const plain = operator.slice(0, -1);
    if (target.type === 'Identifier') {
      const { name } = target;
      if (plain === '||' || plain === '&&') {
        return this.call(
          plain === '&&' ? 'and' : 'or',
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
      const place = this.#reference(target);
      if (place !== null) {
        return this.call('update', node, ...place, this.site(node), `'${plain}'`, [
          added('() => ('),
          ...this.expression(right),
          added(')'),
        ]);
      }
    }
    if (target.type === 'MemberExpression' && (plain === '||' || plain === '&&')) {
      const { object, computed, property } = target;
      if (this.#isVariable(object) && !computed && property.type === 'Identifier') {
        // The variable is read again for the write, which no one can see.
        const place = `${object.name}.${property.name}`;
        const value = [added(`() => (${place} = `), ...this.argument(right), added(')')];
        const changes = this.variables([node], this.facts.scopeAround(node), [this.facts.flow.after.get(node)]); // prettier-ignore
        return this.call(plain === '&&' ? 'and' : 'or', node, this.site(node), place, value, changes); // prettier-ignore
      }
      const syntactic = syntacticPlace(target);
      if (syntactic !== null) {
        const { subject, accessors } = syntactic;
        const given = subject === null ? 'undefined' : this.argument(subject);
        return this.call('assignPlace', node, `'${plain}'`, given, ...accessors, this.#thunk(right), this.site(node)); // prettier-ignore
      }
      const place = this.#reference(target);
      if (place !== null) {
        const value = this.#thunk(right);
        return this.call('assignMember', node, `'${plain}'`, ...place, value, this.site(node));
      }
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
    if (target.type === 'MemberExpression') {
      const place = this.#reference(target);
      if (place !== null) {
        const name = node.prefix ? 'stepMember' : 'beforeMember';
        return this.call(name, node, ...place, this.site(node), step);
      }
    }
    return this.copy(node, (child) => this.target(child));
  }

  /** The object and the key of a member, as arguments; null for members that only syntax can name. */
  #reference(member: t.MemberExpression): readonly (readonly Piece[])[] | null {
    if (member.object.type === 'Super' || member.property.type === 'PrivateName') return null;
    const key = member.computed
      ? this.#hostOnly(member.property)
      : [added(`'${(member.property as t.Identifier).name}'`)];
    return [this.argument(member.object), key];
  }

  /** True for the name of a variable whose object is state. */
  #isVariable(node: t.Node): node is t.Identifier {
    const kind = this.file.scopes.references.get(node)?.binding.kind;
    return node.type === 'Identifier' && kind !== undefined && kind !== 'free' && kind !== 'import';
  }

  /** The target of an assignment. */
  protected target(node: t.Node): readonly Piece[] {
    switch (node.type) {
      case 'MemberExpression':
        return this.#member(node, false);
      case 'ObjectProperty':
        return this.copy(node, (child) =>
          child === node.value ? this.target(child) : this.expression(child),
        );
      default:
        return this.expression(node);
    }
  }

  #member(node: t.Node, isAlways: boolean): readonly Piece[] {
    const member = unwrapped(node);
    if (member.type !== 'MemberExpression' || member !== node) return this.copy(node);
    if (member.object.type === 'Super') return this.copy(node);
    return this.copy(node, (child) => {
      if (child !== member.object) {
        return member.computed ? this.#hostOnly(child) : this.expression(child);
      }
      const object = this.argument(child);
      if (isAlways) return this.call('target', child, object, this.site(node));
      const { computed, property } = member;
      const key = !computed && property.type === 'Identifier' ? `'${property.name}'` : 'null';
      return this.call('changing', child, object, key, this.site(node));
    });
  }

  /** A call of a method that changes lists, maps and sets on one that was there before. */
  #mutatingCall(node: t.CallExpression, use: Use): readonly Piece[] | null {
    const { callee } = node;
    if (callee.type !== 'MemberExpression' || callee.computed) return null;
    if (callee.property.type !== 'Identifier' || !mutators.has(callee.property.name)) return null;
    if (callee.object.type === 'Super') return null;
    const { object } = callee;
    const isUsed = callee.property.name === 'push' && use !== 'none' ? ['true'] : [];
    return this.copy(node, (child) =>
      child !== callee
        ? this.expression(child)
        : this.copy(callee, (part) =>
            contains(part, object) && contains(object, part)
              ? this.call('collection', object, this.argument(object), this.site(node), ...isUsed)
              : this.expression(part),
          ),
    );
  }
}

/** Methods that change what they are called on. */
const mutators: ReadonlySet<string> = new Set(
  'push pop shift unshift splice fill copyWithin set delete clear sort reverse add'.split(' '),
);
