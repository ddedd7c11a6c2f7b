import type * as t from '@babel/types';
import { contains, unwrapped, visitNodes } from '../syntax/walk.js';
import { changedArgument, isChangingMethod, memberName } from '../syntax/changing-methods.js';
import { Form, type Use } from './form.js';
import { isPlainKind } from './kinds.js';
import { added, type Piece } from './output.js';
import { suspensionIn } from '../syntax/shape.js';
import { syntacticPlace } from './syntactic-place.js';

/** Members of objects in the captured form: the runtime is told of what changes, and of numbers that it needs as such. */
export abstract class CapturedMembers extends Form {
  /** Members that are called, with their object as `this`. */
  readonly #callees = new WeakSet<t.Node>();

  protected noteCallee(callee: t.Node): void {
    this.#callees.add(unwrapped(callee));
  }

  /** A member as a value. An index may be an array, where the list collects rows. */
  protected read(node: t.MemberExpression): readonly Piece[] {
    const { object, property, computed } = node;
    if (!computed) return this.copy(node);
    if (object.type === 'Super' || this.#callees.has(node)) {
      return this.copy(node, (child) =>
        child === property ? this.hostOnly(child) : this.expression(child),
      );
    }
    if (isPlainKind(property, 'captured')) return this.copy(node);
    const offset = offsetFromEnd(object, property);
    return offset === null
      ? this.call('entry', node, this.argument(object), this.argument(property), this.site(node))
      : this.call('fromEnd', node, this.argument(object), String(offset), this.thunk(property), this.site(node)); // prettier-ignore
  }

  /** Lists and objects that code may fill where an array decides, with names for them. */
  readonly #made = new Map<t.Node, string>();

  /**
   * A value that a variable or member gets: lists, maps and sets in it are noted, since captured code may push to
   * them. `name`: of the variable or member, for errors.
   */
  initial(value: t.Node, name: string): readonly Piece[] {
    this.noteMade(value, name);
    return this.expression(value);
  }

  /** The name of the variable or member that an assignment gives a value. */
  protected nameOf(target: t.Node): string {
    const { start, end } = unwrapped(target);
    const text =
      target.type === 'Identifier' ? target.name : this.file.parsed.code.slice(start!, end!);
    return text.length > 30 || /\s/.test(text) ? 'a list' : text;
  }

  /** Notes the lists and objects that an expression may give. */
  protected noteMade(value: t.Node, name: string): void {
    const inner = unwrapped(value);
    switch (inner.type) {
      case 'ArrayExpression':
        this.#made.set(inner, name);
        inner.elements.forEach((each, i) => each && this.noteMade(each, `${name}[${i}]`));
        return;
      case 'NewExpression':
        this.#made.set(inner, name);
        return;
      case 'ObjectExpression':
        this.#made.set(inner, name);
        for (const property of inner.properties) {
          if (property.type !== 'ObjectProperty') continue;
          const { key, computed } = property;
          const own = !computed && key.type === 'Identifier' ? `.${key.name}` : '[...]';
          this.noteMade(property.value, `${name}${own}`);
        }
        return;
      case 'ConditionalExpression':
        this.noteMade(inner.consequent, name);
        return this.noteMade(inner.alternate, name);
      case 'LogicalExpression':
        this.noteMade(inner.left, name);
        return this.noteMade(inner.right, name);
      case 'AssignmentExpression':
        return this.noteMade(inner.right, name);
      default:
    }
  }

  /** Does so for a result of a function: lists with entries are mostly several results. */
  protected noteReturned(value: t.Node): void {
    const inner = unwrapped(value);
    if (inner.type !== 'ArrayExpression' || inner.elements.length === 0) this.noteMade(inner, 'a list'); // prettier-ignore
  }

  /** A list with spreads, which may be of lists that collect rows; null for other lists. */
  protected joined(node: t.ArrayExpression): readonly Piece[] | null {
    const { elements } = node;
    const isPlain = !elements.some((each) => each?.type === 'SpreadElement');
    if (isPlain || elements.includes(null) || suspensionIn(node) !== null) return null;
    const parts = elements.map((each) => {
      const isSpread = each!.type === 'SpreadElement';
      const value = this.argument(isSpread ? (each as t.SpreadElement).argument : each!);
      return isSpread
        ? [added('[() => ('), ...value, added(')]')]
        : [added('() => ['), ...value, added(']')];
    });
    return this.call('spread', node, JSON.stringify(this.#made.get(node) ?? 'a list'), ...parts);
  }

  /** A list or object with a note of where it was made; null for one that nothing is known to keep. */
  protected made(node: t.Node): readonly Piece[] | null {
    const name = this.#made.get(node);
    return name === undefined ? null : this.call('made', node, this.copy(node), JSON.stringify(name)); // prettier-ignore
  }

  /** A function without parameters that gives the value of an expression. */
  protected thunk(node: t.Node, use: Use = 'value'): readonly Piece[] {
    return [added('() => ('), ...this.expression(node, use), added(')')];
  }

  /** A number that may not be an array: an index, a part of a text, or another use. */
  protected hostOnly(node: t.Node, use?: string): readonly Piece[] {
    if (isPlainKind(node, 'captured')) return this.expression(node);
    const rest = use === undefined ? [] : [`'${use}'`];
    return this.call('hostOnly', node, this.argument(node), this.site(node), ...rest);
  }

  /** A call of a function of the language that changes an object. */
  protected changingCall(node: t.CallExpression): readonly Piece[] | null {
    const { references } = this.file.scopes;
    const object = changedArgument(node, (root) => references.get(root)?.binding.kind === 'free');
    if (object === null) return null;
    if (memberName(node.callee) === 'assign') {
      return this.call('assignAll', node, this.site(node), ...node.arguments.map((each) => this.argument(each))); // prettier-ignore
    }
    return this.copy(node, (child) =>
      child === object
        ? this.call('changing', child, this.argument(child), 'null', this.site(node))
        : this.expression(child),
    );
  }

  /** A call of what the language has for numbers, which may be arrays. */
  protected hostCall(node: t.CallExpression): readonly Piece[] | null {
    return this.#numberCall(node) ?? this.#hostMethod(node);
  }

  /** A call of a function of the language that takes numbers: of `Math`, `Number` and the like. */
  #numberCall(node: t.CallExpression): readonly Piece[] | null {
    const name = this.#languageFunction(node.callee);
    if (name === null || node.arguments.every((each) => isPlainKind(each, 'captured'))) return null;
    const given = node.arguments.map((each) => this.argument(each));
    if (name === 'Boolean')
      return given.length === 1 ? this.call('booleanOf', node, ...given) : null;
    const isOfMath = name.startsWith('Math.');
    if (!isOfMath && !numberFunctions.has(name)) return null;
    const [helper, own] = isOfMath ? ['math', name.slice('Math.'.length)] : ['numeric', name];
    return this.call(helper, node, `'${own}'`, this.site(node), ...given);
  }

  /** The name of a function of the language, such as `isNaN` or `Math.max`; null for others. */
  #languageFunction(callee: t.Node): string | null {
    const isFree = (root: t.Node): boolean =>
      this.file.scopes.references.get(root)?.binding.kind === 'free';
    if (callee.type === 'Identifier') return isFree(callee) ? callee.name : null;
    if (callee.type !== 'MemberExpression' || callee.computed) return null;
    const { object, property } = callee;
    if (object.type !== 'Identifier' || property.type !== 'Identifier' || !isFree(object)) return null; // prettier-ignore
    return `${object.name}.${property.name}`;
  }

  /** `typeof`; of a name that nothing declares it is no error. */
  protected kind(node: t.UnaryExpression): readonly Piece[] {
    const { argument } = node;
    const isFree = this.file.scopes.references.get(argument)?.binding.kind === 'free';
    const isPlain = isFree || isPlainKind(argument, 'captured');
    return isPlain ? this.copy(node) : this.call('kind', node, this.argument(argument));
  }

  /** A call of a method of a list, map or set that looks for a number, or of a number that writes its digits. */
  #hostMethod(node: t.CallExpression): readonly Piece[] | null {
    const { callee } = node;
    if (callee.type !== 'MemberExpression' || callee.computed || callee.object.type === 'Super') return null; // prettier-ignore
    const { property } = callee;
    if (property.type !== 'Identifier') return null;
    const { name } = property;
    const given = searching.has(name) ? node.arguments : digits.has(name) ? [callee.object] : [];
    const isPlain = given.every((each) => isPlainKind(each, 'captured'));
    if (isPlain && !testing.has(name)) return null;
    return this.call('hostMethod', node, this.argument(callee.object), `'${name}'`, this.site(node), ...node.arguments.map((each) => this.argument(each))); // prettier-ignore
  }

  /** A member as a place that a node writes; null for what is none. */
  protected place(target: t.Node, node: t.Node): readonly Piece[] | null {
    if (target.type !== 'MemberExpression') return null;
    const syntactic = this.#syntactic(target);
    if (syntactic !== null)
      return this.call('syntaxMember', target, ...syntactic, ...this.#slot(target));
    const reference = this.#reference(target);
    return reference && this.call('member', target, ...reference, this.site(node), ...this.sloppiness(node)); // prettier-ignore
  }

  /** The object and accessors of a member that only syntax can name, as arguments; null for all others. */
  #syntactic(target: t.MemberExpression): readonly (string | readonly Piece[])[] | null {
    const place = syntacticPlace(target);
    if (place === null) return null;
    const { subject, accessors } = place;
    if (subject === null) return ['undefined', ...accessors];
    // Of a member of super, `this` is read first.
    const isOfSuper = target.object.type === 'Super';
    const value = this.argument(subject);
    return [isOfSuper ? [added('(this, '), ...value, added(')')] : value, ...accessors];
  }

  /** The place of a member that only syntax can name, and a text for the member itself, as arguments. */
  #slot(target: t.MemberExpression): readonly string[] {
    const { property, computed } = target;
    if (property.type !== 'PrivateName') {
      // A member of super is one of `this`, unless a setter takes it.
      const key = computed ? '' : `, '${(property as t.Identifier).name}'`;
      return [this.site(target), `[this${key}]`];
    }
    const { name } = property.id;
    // The innermost class around that declares the name.
    let declaring: t.Node = this.file.parsed.file.program;
    visitNodes(declaring, (node) => {
      if (!contains(node, target)) return false;
      const isDeclaring = node.type === 'ClassBody' && node.body.some((member) => 'key' in member && member.key.type === 'PrivateName' && member.key.id.name === name); // prettier-ignore
      if (isDeclaring) declaring = node;
      return true;
    });
    return [this.site(target), `'#${name} ${declaring.start!}'`];
  }

  /** The object and the key of a member, as arguments; null for members that only syntax can name. */
  #reference(member: t.MemberExpression): readonly (readonly Piece[])[] | null {
    if (member.object.type === 'Super' || member.property.type === 'PrivateName') return null;
    const key = member.computed
      ? this.hostOnly(member.property)
      : [added(`'${(member.property as t.Identifier).name}'`)];
    return [this.argument(member.object), key];
  }

  /** True for the name of a variable whose object is state. */
  protected isVariable(node: t.Node): node is t.Identifier {
    const kind = this.file.scopes.references.get(node)?.binding.kind;
    return node.type === 'Identifier' && kind !== undefined && kind !== 'free' && kind !== 'import';
  }

  /** The target of an assignment. */
  protected target(node: t.Node): readonly Piece[] {
    switch (node.type) {
      case 'MemberExpression':
        return this.member(node, false);
      case 'ObjectProperty':
        return this.copy(node, (child) =>
          child === node.value ? this.target(child) : this.expression(child),
        );
      default:
        return this.expression(node);
    }
  }

  protected member(node: t.Node, isAlways: boolean): readonly Piece[] {
    const member = unwrapped(node);
    if (member.type !== 'MemberExpression' || member !== node) return this.copy(node);
    if (member.object.type === 'Super') return this.copy(node);
    return this.copy(node, (child) => {
      if (child !== member.object) {
        return member.computed ? this.hostOnly(child) : this.expression(child);
      }
      const object = this.argument(child);
      if (isAlways) return this.call('target', child, object, this.site(node));
      const { computed, property } = member;
      const key = !computed && property.type === 'Identifier' ? `'${property.name}'` : 'null';
      return this.call('changing', child, object, key, this.site(node));
    });
  }

  /** A call of a method that changes its receiver, of which the runtime is told. */
  protected mutatingCall(node: t.CallExpression, use: Use): readonly Piece[] | null {
    const { callee } = node;
    if (callee.type !== 'MemberExpression' || !isChangingMethod(memberName(callee))) return null;
    const { object } = callee;
    if (object.type === 'Super') return null;
    return this.copy(node, (child) =>
      child !== callee
        ? this.expression(child)
        : this.copy(callee, (part) =>
            contains(part, object) && contains(object, part)
              ? this.receiver(node, object, this.argument(object), use)
              : this.expression(part),
          ),
    );
  }

  /** The value that a `for...of` goes over. A name may stand for an iterator, which the loop leaves at another place. */
  protected iterated(node: t.Node): readonly Piece[] {
    const isCall = !/^(?:Identifier|(?:Optional)?MemberExpression)$/.test(unwrapped(node).type);
    return isCall ? this.argument(node) : this.call('iterated', node, this.argument(node), this.site(node)); // prettier-ignore
  }

  /** The receiver of a call of a method that may change it, by its code. */
  protected receiver(
    node: t.CallExpression | t.OptionalCallExpression,
    object: t.Node,
    code: readonly Piece[],
    use: Use,
  ): readonly Piece[] {
    const name = memberName(node.callee)!;
    if (name === 'push' || name === 'unshift' || name === 'set' || name === 'add') {
      for (const each of node.arguments) this.noteMade(each, `a list in ${this.nameOf(object)}`);
    }
    const isUsed = name === 'push' && use !== 'none' ? ['true'] : [];
    return this.call('collection', object, code, this.site(node), ...isUsed);
  }
}

/** The offset of the index `list.length - 1` of the same list, and its like; null for other indices. */
function offsetFromEnd(list: t.Node, index: t.Node): number | null {
  const { operator, left, right } = unwrapped(index) as Partial<t.BinaryExpression>;
  if (operator !== '-' || left?.type !== 'MemberExpression' || left.computed) return null;
  const isLength = left.property.type === 'Identifier' && left.property.name === 'length';
  if (!isLength || !isSamePlace(left.object, list)) return null;
  return right?.type === 'NumericLiteral' && Number.isInteger(right.value) && right.value > 0
    ? right.value
    : null;
}

/** True for the same name, or the same member of the same name. */
function isSamePlace(a: t.Node, b: t.Node): boolean {
  const [x, y] = [unwrapped(a), unwrapped(b)];
  if (x.type === 'Identifier') return y.type === 'Identifier' && x.name === y.name;
  if (x.type === 'ThisExpression') return y.type === 'ThisExpression';
  if (x.type !== 'MemberExpression' || y.type !== 'MemberExpression') return false;
  const isNamed = !x.computed && !y.computed && x.property.type === 'Identifier' && y.property.type === 'Identifier'; // prettier-ignore
  return isNamed && (x.property as t.Identifier).name === (y.property as t.Identifier).name && isSamePlace(x.object, y.object); // prettier-ignore
}

/** Functions of the language that take a number, besides those of `Math`. */
const numberFunctions: ReadonlySet<string> = new Set([
  'Number',
  'Number.isFinite',
  'Number.isInteger',
  'Number.isNaN',
  'Number.isSafeInteger',
  'isFinite',
  'isNaN',
]);

/** Methods of lists, maps and sets that look for their argument. */
const searching: ReadonlySet<string> = new Set([
  'get',
  'has',
  'includes',
  'indexOf',
  'lastIndexOf',
]);

/** Methods of lists that look for what a function says. */
const testing: ReadonlySet<string> = new Set(['every', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'some']); // prettier-ignore

/** Methods of numbers that arrays lack. */
const digits: ReadonlySet<string> = new Set(['toExponential', 'toFixed', 'toPrecision']);
